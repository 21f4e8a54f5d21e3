/** What is called, with what, and how many calls are in flight. */
export interface Workload {
  /** As in tables. */
  readonly title: string;
  /** URL of the task module. */
  readonly module: string;
  readonly fn: string;
  readonly inFlight: number;
  /** Inputs to take in turn; a power of two of them. */
  inputs(): readonly unknown[];
  /** @throws Error when the output is not what the function gives for that input */
  check(input: unknown, output: unknown): void;
}
