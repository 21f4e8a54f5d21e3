import { cpuNow } from './cpu.ts';
import { median, quantile } from './stats.ts';

/** A constant number of calls in flight: as soon as one has settled the next is made. */
export interface Load {
  readonly call: (input: unknown) => Promise<unknown>;
  /** Taken in turn; their number is a power of two. */
  readonly inputs: readonly unknown[];
  readonly inFlight: number;
  /** Makes an input anew for each call, before the call is timed. */
  readonly prepare?: () => unknown;
}

export interface Rate {
  readonly callsPerSecond: number;
  /** CPU time of the calling thread for each call, and of all others of the process, in microseconds. */
  readonly hostCpuUs: number;
  readonly laneCpuUs: number;
}

export interface Latency {
  readonly p50Us: number;
  readonly p99Us: number;
  readonly maxUs: number;
  /** Percentiles and what they came to, in microseconds. */
  readonly distribution: readonly (readonly [percentile: number, us: number])[];
}

const PERCENTILES = [1, 5, 10, 25, 50, 75, 90, 95, 99, 99.5, 99.9, 100];

/** The clock is read once in so many calls, so that reading it costs the fast contenders nothing. */
const CALLS_PER_CLOCK_READ = 32;
/** With more than one call in flight, one in so many is timed. */
const CALLS_PER_SAMPLE = 8;
const MOST_SAMPLES = 500_000;
/** Timing goes on past its time until there are so many: on a busy machine one call can outlast a short phase. */
const LEAST_SAMPLES = 100;

/**
 * Keeps the load up for a while and tells the rate: the median of several windows, after a time to warm up.
 * No call is timed here. The load does not pause between windows.
 */
export async function measureRate(
  load: Load,
  plan: { readonly warmUpMs: number; readonly windows: number; readonly windowMs: number },
): Promise<Rate> {
  const { call, inputs, inFlight, prepare } = load;
  const mask = inputs.length - 1;
  const rates: number[] = [];
  let next = 0;
  let done = 0;
  let open = true;
  let cpu = cpuNow();
  let fromDone = -1;
  let windowDone = 0;
  let windowAt = 0;
  let windowEnds = performance.now() + plan.warmUpMs;

  const mark = () => {
    const now = performance.now();
    if (now < windowEnds) return;
    if (fromDone < 0) {
      fromDone = done;
      cpu = cpuNow();
    } else {
      rates.push(((done - windowDone) / (now - windowAt)) * 1000);
      if (rates.length === plan.windows) open = false;
    }
    windowDone = done;
    windowAt = performance.now();
    windowEnds = windowAt + plan.windowMs;
  };
  const strand = async () => {
    while (open) {
      await call(prepare === undefined ? inputs[next++ & mask] : prepare());
      if (++done % CALLS_PER_CLOCK_READ === 0 && open) mark();
    }
  };
  const strands = Array.from({ length: inFlight }, strand);
  await Promise.all(strands);
  const now = cpuNow();
  const calls = done - fromDone;
  const host = now.host - cpu.host;
  return {
    callsPerSecond: median(rates),
    hostCpuUs: host / calls,
    laneCpuUs: Math.max(0, now.all - cpu.all - host) / calls,
  };
}

/** Keeps the same load up and times calls, each from being made to being awaited. */
export async function measureLatency(load: Load, durationMs: number): Promise<Latency> {
  const { call, inputs, inFlight, prepare } = load;
  const mask = inputs.length - 1;
  const every = inFlight === 1 ? 1 : CALLS_PER_SAMPLE;
  const samples = new Float64Array(MOST_SAMPLES);
  let taken = 0;
  let next = 0;
  const from = performance.now();
  const recordFrom = from + durationMs / 10; // the first calls of a burst wait for one another
  const ends = from + durationMs;
  let open = true;
  const strand = async () => {
    while (open) {
      const input = prepare === undefined ? inputs[next & mask] : prepare();
      if (next++ % every !== 0) {
        await call(input);
        continue;
      }
      const madeAt = performance.now();
      await call(input);
      const awaitedAt = performance.now();
      if (madeAt >= recordFrom && taken < MOST_SAMPLES) samples[taken++] = awaitedAt - madeAt;
      if ((awaitedAt >= ends && taken >= LEAST_SAMPLES) || taken === MOST_SAMPLES) open = false;
    }
  };
  await Promise.all(Array.from({ length: inFlight }, strand));
  const ascending = samples.subarray(0, taken).sort();
  const us = (percentile: number) => quantile(ascending, percentile / 100) * 1000;
  const distribution = PERCENTILES.map(percentile => [percentile, us(percentile)] as const);
  return { p50Us: us(50), p99Us: us(99), maxUs: us(100), distribution };
}
