import { Worker } from 'node:worker_threads';
import { wrap } from 'comlink';
import { nodeEndpoint } from './comlink-node.ts';
import { type Contender, inTurn } from './contender.ts';

interface Exposed {
  run(input: unknown): unknown;
}

export const contender: Contender = {
  name: 'comlink',
  settings: 'wrap and expose over worker_threads; several threads are called in turn',
  open: target =>
    inTurn(target, async one => {
      const worker = new Worker(new URL('./comlink-entry.ts', import.meta.url), { workerData: one });
      const remote = wrap<Exposed>(nodeEndpoint(worker));
      return {
        call: async input => await remote.run(input),
        close: async () => {
          await worker.terminate();
        },
      };
    }),
};
