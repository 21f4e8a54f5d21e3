import type { Load } from './load.ts';
import { summarise } from './stats.ts';

export interface Steadiness {
  readonly callsPerSecond: number;
  /** Calls that settled in the worst window, to those of the median window. */
  readonly worstToMedian: number;
}

/** The clock is read once in so many calls. */
const CALLS_PER_CLOCK_READ = 32;

/**
 * Keeps a load up for so many windows of the same length: how many calls settled in each. Unlike windows that end with a
 * call, one in which none settles counts as 0.
 */
export async function measureSteadiness(
  { call, inputs, inFlight }: Load,
  windows: number,
  windowMs: number,
): Promise<Steadiness> {
  const mask = inputs.length - 1;
  const settled = new Array<number>(windows).fill(0);
  let next = 0;
  let done = 0;
  let open = true;
  const from = performance.now();
  const strand = async () => {
    while (open) {
      await call(inputs[next++ & mask]);
      if (++done % CALLS_PER_CLOCK_READ !== 0) continue;
      const window = Math.floor((performance.now() - from) / windowMs);
      if (window >= windows) open = false;
      else settled[window]! += CALLS_PER_CLOCK_READ;
    }
  };
  await Promise.all(Array.from({ length: inFlight }, strand));
  const { median, min } = summarise(settled);
  const all = settled.reduce((sum, calls) => sum + calls, 0);
  return { callsPerSecond: (all / (windows * windowMs)) * 1000, worstToMedian: min / median };
}
