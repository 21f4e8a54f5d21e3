/** So much work, in time, is handed over ahead of what the lanes run. */
const AHEAD_MS = 10;
const MOST_AHEAD = 256;

export interface LaneCounts {
  /**
   * Calls that the lanes which are up can run at once. While none is up: 0 if one is about to be, so that its
   * start does not count against a deadline; else 1, since only a call can tell that none can be had.
   */
  readonly capacity: number;
  /** Calls that were given up while their functions have not returned: they hold lanes. */
  readonly abandoned: number;
}

/**
 * How many calls may be under way at once: as many as the lanes can run, and what they finish in 10 ms.
 *
 * For functions of microseconds that is hundreds, which hides the cost of handing over. For functions of 100 ms
 * and more it is none: each call starts when it is made, and after Ctrl-C nothing begins that was not running.
 */
export class Depth {
  limit = 0;
  readonly #mostAhead: number;
  #lastAt: number;
  #lastSettled = 0;
  #perMs = 0;

  /**
   * @param now in milliseconds
   * @param ahead false: only as many calls as the lanes can run
   */
  constructor(now: number, ahead: boolean) {
    this.#mostAhead = ahead ? MOST_AHEAD : 0;
    this.#lastAt = now;
  }

  /** @param settled calls that were made and are over, so far */
  review(now: number, settled: number, { capacity, abandoned }: LaneCounts): void {
    const elapsed = now - this.#lastAt;
    if (elapsed > 0) {
      const perMs = (settled - this.#lastSettled) / elapsed;
      this.#perMs = Math.max(perMs, this.#perMs / 2); // a pause of the host's is not one of the lanes'
      this.#lastAt = now;
      this.#lastSettled = settled;
    }
    const free = Math.max(0, capacity - abandoned);
    this.limit = free === 0 ? 0 : free + Math.min(this.#mostAhead, Math.floor(this.#perMs * AHEAD_MS));
  }
}
