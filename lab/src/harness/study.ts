import type { Unit } from './format.ts';
import type { Modes } from './modes.ts';

/** One figure that runs give: how it is called, printed and judged. */
export interface Metric {
  readonly title: string;
  readonly better: 'more' | 'less';
  readonly unit: Unit;
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

/** A target for the subject. */
export interface Bar {
  readonly what: string;
  readonly workload: string;
  readonly metric: string;
  /** Against whom: another contender on the same workload, the subject on another workload, or an absolute value. */
  readonly against:
    | { readonly contender: string }
    | { readonly workload: string; readonly metric?: string }
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

/** Something to measure: contenders on workloads, and what is wanted of one of them. */
export interface Study<Plan> {
  readonly name: string;
  readonly title: string;
  /** One paragraph for the head of the report: what is measured and how. */
  readonly about: string;
  /** The module that runs a cell: calls `serveChild`. */
  readonly entry: URL;
  readonly workloads: Readonly<Record<string, Workload>>;
  /** The contender that is compared with the others. */
  readonly subject: string;
  readonly contenders: Readonly<Record<string, Entrant>>;
  readonly bars: readonly Bar[];
  readonly modes: Modes<Plan>;
  /** Installed packages whose versions belong into the report. */
  readonly packages: readonly string[];
  readonly cellTimeoutMs: number;
}
