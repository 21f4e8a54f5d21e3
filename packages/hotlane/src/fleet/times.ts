/**
 * How long calls wait and run, from those that are timed. To time a call costs a microsecond or two, for looks at the clock
 * and words that travel between the cores' caches; so of short calls few are timed, of long ones all.
 */

/** One call is timed for so much running, in milliseconds, and one in so many at the least. */
const TIMED_EVERY_MS = 0.2;
const MOST_GAP = 1_023;
/** The first calls are all timed; while they are, the shortest run counts: others were slowed by cold code. */
const FIRST = 8;

/** A quantity's distribution, in milliseconds. */
export interface Distribution {
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly max: number;
}

/**
 * Counts durations in buckets that grow with them, so that memory is fixed and any quantile is known to within 2 %.
 *
 *     tenths of a µs:  0 1 2 … 31 │ 32 33 … 63 │ 64 66 … 126 │ 128 132 …      32 buckets for each doubling
 */
export class Histogram {
  readonly #counts = new Float64Array(SUB * 42);
  #total = 0;
  #max = 0;

  /** @param weight for how many calls this one stands */
  add(ms: number, weight: number): void {
    this.#counts[bucketOf(ms)] += weight;
    this.#total += weight;
    if (ms > this.#max) this.#max = ms;
  }

  distribution(): Distribution {
    const [p50, p90, p99] = [0.5, 0.9, 0.99].map(part => this.#quantile(part));
    return { p50, p90, p99, max: this.#max };
  }

  #quantile(part: number): number {
    let left = this.#total * part;
    if (left === 0) return 0;
    for (let bucket = 0; bucket < this.#counts.length; bucket++) {
      left -= this.#counts[bucket];
      if (left <= 0) return Math.min(this.#max, middleOf(bucket));
    }
    return this.#max;
  }
}

const SUB = 32;
const PER_MS = 10_000;

function bucketOf(ms: number): number {
  const units = Math.max(0, Math.floor(ms * PER_MS));
  if (units < SUB) return units;
  const doublings = Math.min(40, Math.floor(Math.log2(units)) - 4);
  return doublings * SUB + Math.min(SUB - 1, Math.floor(units / 2 ** (doublings - 1)) - SUB);
}

function middleOf(bucket: number): number {
  if (bucket < SUB) return (bucket + 0.5) / PER_MS;
  const doublings = Math.floor(bucket / SUB);
  return (((bucket % SUB) + SUB + 0.5) * 2 ** (doublings - 1)) / PER_MS;
}

/** What a pool knows of its calls' times. */
export class Times {
  /** Every call is to be timed: somebody watches. */
  all = false;
  readonly #wait = new Histogram();
  readonly #run = new Histogram();
  #timed = 0;
  #serviceMs = 0;
  /** How long the last timed call ran, and the one before it. */
  #last = 0;
  #before = 0;

  /** How long functions run: a running mean in milliseconds, 0 while nothing is known. */
  get serviceMs(): number {
    return this.#serviceMs;
  }

  /** How many calls to let pass untimed until the next. */
  get gap(): number {
    if (this.all || this.#timed < FIRST) return 0;
    return Math.min(MOST_GAP, Math.floor(TIMED_EVERY_MS / this.#serviceMs));
  }

  /**
   * @param waitMs from the call to the function's begin
   * @param runMs from there to its end
   */
  add(waitMs: number, runMs: number): void {
    const weight = this.gap + 1;
    this.#wait.add(waitMs, weight);
    this.#run.add(runMs, weight);
    if (this.#timed++ < FIRST) {
      this.#serviceMs = this.#serviceMs === 0 ? runMs : Math.min(this.#serviceMs, runMs);
    } else {
      // Of three in a row the one in the middle: a call that was held up by a collection of garbage says nothing of others.
      const middle = Math.max(
        Math.min(this.#before, runMs),
        Math.min(this.#last, Math.max(this.#before, runMs)),
      );
      this.#serviceMs += (middle - this.#serviceMs) / 4;
    }
    this.#before = this.#last;
    this.#last = runMs;
  }

  distributions(): { readonly wait: Distribution; readonly run: Distribution } {
    return { wait: this.#wait.distribution(), run: this.#run.distribution() };
  }
}
