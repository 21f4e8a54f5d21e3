import { watchCpu } from '../../harness/cpu.ts';
import { quantile } from '../../harness/stats.ts';
import type { Metric } from '../../harness/study.ts';
import { sharedNow } from '../tasks/tasks.ts';
import { type Kind, measured, pause, warmUp } from './kind.ts';

export const waitingMetrics: Readonly<Record<string, Metric>> = {
  p50: { title: 'p50', better: 'less', unit: 'µs' },
  p90: { title: 'p90', better: 'less', unit: 'µs' },
  cpu: { title: 'CPU burnt', better: 'less', unit: 'µs' },
};

const TASK_MS = 20;

/** Tasks of 20 ms: from done in the lane to settled on the host. */
export const settling: Kind = {
  run: (contender, plan) =>
    measured(contender, 'block', 1, async opened => {
      const { call } = opened;
      await warmUp(opened, plan, () => 0);
      const gaps: number[] = [];
      const share = watchCpu();
      for (let i = 0; i < plan.repeats; i++) {
        const doneAt = (await call(TASK_MS)) as number;
        gaps.push((sharedNow() - doneAt) * 1000);
      }
      // Without what the tasks themselves take.
      return { figures: figuresOf(gaps, share().ownUs / plan.repeats - TASK_MS * 1000) };
    }),
};

/** So many calls at once after a pause in which nothing happens; the CPU is that of pause and calls together. */
export function afterPause(pauseMs: number, burst: number): Kind {
  return {
    run: (contender, plan) =>
      measured(contender, 'increment', 1, async opened => {
        const { call } = opened;
        await warmUp(opened, plan, i => i);
        const repeats = Math.max(3, Math.min(plan.repeats * 4, Math.round(plan.idleMs / pauseMs)));
        const took: number[] = [];
        await pause(pauseMs);
        const share = watchCpu();
        for (let i = 0; i < repeats; i++) {
          await pause(pauseMs);
          const from = performance.now();
          if (burst === 1) await call(i);
          else await Promise.all(Array.from({ length: burst }, (_, k) => call(k)));
          took.push((performance.now() - from) * 1000);
        }
        return { figures: figuresOf(took, share().ownUs / repeats) };
      }),
  };
}

function figuresOf(values: readonly number[], cpuUs: number): Record<string, number> {
  const ascending = Float64Array.from(values).sort();
  return { p50: quantile(ascending, 0.5), p90: quantile(ascending, 0.9), cpu: Math.max(0, cpuUs) };
}
