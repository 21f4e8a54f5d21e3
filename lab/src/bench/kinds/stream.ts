import { measureBatches } from '../../harness/batches.ts';
import type { Metric } from '../../harness/study.ts';
import { type Kind, lacking, measured } from './kind.ts';

const itemCosts: Readonly<Record<string, Metric>> = {
  hostCpu: { title: 'host CPU/item', better: 'less', unit: 'µs' },
  laneCpu: { title: 'lanes CPU/item', better: 'less', unit: 'µs' },
};
export const itemMetrics: Readonly<Record<string, Metric>> = {
  rate: { title: 'items/s', better: 'more', unit: '1/s' },
  ...itemCosts,
};
export const chunkMetrics: Readonly<Record<string, Metric>> = {
  rate: { title: 'MiB/s', better: 'more', unit: 'MiB/s' },
  ...itemCosts,
};

/**
 * A generator in the lane that is read to its end, one after the other. Every item is checked.
 *
 * @param fn a generator that is told how many items to give
 * @param isRight whether this is the item of this number
 * @param perItem what one item adds to the rate
 */
export function stream(fn: string, isRight: (item: unknown, i: number) => boolean, perItem = 1): Kind {
  return {
    run: (contender, plan) =>
      measured(contender, fn, 1, async ({ each }) => {
        if (each === undefined) throw lacking(contender, 'each');
        const rate = await measureBatches(async items => {
          let came = 0;
          await each(items, item => {
            if (!isRight(item, came++)) throw new Error(`Item ${came - 1} came wrong.`);
          });
          if (came !== items) throw new Error(`${came} items came, not ${items}.`);
        }, plan);
        const { perSecond, hostCpuUs, laneCpuUs } = rate;
        return { figures: { rate: perSecond * perItem, hostCpu: hostCpuUs, laneCpu: laneCpuUs } };
      }),
  };
}
