/** Time, as the pure parts are given it: the platform's, or in tests one that stands still until it is moved. */
export interface Clock {
  /** Milliseconds since some moment; the same for all threads of the process. */
  now(): number;
  /** Calls back once, after so many milliseconds. The timer alone does not keep the process alive. */
  setTimer(ms: number, onTime: () => void): unknown;
  clearTimer(timer: unknown): void;
}
