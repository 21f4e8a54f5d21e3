import { Worker } from 'node:worker_threads';
import { type Contender, inTurn, type Opened, type Target } from './contender.ts';

/** To the thread: a call's id and its input. */
export type Request = readonly [id: number, input: unknown];
/** Back: the id, whether it failed, and the result or the error. Once, at start: the id −1. */
export type Reply = readonly [id: number, failed: boolean, value: unknown];

export const READY_ID = -1;
const NOTHING: readonly object[] = [];

/**
 * What a careful programmer writes by hand: one message for each call and each answer, any number of them
 * under way, ids that are reused, so that live calls are found by an index and not in a Map.
 */
export const contender: Contender = {
  name: 'postMessage',
  settings:
    'written by hand on worker_threads: pipelined, reused ids, arrays of resolvers, no batching; several threads are called in turn; streams: a transferred ReadableStream',
  open: target => inTurn(target, openThread),
};

function openThread(target: Target): Promise<Opened> {
  const worker = new Worker(new URL('./post-message-entry.ts', import.meta.url), { workerData: target });
  const resolvers: (((value: unknown) => void) | null)[] = [];
  const rejecters: (((reason: unknown) => void) | null)[] = [];
  const freeIds: number[] = [];
  let inFlight = 0;
  let lost: Error | null = null;
  let onReady: () => void;
  let onFailed: (reason: unknown) => void;
  const ready = new Promise<void>((resolve, reject) => {
    onReady = resolve;
    onFailed = reject;
  });

  const settle = ([id, failed, value]: Reply) => {
    if (id === READY_ID) {
      onReady();
      return;
    }
    const finish = failed ? rejecters[id]! : resolvers[id]!;
    resolvers[id] = rejecters[id] = null;
    freeIds.push(id);
    if (--inFlight === 0) worker.unref();
    finish(value);
  };
  const lose = (error: Error) => {
    lost ??= error;
    onFailed(lost);
    for (const reject of rejecters) reject?.(lost);
    resolvers.length = rejecters.length = freeIds.length = inFlight = 0;
  };
  worker.on('message', settle);
  worker.on('error', error => lose(error instanceof Error ? error : new Error(String(error))));
  worker.on('exit', code => lose(new Error(`The thread ended with exit code ${code}.`)));

  const move = (input: unknown, transfer: readonly object[]) =>
    new Promise<unknown>((resolve, reject) => {
      if (lost !== null) {
        reject(lost);
        return;
      }
      const id = freeIds.pop() ?? resolvers.length;
      resolvers[id] = resolve;
      rejecters[id] = reject;
      try {
        worker.postMessage([id, input] satisfies Request, transfer as readonly ArrayBuffer[]);
      } catch (error) {
        resolvers[id] = rejecters[id] = null;
        freeIds.push(id);
        reject(error); // a value that cannot be cloned
        return;
      }
      if (inFlight++ === 0) worker.ref();
    });
  const call = (input: unknown) => move(input, NOTHING);
  const each = async (input: unknown, onItem: (item: unknown) => void) => {
    for await (const item of (await call(input)) as ReadableStream<unknown>) onItem(item);
  };
  const close = async () => {
    worker.ref();
    await worker.terminate();
  };
  return ready.then(() => {
    worker.unref();
    return { call, move, each, close };
  });
}
