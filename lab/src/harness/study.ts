import type { Unit } from './format.ts';
import type { Cell, CellRuns } from './interleave.ts';
import type { Modes } from './modes.ts';

/** One figure that runs give: how it is called, printed and judged. */
export interface Metric {
  readonly title: string;
  readonly better: 'more' | 'less';
  readonly unit: Unit;
  /** It follows from another figure, or says how that came about: it is not listed where the subject loses. */
  readonly follows?: boolean;
}

/** What is measured, and by whom. */
export interface Workload {
  /** Workloads of one group stand together in reports. */
  readonly group: string;
  readonly title: string;
  /** The figures that runs give, by name; the first is the one that charts and summaries show. */
  readonly metrics: Readonly<Record<string, Metric>>;
  /** Who is measured. */
  readonly contenders: readonly string[];
  /** In which modes it takes part, besides the full one. */
  readonly modes: readonly ('quick' | 'smoke')[];
  /** Curves that runs give beside figures, by name. */
  readonly series?: Readonly<Record<string, Axes>>;
}

export interface Axes {
  readonly title: string;
  readonly x: string;
  readonly y: string;
  readonly logX?: boolean;
  readonly logY?: boolean;
}

/** What one run of one contender on one workload came to. */
export interface CellResult {
  readonly figures: Readonly<Record<string, number>>;
  readonly series?: Readonly<Record<string, readonly (readonly [x: number, y: number])[]>>;
  /** Cores that other processes kept busy meanwhile. */
  readonly othersCores: number;
}

/** To the child: which cell to run, and how long each part may take. */
export interface CellSpec<Plan> {
  readonly workload: string;
  readonly contender: string;
  readonly plan: Plan;
}

/** A figure of the round that is looked at; null when it was not measured. */
export type FigureOf = (workload: string, contender: string, metric: string) => number | null;

/** A target for the subject, or another contender of ours. */
export interface Bar {
  readonly what: string;
  readonly workload: string;
  readonly metric: string;
  /** Whose bar it is. @default the subject */
  readonly contender?: string;
  /**
   * Against whom: another contender on the same workload, the same one on another workload, a value that is computed from other
   * figures of the same round (null when they are not there), or an absolute value.
   */
  readonly against:
    | { readonly contender: string }
    | { readonly workload: string; readonly metric?: string }
    | { readonly computed: string; readonly from: (figure: FigureOf) => number | null }
    | 'absolute';
  /**
   * The least that the subject's advantage may be (above 1: it must be better by so much); for an absolute bar the
   * value itself, which must be reached or stayed below, as the metric's `better` says.
   */
  readonly wanted: number;
}

/** A contender, as a report shows it. */
export interface Entrant {
  readonly name: string;
  readonly settings: string;
  /** The contender that it is a variant of; a loss to one's own variant is not listed as one. */
  readonly variantOf?: string;
}

/** Workloads that differ in one number only, as a curve for each contender. */
export interface Curve extends Axes {
  /** The group of workloads that it is shown with. */
  readonly group: string;
  readonly metric: string;
  readonly points: readonly (readonly [x: number, workload: string])[];
}

/** What a study that runs its cells in a way of its own is told. */
export interface MeasureOptions<Plan> {
  readonly cells: readonly Cell[];
  readonly plan: Plan;
  readonly rounds: number;
  readonly random: () => number;
  /** Once for each cell in each round. */
  readonly onStart: (cell: Cell, round: number) => void;
}

/** Something to measure: contenders on workloads, and what is wanted of one of them. */
export interface Study<Plan> {
  readonly name: string;
  readonly title: string;
  /** One paragraph for the head of the report: what is measured and how. */
  readonly about: string;
  /**
   * How cells are run: the module that runs one and calls `serveChild`, or a function that runs all of them, whose outcomes may
   * be more than the rounds.
   */
  readonly entry: URL | ((options: MeasureOptions<Plan>) => Promise<CellRuns<CellResult>[]>);
  readonly workloads: Readonly<Record<string, Workload>>;
  /** The contender that is compared with the others. */
  readonly subject: string;
  readonly contenders: Readonly<Record<string, Entrant>>;
  readonly bars: readonly Bar[];
  readonly curves?: readonly Curve[];
  readonly modes: Modes<Plan>;
  /** Installed packages whose versions belong into the report. */
  readonly packages: readonly string[];
  readonly cellTimeoutMs: number;
}
