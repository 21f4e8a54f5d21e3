import { measureBatches } from '../../harness/batches.ts';
import type { Metric } from '../../harness/study.ts';
import { type Kind, lacking, measured } from './kind.ts';

export const callbackMetrics: Readonly<Record<string, Metric>> = {
  rate: { title: 'callbacks/s', better: 'more', unit: '1/s' },
  hostCpu: { title: 'host CPU/callback', better: 'less', unit: 'µs' },
  laneCpu: { title: 'lanes CPU/callback', better: 'less', unit: 'µs' },
};

/** One call after the other that calls back so many times, and awaits each answer: round trips that the lane begins. */
export const asking: Kind = calling('askEach', false);
/** The same, but no answer is wanted. */
export const telling: Kind = calling('tellEach', true);

/** The numbers 0, 1, 2, … come in order, and the lane hands back the sum of the answers, where it gets any. */
function calling(fn: string, oneWay: boolean): Kind {
  return {
    run: (contender, plan) =>
      measured(contender, fn, 1, async ({ callingBack }) => {
        if (callingBack === undefined) throw lacking(contender, 'callingBack');
        const rate = await measureBatches(async times => {
          let came = 0;
          let inOrder = true;
          const answer = (i: number) => {
            inOrder &&= i === came++;
            return i + 1;
          };
          const sum = await callingBack(times, answer, oneWay);
          if (came !== times || !inOrder) throw new Error(`${came} callbacks came, not ${times} in order.`);
          if (!oneWay && sum !== (times * (times + 1)) / 2) throw new Error(`Answers came to ${sum}.`);
        }, plan);
        return {
          figures: { rate: rate.perSecond, hostCpu: rate.hostCpuUs, laneCpu: rate.laneCpuUs },
        };
      }),
  };
}
