/** For mode `auto`: whether a method's calls run inline or on lanes, judged from how long its handler keeps the thread. */

/** A handler that keeps the thread for longer than this is worth handing over, in milliseconds. */
export const TO_LANES_MS = 0.1;
/** One that takes less than this is not. Lower, so that a method between the two stays where it is. */
export const TO_INLINE_MS = 0.05;
/** Of the first calls the shortest counts: others were slowed by cold code. */
const FIRST = 8;
/**
 * How much a later call counts in the mean, and what counts of any at the most, in milliseconds: one that was held up by a
 * collection of garbage moves nothing, one slow call in ten does.
 */
const WEIGHT = 1 / 32;
const MOST_MS = 2;
/** On lanes one call in so many is timed. */
const TIMED_EVERY = 4;

export class Auto {
  /** Where calls go now. */
  isInline = true;
  #meanMs = 0;
  #seen = 0;
  #untimed = 0;

  /** Whether to time the call that goes to a lane now. */
  timesNext(): boolean {
    return this.#untimed++ % TIMED_EVERY === 0;
  }

  /** @param ms how long the handler kept the thread that it ran in */
  add(ms: number): void {
    const counted = Math.min(ms, MOST_MS);
    if (this.#seen++ < FIRST) this.#meanMs = this.#seen === 1 ? counted : Math.min(this.#meanMs, counted);
    else this.#meanMs += (counted - this.#meanMs) * WEIGHT;
    // What is that slow is slow when it is warm, too; the rest is waited for.
    if (this.#seen < FIRST && this.#meanMs < MOST_MS) return;
    if (this.isInline ? this.#meanMs > TO_LANES_MS : this.#meanMs < TO_INLINE_MS) {
      this.isInline = !this.isInline;
    }
  }
}
