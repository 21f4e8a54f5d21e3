import type { CellRuns } from '../harness/interleave.ts';
import { type Summary, summarise } from '../harness/stats.ts';
import { bars } from './bars.ts';
import type { CellResult } from './cell.ts';

/** The repeats of one cell. */
export interface CellSummary {
  readonly workload: string;
  readonly contender: string;
  readonly callsPerSecond: Summary;
  readonly p50Us: Summary;
  readonly p99Us: Summary;
  readonly cpuUsPerCall: Summary;
  readonly othersCores: Summary;
  /** What went wrong, one entry for each run that gave no result or did not end by itself. */
  readonly failures: readonly string[];
}

/** Hotlane against one contender; above 1 hotlane is better. Runs are paired by round. */
export interface Ratio {
  readonly workload: string;
  readonly contender: string;
  readonly callsPerSecond: Summary;
  readonly p50: Summary;
  readonly p99: Summary;
}

export interface BarResult {
  readonly workload: string;
  readonly contender: string;
  readonly figure: 'calls/s' | 'p50';
  readonly wanted: number;
  readonly got: number;
  readonly met: boolean;
}

export const SUBJECT = 'hotlane';

export function summariseCell({ cell, outcomes }: CellRuns<CellResult>): CellSummary {
  const results = outcomes.flatMap(outcome => (outcome.ok ? [outcome.result] : []));
  const of = (figure: keyof CellResult) => summarise(results.map(result => result[figure]));
  return {
    ...cell,
    callsPerSecond: of('callsPerSecond'),
    p50Us: of('p50Us'),
    p99Us: of('p99Us'),
    cpuUsPerCall: of('cpuUsPerCall'),
    othersCores: of('othersCores'),
    failures: outcomes.flatMap((outcome, round) => {
      if (!outcome.ok) return [`round ${round + 1}: ${outcome.failure}`];
      return outcome.lingered
        ? [`round ${round + 1}: it gave its result, but the process did not end by itself`]
        : [];
    }),
  };
}

export function ratiosOf(runs: readonly CellRuns<CellResult>[]): Ratio[] {
  const ratios: Ratio[] = [];
  for (const { cell, outcomes } of runs) {
    if (cell.contender === SUBJECT) continue;
    const subject = runs.find(run => run.cell.contender === SUBJECT && run.cell.workload === cell.workload);
    if (subject === undefined) continue;
    const pairs = outcomes.flatMap((theirs, round) => {
      const ours = subject.outcomes[round]!;
      return ours.ok && theirs.ok ? [{ ours: ours.result, theirs: theirs.result }] : [];
    });
    if (pairs.length === 0) continue;
    ratios.push({
      ...cell,
      callsPerSecond: summarise(pairs.map(({ ours, theirs }) => ours.callsPerSecond / theirs.callsPerSecond)),
      p50: summarise(pairs.map(({ ours, theirs }) => theirs.p50Us / ours.p50Us)),
      p99: summarise(pairs.map(({ ours, theirs }) => theirs.p99Us / ours.p99Us)),
    });
  }
  return ratios;
}

export function judgeBars(ratios: readonly Ratio[]): BarResult[] {
  return bars.flatMap(({ workload, contender, figure, times: wanted }) => {
    const ratio = ratios.find(one => one.workload === workload && one.contender === contender);
    if (ratio === undefined) return [];
    const got = (figure === 'p50' ? ratio.p50 : ratio.callsPerSecond).median;
    return [{ workload, contender, figure, wanted, got, met: got >= wanted }];
  });
}
