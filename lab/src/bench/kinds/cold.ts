import { watchCpu } from '../../harness/cpu.ts';
import type { CellResult, Metric } from '../../harness/study.ts';
import { type Kind, pause, TASKS } from './kind.ts';

/** Nothing to load but one function. */
const NOOP = new URL('../tasks/noop.ts', import.meta.url).href;

export const coldMetrics: Readonly<Record<string, Metric>> = {
  first: { title: 'open to first result', better: 'less', unit: 'ms' },
};

/** From opening to the first result: one lane. */
export const coldStart: Kind = {
  run: async contender => {
    const share = watchCpu();
    const from = performance.now();
    const opened = await contender.open({ module: NOOP, fn: 'increment', threads: 1 });
    await opened.call(1);
    const first = performance.now() - from;
    await opened.close();
    return { figures: { first }, othersCores: share().othersCores };
  },
};

export const coldBurstMetrics: Readonly<Record<string, Metric>> = {
  all: { title: '1,000 calls on a cold pool', better: 'less', unit: 'ms' },
};

/** 1,000 calls of some 50 µs at once on a pool with nothing set. */
export const coldBurst: Kind = {
  run: async contender => {
    const share = watchCpu();
    const from = performance.now();
    const opened = await contender.open({ module: TASKS, fn: 'spin', threads: 'adaptive' });
    await Promise.all(Array.from({ length: 1_000 }, () => opened.call(50_000)));
    const all = performance.now() - from;
    await opened.close();
    return { figures: { all }, othersCores: share().othersCores };
  },
};

export const memoryMetrics: Readonly<Record<string, Metric>> = {
  perLane: { title: 'memory per idle lane', better: 'less', unit: 'MiB' },
};

const LANES = 8;

/** What eight lanes take of memory, each after some calls. */
export const memory: Kind = {
  run: async (contender): Promise<CellResult> => {
    const share = watchCpu();
    const one = await contender.open({ module: NOOP, fn: 'increment', threads: 1 });
    await one.call(1);
    await pause(100);
    const before = process.memoryUsage().rss;
    const opened = await contender.open({ module: NOOP, fn: 'increment', threads: LANES });
    for (let i = 0; i < 20; i++) await Promise.all(Array.from({ length: 64 }, (_, k) => opened.call(k)));
    await pause(300);
    const perLane = (process.memoryUsage().rss - before) / LANES / 2 ** 20;
    await Promise.all([one.close(), opened.close()]);
    return { figures: { perLane }, othersCores: share().othersCores };
  },
};
