import { contenders, loadContender } from '../contenders/all.ts';
import type { Entrant, Study } from '../harness/study.ts';
import { hasNative } from '../native/ping-pong.ts';
import { bars } from './bars.ts';
import type { Plan } from './plan.ts';
import { workloads } from './workloads.ts';

const NATIVE = {
  'c-futex': {
    name: 'C, futex',
    settings: 'two threads in C that wake each other by futex: what the machine takes',
  },
  'c-spin': { name: 'C, spinning', settings: 'two threads in C that spin on one word' },
};

/** What handing a call over costs, beside other ways to do it. */
export async function benchStudy(): Promise<Study<Plan>> {
  const known: Record<string, Entrant> = {};
  for (const key of Object.keys(contenders)) {
    const { name, settings, variantOf } = await loadContender(key);
    known[key] = { name, settings, ...(variantOf !== undefined && { variantOf }) };
  }
  return {
    name: 'bench',
    title: 'What handing a call to another thread costs',
    about:
      'Each run of a contender on a workload is a process of its own; contenders run one after the other in an order that is shuffled anew for each round. Rates are medians of windows after a warm-up, in which no call is timed; latencies are taken apart. Ratios are paired by round.',
    entry: new URL('./cell-entry.ts', import.meta.url),
    subject: 'hotlane',
    contenders: hasNative() ? { ...known, ...NATIVE } : known,
    workloads,
    bars,
    packages: ['hotlane', 'piscina', 'tinypool', 'comlink', 'synckit'],
    cellTimeoutMs: 90_000,
    modes: {
      full: {
        rounds: 3,
        controlProcesses: 10,
        plan: { warmUpMs: 400, windows: 5, windowMs: 80, latencyMs: 250, repeats: 20, idleMs: 10_000 },
      },
      quick: {
        rounds: 1,
        controlProcesses: 4,
        plan: { warmUpMs: 150, windows: 3, windowMs: 50, latencyMs: 100, repeats: 10, idleMs: 1_500 },
      },
      smoke: {
        rounds: 1,
        controlProcesses: 1,
        plan: { warmUpMs: 5, windows: 1, windowMs: 5, latencyMs: 5, repeats: 1, idleMs: 50 },
      },
    },
  };
}
