import type { ChildProcess, SpawnOptions } from 'node:child_process';
import { once } from 'node:events';
import net, { type AddressInfo, type Server, type Socket } from 'node:net';
import { Children } from './children.ts';
import { checkLoss, type Network, type NetworkOptions, type Traffic } from './contract.ts';
import { Flow, ShapedLink } from './shaped-link.ts';

const HOST = '127.0.0.1';

/**
 * A proxy in this process: what both ends send is forwarded at the profile's rate and after its delay. It has no slow
 * start, no loss and no packets to count.
 */
export async function openProxy(options: NetworkOptions): Promise<Network> {
  refuseLoss(options.lossPercent);
  return new ProxyNetwork(options);
}

class ProxyNetwork implements Network {
  readonly mode = 'proxy';
  readonly serverHost = HOST;
  readonly congestion = null;
  readonly #rttMs: number;
  readonly #up: ShapedLink;
  readonly #down: ShapedLink;
  readonly #children = new Children();
  readonly #servers = new Map<number, Server>();
  readonly #sockets = new Set<Socket>();
  #isRecording = false;

  constructor({ profile: { downKbit, upKbit, rttMs } }: NetworkOptions) {
    this.#rttMs = rttMs;
    this.#up = new ShapedLink(upKbit, rttMs / 2);
    this.#down = new ShapedLink(downKbit, rttMs / 2);
  }

  spawnServer(command: string, args: readonly string[], options?: SpawnOptions): ChildProcess {
    return this.#children.spawn(command, args, options);
  }

  spawnClient(command: string, args: readonly string[], options?: SpawnOptions): ChildProcess {
    return this.#children.spawn(command, args, options);
  }

  async reach(port: number): Promise<number> {
    let server = this.#servers.get(port);
    if (server === undefined) {
      server = net.createServer({ allowHalfOpen: true, noDelay: true }, near => this.#forward(near, port));
      this.#servers.set(port, server);
      server.listen(0, HOST);
    }
    if (!server.listening) await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  }

  async startRecording(): Promise<void> {
    this.#isRecording = true;
  }

  async stopRecording(): Promise<Traffic> {
    if (!this.#isRecording) throw new Error('Nothing is recorded: `startRecording` comes first.');
    this.#isRecording = false;
    const none = { payload: 0, ack: 0, control: 0, dropped: 0, bytes: 0 };
    return { up: none, down: none, packets: [], latestMs: 0 };
  }

  async setLoss(lossPercent: number, seed: number): Promise<void> {
    checkLoss(lossPercent, seed);
    refuseLoss(lossPercent);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#children.end();
    this.#up.close();
    this.#down.close();
    const servers = [...this.#servers.values()];
    this.#servers.clear();
    const closed = servers.map(server => new Promise(resolve => server.close(resolve)));
    for (const socket of this.#sockets) socket.destroy();
    await Promise.all(closed);
  }

  #forward(near: Socket, port: number): void {
    const far = net.connect({ port, host: HOST, allowHalfOpen: true, noDelay: true });
    // To the client it seems connected at once; its first bytes wait for as long as connecting would have taken.
    new Flow(this.#up, near, far, performance.now() + this.#rttMs);
    new Flow(this.#down, far, near, 0);
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      this.#sockets.add(socket);
      socket.on('error', () => other.destroy());
      socket.on('close', () => this.#sockets.delete(socket));
    }
  }
}

function refuseLoss(lossPercent: number): void {
  if (lossPercent > 0)
    throw new Error(
      'The proxy cannot lose packets: loss takes a network in namespaces (`canEmulate` says why not).',
    );
}
