import { cpuNow } from './cpu.ts';
import { median } from './stats.ts';

/** What batches of many small things came to. */
export interface BatchRate {
  /** The median of several windows. */
  readonly perSecond: number;
  /** CPU time of this thread for each thing, and of all others of the process, in microseconds. */
  readonly hostCpuUs: number;
  readonly laneCpuUs: number;
}

const FIRST_BATCH = 64;
/** Batches grow until one takes this part of a window: what its begin and end cost is then lost in it. */
const SHARE_OF_WINDOW = 1 / 4;

/**
 * The rate of things that come in batches, one batch after the other, such as the items of a stream.
 *
 * @param run does so many of them, and throws if it did not
 */
export async function measureBatches(
  run: (things: number) => Promise<void>,
  plan: { readonly warmUpMs: number; readonly windows: number; readonly windowMs: number },
): Promise<BatchRate> {
  let batch = FIRST_BATCH;
  const begins = performance.now() + plan.warmUpMs;
  do {
    const from = performance.now();
    await run(batch);
    if (performance.now() - from < plan.windowMs * SHARE_OF_WINDOW) batch *= 2;
  } while (performance.now() < begins);

  const rates: number[] = [];
  let things = 0;
  const before = cpuNow();
  while (rates.length < plan.windows) {
    const from = performance.now();
    const thingsBefore = things;
    do {
      await run(batch);
      things += batch;
    } while (performance.now() - from < plan.windowMs);
    rates.push(((things - thingsBefore) / (performance.now() - from)) * 1000);
  }
  const after = cpuNow();
  const host = after.host - before.host;
  return {
    perSecond: median(rates),
    hostCpuUs: host / things,
    laneCpuUs: Math.max(0, after.all - before.all - host) / things,
  };
}
