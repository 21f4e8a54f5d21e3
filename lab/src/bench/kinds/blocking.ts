import { cpuNow } from '../../harness/cpu.ts';
import { median, quantile } from '../../harness/stats.ts';
import type { Metric } from '../../harness/study.ts';
import { type Kind, lacking, measured, pause } from './kind.ts';

export const blockingMetrics: Readonly<Record<string, Metric>> = {
  took: { title: 'one call', better: 'less', unit: 'µs' },
  p99: { title: 'p99', better: 'less', unit: 'µs' },
  hostCpu: { title: 'host CPU/call', better: 'less', unit: 'µs' },
  laneCpu: { title: 'lanes CPU/call', better: 'less', unit: 'µs' },
};

/** The clock is read once in so many calls, so that reading it costs the plain call little. */
const CALLS_PER_CLOCK_READ = 16;
const LEAST_SAMPLES = 20;

/**
 * Calls that block this thread, one after the other. What one takes is the median of windows in which none is timed; for the
 * p99 they are timed one by one. Every result is checked.
 *
 * @param inputs taken in turn; a power of two of them
 */
export function blocking(
  fn: string,
  inputs: () => readonly unknown[],
  expect: (input: unknown) => unknown,
): Kind {
  return {
    run: (contender, plan) =>
      measured(contender, fn, 1, async ({ sync }) => {
        if (sync === undefined) throw lacking(contender, 'sync');
        const given = inputs();
        const wanted = given.map(expect);
        const mask = given.length - 1;
        let next = 0;
        const callOne = () => {
          const i = next++ & mask;
          if (sync(given[i]) !== wanted[i]) throw new Error(`Call ${next} came back wrong.`);
        };
        const window = (ms: number) => {
          const first = next;
          const from = performance.now();
          do for (let i = 0; i < CALLS_PER_CLOCK_READ; i++) callOne();
          while (performance.now() - from < ms);
          return ((performance.now() - from) * 1000) / (next - first);
        };

        window(plan.warmUpMs);
        await pause(0); // what the blocked thread has to do meanwhile is not part of the calls
        const [first, before] = [next, cpuNow()];
        const took = Array.from({ length: plan.windows }, () => window(plan.windowMs));
        const after = cpuNow();
        const calls = next - first;
        const hostCpu = (after.host - before.host) / calls;
        await pause(0);

        const samples: number[] = [];
        for (const ends = performance.now() + plan.latencyMs; ; ) {
          const from = performance.now();
          callOne();
          const now = performance.now();
          samples.push((now - from) * 1000);
          if (now >= ends && samples.length >= LEAST_SAMPLES) break;
        }
        const p99 = quantile(Float64Array.from(samples).sort(), 0.99);
        const laneCpu = Math.max(0, (after.all - before.all) / calls - hostCpu);
        return { figures: { took: median(took), p99, hostCpu, laneCpu } };
      }),
  };
}
