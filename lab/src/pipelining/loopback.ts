import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import type { Network } from './network/network.ts';

/** No network at all: client and server on one machine. */
export function openLoopback(): Network {
  const run = (command: string, args: readonly string[], options?: SpawnOptions): ChildProcess =>
    spawn(command, args, options ?? {});
  const nothing = { payload: 0, ack: 0, control: 0, dropped: 0, bytes: 0 };
  return {
    mode: 'proxy',
    serverHost: '127.0.0.1',
    congestion: null,
    spawnServer: run,
    spawnClient: run,
    reach: async port => port,
    startRecording: async () => {},
    stopRecording: async () => ({ up: nothing, down: nothing, packets: [], latestMs: 0 }),
    setLoss: async () => {},
    [Symbol.asyncDispose]: async () => {},
  };
}
