/** How long each part of one run takes. */
export interface Plan {
  readonly warmUpMs: number;
  readonly windows: number;
  readonly windowMs: number;
  readonly latencyMs: number;
  /** Repeats of what is measured one by one: pauses, tasks of 20 ms, blocked lanes. */
  readonly repeats: number;
  readonly idleMs: number;
}
