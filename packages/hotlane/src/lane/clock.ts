/** Time and chance, as the pure parts are given them: the platform's, or in tests what a seed says. */
export interface Clock {
  /** Milliseconds since some moment; the same for all threads of the process. */
  now(): number;
  /** Calls back once, after so many milliseconds. The timer alone does not keep the process alive. */
  setTimer(ms: number, onTime: () => void): unknown;
  clearTimer(timer: unknown): void;
  /** From 0 to just below 1. */
  random(): number;
}
