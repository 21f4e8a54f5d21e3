import { Worker } from 'node:worker_threads';
import type { sendUnaryData } from '@grpc/grpc-js';
import { loadDefinition, type SimpleRequest, type SimpleResponse } from '../definition.ts';
import { listen, newServer } from './grpc-js.ts';
import type { OpenServer } from './server.ts';

const ENTRY = new URL('./worker-per-call-entry.ts', import.meta.url);

/** A thread is started for each call and ends with it, as goroutines do. */
export const open: OpenServer = () => {
  const server = newServer();
  server.addService(loadDefinition(), {
    unaryCall: (call: { request: SimpleRequest }, callback: sendUnaryData<SimpleResponse>) => {
      const worker = new Worker(ENTRY, { workerData: call.request });
      worker.once('message', (response: SimpleResponse) => callback(null, response));
      worker.once('error', error => callback(error as Error));
    },
  });
  return listen(server);
};
