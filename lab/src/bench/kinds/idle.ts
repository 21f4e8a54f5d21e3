import { watchCpu } from '../../harness/cpu.ts';
import type { Metric } from '../../harness/study.ts';
import { type Kind, measured, pause } from './kind.ts';

export const idleMetrics: Readonly<Record<string, Metric>> = {
  cpu: { title: 'CPU in 10 s', better: 'less', unit: 'ms' },
};

/** After use: what host and lanes burn while nothing is called. */
export const idle: Kind = {
  run: (contender, plan) =>
    measured(contender, 'increment', 2, async ({ call }) => {
      for (let i = 0; i < 10 * plan.repeats; i++)
        await Promise.all(Array.from({ length: 64 }, (_, k) => call(k)));
      await pause(300); // what the engine still has to do after a load is not idling
      const share = watchCpu();
      await pause(plan.idleMs);
      const { ownUs, wallMs } = share();
      return { figures: { cpu: (ownUs / 1000) * (10_000 / wallMs) } };
    }),
};

export const tickMetrics: Readonly<Record<string, Metric>> = {
  ticks: { title: 'ticks of a 5 ms interval in an idle lane, per s', better: 'more', unit: '1/s' },
};

const EVERY_MS = 5;

/** Whether timers run in a lane that nobody calls. */
export const ticks: Kind = {
  run: (contender, plan) =>
    measured(contender, 'ticking', 1, async ({ call }) => {
      await call(EVERY_MS);
      await pause(100);
      const before = (await call(0)) as number;
      const from = performance.now();
      await pause(Math.min(1_000, plan.idleMs));
      const after = (await call(0)) as number;
      // The asking itself lets a frozen lane run a timer or two.
      const fired = Math.max(0, after - before - 2);
      return { figures: { ticks: (fired / (performance.now() - from)) * 1000 } };
    }),
};
