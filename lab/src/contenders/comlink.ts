import { Worker } from 'node:worker_threads';
import { proxy, wrap } from 'comlink';
import { nodeEndpoint } from './comlink-node.ts';
import { type Contender, inTurn } from './contender.ts';

interface Exposed {
  run(input: unknown, back?: unknown): unknown;
  each(input: unknown, onItem: unknown): Promise<void>;
}

export const contender: Contender = {
  name: 'comlink',
  settings:
    'wrap and expose over worker_threads; several threads are called in turn; streams: a proxied callback for each item, awaited once in 1,024',
  open: target =>
    inTurn(target, async one => {
      const worker = new Worker(new URL('./comlink-entry.ts', import.meta.url), { workerData: one });
      const remote = wrap<Exposed>(nodeEndpoint(worker));
      return {
        call: async input => await remote.run(input),
        each: (input, onItem) => remote.each(input, proxy(onItem)),
        // There is no other way than to answer: who wants no answers does not await them.
        callingBack: async (input, back) => await remote.run(input, proxy(back)),
        close: async () => {
          await worker.terminate();
        },
      };
    }),
};
