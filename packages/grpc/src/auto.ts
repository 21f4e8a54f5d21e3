/** For mode `auto`: whether a method's calls run inline or on lanes, judged from how long its handler keeps the thread. */

/** A handler that keeps the thread for longer than this is worth handing over, in milliseconds. */
export const TO_LANES_MS = 0.1;
/** One that takes less than this is not. Lower, so that a method between the two stays where it is. */
export const TO_INLINE_MS = 0.05;
/** Of the first calls the shortest counts: others were slowed by cold code. */
const FIRST = 8;
/** How much a call counts in the mean. */
const WEIGHT = 1 / 8;
/** On lanes one call in so many is timed. */
const TIMED_EVERY = 16;

export class Auto {
  /** Where calls go now. */
  isInline = true;
  #meanMs = 0;
  #seen = 0;
  #untimed = 0;

  /** Whether to time the call that goes to a lane now: the first ones on it, and then some. */
  timesNext(): boolean {
    if (this.#seen >= FIRST && this.#untimed++ % TIMED_EVERY !== 0) return false;
    return true;
  }

  /** @param ms how long the handler kept the thread that it ran in */
  add(ms: number): void {
    if (this.#seen++ < FIRST) this.#meanMs = this.#seen === 1 ? ms : Math.min(this.#meanMs, ms);
    else this.#meanMs += (ms - this.#meanMs) * WEIGHT;
    if (this.isInline ? this.#meanMs > TO_LANES_MS : this.#meanMs < TO_INLINE_MS) {
      this.isInline = !this.isInline;
    }
  }
}
