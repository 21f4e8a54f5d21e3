import { parentPort, workerData } from 'node:worker_threads';
import { expose } from 'comlink';
import { nodeEndpoint } from './comlink-node.ts';
import { loadFunction, type Target } from './contender.ts';

const fn = await loadFunction(workerData as Target);
expose({ run: (input: unknown) => fn(input) }, nodeEndpoint(parentPort!));
