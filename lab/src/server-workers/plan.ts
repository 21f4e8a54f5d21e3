/** How long the parts of a run may take. */
export interface Plan {
  /** A server that has just started is under load for so long before anything is measured. */
  readonly firstMs: number;
  /** Before each turn: what is under way then is not counted. */
  readonly warmUpMs: number;
  readonly turnMs: number;
  /** How many turns each contender takes on a workload, in each round, when the workload does not say otherwise. */
  readonly turns: number;
}
