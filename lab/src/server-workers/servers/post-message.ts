import { Worker } from 'node:worker_threads';
import type { sendUnaryData } from '@grpc/grpc-js';
import { loadDefinition } from '../definition.ts';
import { listen, newServer } from './grpc-js.ts';
import type { OpenServer } from './server.ts';

const ENTRY = new URL('./post-message-entry.ts', import.meta.url);

/** To the thread and back: a call's id, and a message. */
export type Post = readonly [id: number, bytes: Uint8Array];

/**
 * What a careful programmer writes by hand: messages cross undecoded, any number of calls under way, several threads called in
 * turn. A request lies in a buffer of 64 KiB, all of which would be cloned, so it is copied to its exact size first.
 */
export const openWith =
  (threads: number): OpenServer =>
  async () => {
    const workers = await Promise.all(Array.from({ length: threads }, startWorker));
    const method = loadDefinition().UnaryCall!;
    const raw = (bytes: Buffer) => bytes;
    let next = 0;
    const server = newServer();
    server.addService(
      { UnaryCall: { ...method, requestDeserialize: raw, responseSerialize: raw } },
      {
        UnaryCall: (call: { request: Buffer }, callback: sendUnaryData<Buffer>) => {
          workers[next++ % threads]!.ask(call.request, callback);
        },
      },
    );
    return listen(server, () => Promise.all(workers.map(({ worker }) => worker.terminate())));
  };

async function startWorker() {
  const worker = new Worker(ENTRY);
  const waiting: sendUnaryData<Buffer>[] = [];
  const freeIds: number[] = [];
  await new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject));
  worker.on('message', ([id, { buffer, byteOffset, byteLength }]: Post) => {
    freeIds.push(id);
    waiting[id]!(null, Buffer.from(buffer, byteOffset, byteLength));
  });
  const ask = (request: Buffer, callback: sendUnaryData<Buffer>) => {
    const id = freeIds.pop() ?? waiting.length;
    waiting[id] = callback;
    worker.postMessage([id, new Uint8Array(request)] satisfies Post);
  };
  return { worker, ask };
}
