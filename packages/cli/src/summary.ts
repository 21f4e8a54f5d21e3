import { createHistogram } from 'node:perf_hooks';
import { perTime } from './progress.ts';

/** What became of the inputs that were taken. */
export interface Counts {
  readonly done: number;
  readonly failed: number;
  /** Calls that were made again. */
  readonly retried: number;
  /** Of those done: taken from the journal. */
  readonly reused: number;
  /** Of streams. */
  readonly items: number;
  /** Calls that were under way when the run was stopped. */
  readonly abandoned: number;
}

/**
 * What the last line says: `120 done, 3 failed in 4.2 s (29/s)`.
 *
 * @param stream whether the inputs have items
 */
export function textSummary(counts: Counts, seconds: number, stream = false): string {
  const { done, failed, retried, reused } = counts;
  const parts = [
    reused > 0 ? `${done} done (${reused} from the journal)` : `${done} done`,
    `${failed} failed`,
    ...(stream ? [`${counts.items} ${counts.items === 1 ? 'item' : 'items'}`] : []),
    ...(retried > 0 ? [`${retried} ${retried === 1 ? 'try' : 'tries'} again`] : []),
  ];
  const time = seconds.toFixed(seconds < 10 ? 2 : 1);
  return `${parts.join(', ')} in ${time} s (${perTime(perSecond(counts, seconds))})`;
}

/** What `--json` says; README.md tells what the fields mean. */
export function jsonSummary(
  counts: Counts,
  seconds: number,
  rest: { stream: boolean; notStarted: number | null; lanes: number; exitCode: number; latency: Latency },
): string {
  const { done, failed, items, retried, reused, abandoned } = counts;
  return JSON.stringify({
    done,
    failed,
    ...(rest.stream ? { items } : {}),
    retried,
    reused,
    givenUp: abandoned,
    notStarted: rest.notStarted,
    lanes: rest.lanes,
    seconds: round(seconds),
    perSecond: round(perSecond(counts, seconds)),
    latencyMs: rest.latency.percentilesMs(),
    exitCode: rest.exitCode,
  });
}

/** How long calls take, from the call to its result, in constant memory. */
export class Latency {
  readonly #histogramNs = createHistogram();

  async measure<T>(call: () => Promise<T>): Promise<T> {
    const from = performance.now();
    try {
      return await call();
    } finally {
      this.#histogramNs.record(Math.max(1, Math.round((performance.now() - from) * 1e6)));
    }
  }

  /** @returns null when no call was made */
  percentilesMs(): { p50: number; p90: number; p99: number; max: number } | null {
    const histogram = this.#histogramNs;
    if (histogram.count === 0) return null;
    const ms = (ns: number) => round(ns / 1e6);
    const percentile = (share: number) => ms(histogram.percentile(share));
    return { p50: percentile(50), p90: percentile(90), p99: percentile(99), max: ms(histogram.max) };
  }
}

/** Of the calls of this run: what the journal held took no time. */
function perSecond({ done, failed, reused }: Counts, seconds: number): number {
  return seconds > 0 ? (done + failed - reused) / seconds : 0;
}

/** Four significant digits: more say nothing about a time. */
function round(value: number): number {
  return Number(value.toPrecision(4));
}
