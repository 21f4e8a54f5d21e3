import type { Metric } from '../../harness/study.ts';
import { spin } from '../tasks/tasks.ts';
import { type Kind, measured } from './kind.ts';

export const breakEvenMetrics: Readonly<Record<string, Metric>> = {
  breakEven: { title: 'break-even task', better: 'less', unit: 'µs' },
  atTenUs: { title: 'speed-up at 10 µs', better: 'more', unit: '×' },
  atHundredUs: { title: 'speed-up at 100 µs', better: 'more', unit: '×' },
};

export const breakEvenSeries = {
  speedUp: {
    title: 'speed-up over one thread, by the length of a task',
    x: 'task, µs',
    y: 'times one thread',
    logX: true,
  },
};

const TASKS_US = [0.1, 0.3, 1, 2, 5, 10, 20, 50, 100, 300, 1_000];
const IN_FLIGHT = 64;
/** For the shortest tasks: enough to time, and not for ever with slow contenders. */
const MOST_CALLS = 20_000;
/** A speed-up of this is no more than noise. */
const EVEN = 1;

/**
 * Tasks of growing length on two threads against a plain loop on one: how small a task may be before handing it over
 * costs more than it gives.
 */
export const breakEven: Kind = {
  run: (contender, plan) =>
    measured(contender, 'spin', 2, async ({ call }) => {
      const roundsPerUs = calibrate();
      const curve: [number, number][] = [];
      for (const us of TASKS_US) {
        const rounds = Math.max(1, Math.round(us * roundsPerUs));
        const alone = 1e6 / us; // a plain loop's rate, as calibrated
        const least = Math.min(8, plan.repeats) * IN_FLIGHT;
        const most = Math.min(MOST_CALLS, plan.repeats * 1_000);
        const calls = Math.min(most, Math.max(least, Math.round((plan.windowMs * 2000) / us)));
        await rateOf(call, rounds, Math.min(calls, 4 * IN_FLIGHT)); // warm
        curve.push([us, (await rateOf(call, rounds, calls)) / alone]);
      }
      return {
        figures: { breakEven: crossing(curve), atTenUs: at(curve, 10), atHundredUs: at(curve, 100) },
        series: { speedUp: curve },
      };
    }),
};

/** Rounds of `spin` in a microsecond, on this thread. */
function calibrate(): number {
  const ROUNDS = 200_000;
  spin(ROUNDS);
  let best = Number.POSITIVE_INFINITY;
  for (let i = 0; i < 20; i++) {
    const from = performance.now();
    spin(ROUNDS);
    best = Math.min(best, performance.now() - from);
  }
  return ROUNDS / (best * 1000);
}

/** Calls/s of so many calls, from the first made to the last answered. */
async function rateOf(
  call: (input: unknown) => Promise<unknown>,
  rounds: number,
  calls: number,
): Promise<number> {
  let made = 0;
  const strand = async () => {
    while (made++ < calls) await call(rounds);
  };
  const from = performance.now();
  await Promise.all(Array.from({ length: IN_FLIGHT }, strand));
  return (calls / (performance.now() - from)) * 1000;
}

/** Where the curve comes above even for good, between two points on a logarithmic scale. */
function crossing(curve: readonly [number, number][]): number {
  for (let i = curve.length - 1; i >= 0; i--) {
    const [us, speedUp] = curve[i]!;
    if (speedUp >= EVEN) continue;
    const above = curve[i + 1];
    if (above === undefined) return Number.POSITIVE_INFINITY;
    const share = (EVEN - speedUp) / (above[1] - speedUp);
    return us * (above[0] / us) ** share;
  }
  return curve[0]![0];
}

function at(curve: readonly [number, number][], us: number): number {
  return curve.find(([x]) => x === us)?.[1] ?? Number.NaN;
}
