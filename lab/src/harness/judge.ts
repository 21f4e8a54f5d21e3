import type { CellRuns } from './interleave.ts';
import { type Summary, summarise } from './stats.ts';
import type { Bar, CellResult, Study } from './study.ts';

/** All runs of one contender on one workload, summed up. */
export interface CellSummary {
  readonly workload: string;
  readonly contender: string;
  readonly figures: Readonly<Record<string, Summary>>;
  /** Of the run whose first figure is the median. */
  readonly series: CellResult['series'];
  readonly othersCores: readonly number[];
  /** What went wrong, one entry for each run that gave no result or did not end by itself. */
  readonly failures: readonly string[];
}

/** The subject against one contender, by metric; above 1 the subject is better. Runs are paired by round. */
export interface Ratio {
  readonly workload: string;
  readonly contender: string;
  readonly ratios: Readonly<Record<string, Summary>>;
}

export type Verdict = 'met' | 'missed within the spread' | 'missed' | 'not measured';

export interface BarResult extends Bar {
  /** The median; NaN when it was not measured. */
  readonly got: number;
  /** From the worst round to the best. */
  readonly worst: number;
  readonly best: number;
  readonly verdict: Verdict;
}

type Runs = readonly CellRuns<CellResult>[];

export function summariseCell({ cell, outcomes }: CellRuns<CellResult>): CellSummary {
  const results = outcomes.flatMap(outcome => (outcome.ok ? [outcome.result] : []));
  const names = Object.keys(results[0]?.figures ?? {});
  const figures = Object.fromEntries(
    names.map(name => [name, summarise(results.map(result => result.figures[name] ?? Number.NaN))]),
  );
  const [first = ''] = names;
  const byFirst = [...results].sort((a, b) => a.figures[first]! - b.figures[first]!);
  return {
    ...cell,
    figures,
    series: byFirst[byFirst.length >> 1]?.series,
    othersCores: results.map(result => result.othersCores),
    failures: outcomes.flatMap((outcome, round) => {
      if (!outcome.ok) return [`round ${round + 1}: ${outcome.failure}`];
      return outcome.lingered
        ? [`round ${round + 1}: it gave its result, but the process did not end by itself`]
        : [];
    }),
  };
}

export function ratiosOf<P>(study: Study<P>, runs: Runs): Ratio[] {
  return runs.flatMap(({ cell }) => {
    if (cell.contender === study.subject) return [];
    const { metrics } = study.workloads[cell.workload]!;
    const ratios = Object.keys(metrics).flatMap(metric => {
      const own = { workload: cell.workload, contender: study.subject, metric };
      const summary = advantage(study, runs, own, { ...cell, metric });
      return summary === null ? [] : [[metric, summary] as const];
    });
    return ratios.length === 0 ? [] : [{ ...cell, ratios: Object.fromEntries(ratios) }];
  });
}

export function judgeBars<P>(study: Study<P>, runs: Runs): BarResult[] {
  return study.bars.map(bar => {
    const own = { workload: bar.workload, contender: bar.contender ?? study.subject, metric: bar.metric };
    const { better } = study.workloads[bar.workload]!.metrics[bar.metric]!;
    if (bar.against === 'absolute') {
      const values = figuresOf(runs, own).filter(value => value !== null);
      const isLess = better === 'less';
      return judge(bar, summarise(values), isLess);
    }
    if ('computed' in bar.against) {
      const { from } = bar.against;
      const reference = figuresOf(runs, own).map((_, round) =>
        from(
          (workload, contender, metric) => figuresOf(runs, { workload, contender, metric })[round] ?? null,
        ),
      );
      const ratios = ratiosBetween(figuresOf(runs, own), reference, better);
      return judge(bar, summarise(ratios), false);
    }
    const other =
      'contender' in bar.against
        ? { ...own, contender: bar.against.contender }
        : { ...own, workload: bar.against.workload, metric: bar.against.metric ?? bar.metric };
    const summary = advantage(study, runs, own, other);
    return judge(bar, summary ?? summarise([]), false);
  });
}

function judge(bar: Bar, { median, min, max, values }: Summary, isLess: boolean): BarResult {
  const [worst, best] = isLess ? [max, min] : [min, max];
  const holds = (value: number) => (isLess ? value <= bar.wanted : value >= bar.wanted);
  const verdict =
    values.length === 0
      ? 'not measured'
      : holds(median)
        ? 'met'
        : holds(best)
          ? 'missed within the spread'
          : 'missed';
  return { ...bar, got: median, worst, best, verdict };
}

interface Where {
  readonly workload: string;
  readonly contender: string;
  readonly metric: string;
}

/** How many times better the one is than the other, round by round; null when no round has both. */
function advantage<P>(study: Study<P>, runs: Runs, own: Where, other: Where): Summary | null {
  const [ours, theirs] = [figuresOf(runs, own), figuresOf(runs, other)];
  const { better } = study.workloads[own.workload]!.metrics[own.metric]!;
  const ratios = ratiosBetween(ours, theirs, better);
  return ratios.length === 0 ? null : summarise(ratios);
}

type Figures = readonly (number | null)[];

function ratiosBetween(ours: Figures, theirs: Figures, better: 'more' | 'less'): number[] {
  return ours.flatMap((value, round) => {
    const against = theirs[round] ?? null;
    if (value === null || against === null) return [];
    return [better === 'more' ? value / against : against / value];
  });
}

/** One for each round; null where the run failed. */
function figuresOf(runs: Runs, { workload, contender, metric }: Where): (number | null)[] {
  const run = runs.find(({ cell }) => cell.workload === workload && cell.contender === contender);
  return (run?.outcomes ?? []).map(outcome => (outcome.ok ? (outcome.result.figures[metric] ?? null) : null));
}
