import { parentPort, workerData } from 'node:worker_threads';
import { expose } from 'comlink';
import { nodeEndpoint } from './comlink-node.ts';
import { loadFunction, type Target } from './contender.ts';

/** So many items are told before the worker waits until the last of them has arrived. */
const WINDOW = 1_024;

const fn = await loadFunction(workerData as Target);
expose(
  {
    run: (input: unknown, back?: unknown) => fn(input, back),
    async each(input: unknown, onItem: (item: unknown) => Promise<void>) {
      let told = 0;
      let last: Promise<void> | undefined;
      for await (const item of fn(input) as AsyncIterable<unknown>) {
        last = onItem(item);
        if (++told % WINDOW === 0) await last;
      }
      await last;
    },
  },
  nodeEndpoint(parentPort!),
);
