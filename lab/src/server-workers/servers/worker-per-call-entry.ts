import { parentPort, workerData } from 'node:worker_threads';
import type { SimpleRequest } from '../definition.ts';
import { answer } from '../handlers.ts';

parentPort!.postMessage(answer(workerData as SimpleRequest));
