import { availableParallelism } from 'node:os';
import type { WorkersOptions } from '@hotlane/grpc';
import type { Entrant } from '../harness/study.ts';
import type { OpenServer } from './servers/server.ts';

/** A server of the study: in Node, or grpc-go with so many stream workers. */
export interface Contender extends Entrant {
  readonly server: (() => Promise<OpenServer>) | { readonly goWorkers: number };
}

const RECYCLED_AFTER = 5_000;
const lanes = async (options: WorkersOptions & { readonly lanes: number }) =>
  (await import('./servers/lanes.ts')).openWith(options);
const posts = async (threads: number) => (await import('./servers/post-message.ts')).openWith(threads);

export const contenders: Readonly<Record<string, Contender>> = {
  inline: {
    name: 'grpc-js, inline',
    settings: 'grpc-js as it comes: handlers run on the server’s thread',
    server: async () => (await import('./servers/inline.ts')).open,
  },
  spawn: {
    name: 'worker per call',
    settings: 'grpc-js; a worker thread is started for each call',
    server: async () => (await import('./servers/worker-per-call.ts')).open,
  },
  'post-message': {
    name: 'postMessage, 1',
    settings: 'grpc-js; written by hand: one worker, pipelined, raw bytes copied to their exact size',
    server: () => posts(1),
  },
  'round-robin': {
    name: 'postMessage, 2 in turn',
    settings: 'the same with two workers, called in turn',
    server: () => posts(2),
  },
  'lanes-1': {
    name: 'hotlane, 1 lane',
    settings: '@hotlane/grpc, lanes: 1',
    variantOf: 'lanes-2',
    server: () => lanes({ lanes: 1 }),
  },
  'lanes-2': {
    name: 'hotlane, 2 lanes',
    settings: '@hotlane/grpc, lanes: 2',
    server: () => lanes({ lanes: 2 }),
  },
  auto: {
    name: 'hotlane, auto',
    settings: '@hotlane/grpc, mode: auto, lanes: 2',
    variantOf: 'lanes-2',
    server: () => lanes({ lanes: 2, mode: 'auto' }),
  },
  recycled: {
    name: 'hotlane, recycled',
    settings: `@hotlane/grpc, lanes: 2, recycle: a lane is replaced after ${RECYCLED_AFTER.toLocaleString('en')} calls`,
    variantOf: 'lanes-2',
    server: () => lanes({ lanes: 2, recycle: { afterCalls: RECYCLED_AFTER } }),
  },
  connect: {
    name: 'connect-node',
    settings: 'connect-node on node:http2, asked in gRPC’s protocol; handlers run on the server’s thread',
    server: async () => (await import('./servers/connect.ts')).open,
  },
  'go-0': {
    name: 'grpc-go',
    settings: 'grpc-go, NumStreamWorkers 0: a goroutine for each call',
    server: { goWorkers: 0 },
  },
  'go-n': {
    name: 'grpc-go, workers',
    settings: `grpc-go, NumStreamWorkers ${availableParallelism()}, one for each core`,
    server: { goWorkers: availableParallelism() },
  },
};
