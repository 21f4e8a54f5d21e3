import type { Opened } from '../../contenders/contender.ts';
import { median, quantile } from '../../harness/stats.ts';
import type { Metric } from '../../harness/study.ts';
import { type Kind, measured, pause, warmUp } from './kind.ts';

export const fairnessMetrics: Readonly<Record<string, Metric>> = {
  p99: { title: 'p99 of the short', better: 'less', unit: 'ms' },
  p50: { title: 'p50 of the short', better: 'less', unit: 'ms' },
  max: { title: 'max of the short', better: 'less', unit: 'ms' },
};

const BLOCKED_MS = 200;
const SHORT_CALLS = 1_000;

/** One of two lanes is blocked, and 1,000 short calls are made at once. Medians of several such bursts. */
export const blocked: Kind = {
  run: (contender, plan) =>
    measured(contender, 'block', 2, async opened => {
      await warmUp(opened, plan, () => 0, 64);
      const bursts: Record<string, number>[] = [];
      for (let i = 0; i < Math.max(1, plan.repeats / 4); i++) {
        const long = opened.call(BLOCKED_MS);
        await pause(10);
        bursts.push(figuresOf(await Promise.all(Array.from({ length: SHORT_CALLS }, () => timed(opened)))));
        await long;
      }
      const names = Object.keys(fairnessMetrics);
      return { figures: Object.fromEntries(names.map(name => [name, median(bursts.map(b => b[name]!))])) };
    }),
};

const LONG_MS = 20;
const IN_FLIGHT = 32;

/** 32 calls in flight on two lanes, of which one in fifty takes 20 ms. */
export const mixed: Kind = {
  run: (contender, plan) =>
    measured(contender, 'block', 2, async opened => {
      await warmUp(opened, plan, () => 0, 64);
      const all: number[] = [];
      const end = performance.now() + plan.warmUpMs + plan.latencyMs * 2;
      let made = 0;
      const strand = async () => {
        while (performance.now() < end) {
          if (made++ % 50 === 25) await opened.call(LONG_MS);
          else all.push(await timed(opened));
        }
      };
      await Promise.all(Array.from({ length: IN_FLIGHT }, strand));
      return { figures: figuresOf(all) };
    }),
};

async function timed({ call }: Opened): Promise<number> {
  const from = performance.now();
  await call(0);
  return performance.now() - from;
}

function figuresOf(latencies: readonly number[]): Record<string, number> {
  const ascending = Float64Array.from(latencies).sort();
  const of = (share: number) => quantile(ascending, share);
  return { p99: of(0.99), p50: of(0.5), max: of(1) };
}
