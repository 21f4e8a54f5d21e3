import type { ChildProcess, SpawnOptions } from 'node:child_process';
import type { Profile } from './profiles.ts';

export type Mode = 'namespaces' | 'proxy';

export interface NetworkOptions {
  readonly profile: Profile;
  /** How many of a hundred packets get lost on the way, in each direction. They take their time on the wire. */
  readonly lossPercent: number;
  /** The same seed loses the same packets, by their number in each direction. */
  readonly seed: number;
  /**
   * `namespaces`: real TCP stacks on an emulated link. `proxy`: one proxy that forwards bytes late and slowly, for
   * machines on which the former cannot be had; it knows neither packets nor loss.
   * @default the best that this machine can do
   */
  readonly mode?: Mode;
}

/** Packets that got through, by kind, and those that did not. */
export interface PacketCounts {
  /** With bytes for the program that reads them, whatever flags they have. */
  readonly payload: number;
  /** With nothing but an acknowledgement. */
  readonly ack: number;
  /** SYN, FIN, RST, and what is not TCP. */
  readonly control: number;
  /** By the queue or by loss. */
  readonly dropped: number;
  /** Of the packets that got through, with their headers. */
  readonly bytes: number;
}

/** A packet that got through, as the client sees it: one that goes up when it is sent, one down when it arrives. */
export interface Packet {
  /** Since the recording began. */
  readonly atMs: number;
  /** From client to server. */
  readonly up: boolean;
  readonly kind: 'payload' | 'ack' | 'control';
  /** The client's. */
  readonly port: number;
  /** Of payload. */
  readonly bytes: number;
}

/** What went over the network during a recording; all zeros and empty in proxy mode. */
export interface Traffic {
  readonly up: PacketCounts;
  readonly down: PacketCounts;
  readonly packets: Packet[];
  /** How much later than it should have been a packet was delivered, at most: what the machine itself did to the figures. */
  readonly latestMs: number;
}

/** A client and a server with a network of their own between them. */
export interface Network extends AsyncDisposable {
  readonly mode: Mode;
  /** The address that the server binds to and the client connects to. */
  readonly serverHost: string;
  /** The algorithm that TCP uses: the profile's, unless the kernel lacks it. Null in proxy mode. */
  readonly congestion: string | null;
  /**
   * Runs a command at the server's end, or the client's. It is killed when the network is disposed of, and when this
   * process ends, however that comes about.
   *
   * @param options as for `spawn`, without `shell`
   */
  spawnServer(command: string, args: readonly string[], options?: SpawnOptions): ChildProcess;
  spawnClient(command: string, args: readonly string[], options?: SpawnOptions): ChildProcess;
  /** @returns the port that the client connects to in order to reach this port of the server */
  reach(port: number): Promise<number>;
  /**
   * Counters to zero, time zero.
   *
   * @param pcapPath a file for the packets that get through, in tcpdump's format
   */
  startRecording(pcapPath?: string): Promise<void>;
  /** @throws Error when nothing is recorded */
  stopRecording(): Promise<Traffic>;
  /**
   * Begins a new sequence of losses, as if the network had been opened with it.
   *
   * @throws Error in proxy mode, for anything but 0
   */
  setLoss(lossPercent: number, seed: number): Promise<void>;
}

/** @throws RangeError unless these can be the loss of a network */
export function checkLoss(lossPercent: number, seed: number): void {
  if (!(lossPercent >= 0 && lossPercent < 100))
    throw new RangeError(`\`lossPercent\`: expected a number from 0 to below 100, got ${lossPercent}.`);
  if (!Number.isSafeInteger(seed) || seed < 0)
    throw new RangeError(`\`seed\`: expected a whole number from 0, got ${seed}.`);
}
