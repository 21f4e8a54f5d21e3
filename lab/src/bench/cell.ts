import type { Latency, Rate } from '../harness/load.ts';

/** How long each part of one run takes. */
export interface CellPlan {
  readonly warmUpMs: number;
  readonly windows: number;
  readonly windowMs: number;
  readonly latencyMs: number;
}

/** To the child: which cell to run. */
export interface CellSpec {
  readonly workload: string;
  readonly contender: string;
  readonly plan: CellPlan;
}

/** What one run of one cell came to. */
export type CellResult = Rate & Latency;
