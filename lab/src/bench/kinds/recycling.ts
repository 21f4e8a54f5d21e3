import type { Opened } from '../../contenders/contender.ts';
import { watchCpu } from '../../harness/cpu.ts';
import { type Load, measureLatency } from '../../harness/load.ts';
import { mean } from '../../harness/stats.ts';
import { measureSteadiness } from '../../harness/steadiness.ts';
import type { Metric } from '../../harness/study.ts';
import { type Kind, lacking, TASKS, warmUp } from './kind.ts';

export const recyclingMetrics: Readonly<Record<string, Metric>> = {
  kept: { title: 'rate, to that without', better: 'more', unit: '×' },
  dip: { title: 'worst 100 ms, to the median', better: 'more', unit: '×' },
  dipWithout: { title: 'the same without', better: 'more', unit: '×' },
  p99: { title: 'p99', better: 'less', unit: 'µs' },
  p99Without: { title: 'p99 without', better: 'less', unit: 'µs' },
  rate: { title: 'calls/s', better: 'more', unit: '1/s' },
  replaced: { title: 'lanes replaced', better: 'more', unit: '' },
};

const LANES = 2;
const IN_FLIGHT = 64;
const AFTER_CALLS = 30_000;
const WINDOW_MS = 100;

/** Short calls on lanes that are replaced every 30,000 calls, in turns with lanes that never are. */
export const recycling: Kind = {
  run: async (contender, plan) => {
    const share = watchCpu();
    const target = { module: TASKS, fn: 'increment', threads: LANES };
    const never = await contender.open(target);
    const often = await contender.open({ ...target, recycleAfter: AFTER_CALLS });
    const { threadsSoFar } = often;
    if (threadsSoFar === undefined) throw lacking(contender, 'threadsSoFar');
    await warmUp(never, plan, i => i, IN_FLIGHT);
    await warmUp(often, plan, i => i, IN_FLIGHT);
    await checkUntil(often, () => threadsSoFar() > LANES);

    const windows = Math.ceil(plan.repeats / 2);
    const steady = (opened: Opened) => measureSteadiness(loadOf(opened), windows, WINDOW_MS);
    const before = threadsSoFar();
    // Whatever drifts meanwhile weighs on both alike.
    const [a1, b1, b2, a2] = [
      await steady(never),
      await steady(often),
      await steady(often),
      await steady(never),
    ];
    const replaced = threadsSoFar() - before;
    const without = await measureLatency(loadOf(never), plan.latencyMs);
    const having = await measureLatency(loadOf(often), plan.latencyMs);
    await Promise.all([never.close(), often.close()]);
    const rate = mean([b1.callsPerSecond, b2.callsPerSecond]);
    return {
      figures: {
        kept: rate / mean([a1.callsPerSecond, a2.callsPerSecond]),
        dip: Math.min(b1.worstToMedian, b2.worstToMedian),
        dipWithout: Math.min(a1.worstToMedian, a2.worstToMedian),
        p99: having.p99Us,
        p99Without: without.p99Us,
        rate,
        replaced,
      },
      othersCores: share().othersCores,
    };
  },
};

function loadOf({ call }: Opened): Load {
  return { call, inputs: Array.from({ length: 1_024 }, (_, i) => i), inFlight: IN_FLIGHT };
}

const MOST_CHECKS = 50_000;

/** Calls and checks every result until lanes were replaced: what is measured then does what it says. */
async function checkUntil({ call }: Opened, wasReplaced: () => boolean): Promise<void> {
  for (let i = 0; !wasReplaced(); i++) {
    if (i === MOST_CHECKS) throw new Error('No lane was replaced.');
    const results = await Promise.all(Array.from({ length: IN_FLIGHT }, (_, k) => call(k)));
    if (results.some((result, k) => result !== k + 1)) throw new Error('A call came back wrong.');
  }
}
