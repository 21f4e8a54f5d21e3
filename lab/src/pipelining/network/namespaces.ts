import type { ChildProcess, SpawnOptions } from 'node:child_process';
import { Children } from './children.ts';
import { checkLoss, type Network, type NetworkOptions, type PacketCounts, type Traffic } from './contract.ts';
import { buildEmulator, Emulator } from './emulator.ts';

interface Recorded {
  readonly up: PacketCounts;
  readonly down: PacketCounts;
  /** Five numbers for each: microseconds, direction, kind, port, bytes. */
  readonly packets?: readonly number[];
  readonly lateUs?: number;
}

const NUMBERS_PER_PACKET = 5;
const DOWN = 1;
const KINDS = ['payload', 'ack', 'control'] as const;

/** Two namespaces, with an emulated link between their TCP stacks. */
export async function openNamespaces(options: NetworkOptions): Promise<Network> {
  const { profile, lossPercent, seed } = options;
  const shape = (kbit: number) => ({ kbit, delayMs: profile.rttMs / 2, queueBytes: profile.queueBytes });
  const emulator = await Emulator.start(await buildEmulator(), {
    down: shape(profile.downKbit),
    up: shape(profile.upKbit),
    loss: { percent: lossPercent, seed },
    initcwnd: profile.initcwnd ?? 0,
    congestion: profile.congestion ?? '',
  });
  return new NamespaceNetwork(emulator);
}

class NamespaceNetwork implements Network {
  readonly mode = 'namespaces';
  readonly serverHost: string;
  readonly congestion: string;
  readonly #emulator: Emulator;
  readonly #children = new Children();

  constructor(emulator: Emulator) {
    this.#emulator = emulator;
    this.serverHost = emulator.hello.serverHost;
    this.congestion = emulator.hello.congestion;
    // Without it, what runs at the ends would wait for packets that never come.
    void emulator.ended.then(() => this.#children.end());
  }

  spawnServer(command: string, args: readonly string[], options?: SpawnOptions): ChildProcess {
    return this.#spawn(this.#emulator.hello.server, command, args, options);
  }

  spawnClient(command: string, args: readonly string[], options?: SpawnOptions): ChildProcess {
    return this.#spawn(this.#emulator.hello.client, command, args, options);
  }

  async reach(port: number): Promise<number> {
    return port;
  }

  async startRecording(pcapPath = ''): Promise<void> {
    await this.#emulator.ask({ do: 'start', pcap: pcapPath });
  }

  async stopRecording(): Promise<Traffic> {
    const { up, down, packets = [], lateUs = 0 } = await this.#emulator.ask<Recorded>({ do: 'stop' });
    const seen = Array.from({ length: packets.length / NUMBERS_PER_PACKET }, (_, i) => {
      const [us, direction, kind, port, bytes] = packets.slice(
        i * NUMBERS_PER_PACKET,
        (i + 1) * NUMBERS_PER_PACKET,
      ) as [number, number, number, number, number];
      return { atMs: us / 1000, up: direction !== DOWN, kind: KINDS[kind]!, port, bytes };
    });
    return { up, down, packets: seen, latestMs: lateUs / 1000 };
  }

  async setLoss(lossPercent: number, seed: number): Promise<void> {
    checkLoss(lossPercent, seed);
    await this.#emulator.ask({ do: 'loss', loss: { percent: lossPercent, seed } });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#children.end();
    await this.#emulator.close();
  }

  #spawn(namespace: string, command: string, args: readonly string[], options?: SpawnOptions): ChildProcess {
    // The emulator's program becomes the command, so the child that is returned is the command itself.
    const enter = ['enter', String(process.pid), namespace, command, ...args];
    return this.#children.spawn(this.#emulator.binary, enter, options);
  }
}
