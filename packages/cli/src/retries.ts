const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5_000;

/** How long an input rests after so many tries: 100 ms, then twice as long each time, 5 s at most. */
export function pauseMs(attempts: number): number {
  return Math.min(FIRST_PAUSE_MS * 2 ** (attempts - 1), LONGEST_PAUSE_MS);
}

/**
 * What failed and is to be tried again.
 *
 *   failed ──rest()──▶ resting ──its pause is over──▶ due ──next()──▶ tried again
 *                         └─────────── end() ──────────┴────────────▶ failed for good
 *
 * What rests holds no lane, and what is due goes before new inputs: it waited already.
 */
export class Retries<T> {
  onDue: () => void = () => {};
  readonly #most: number;
  readonly #resting = new Map<T, NodeJS.Timeout>();
  #due: T[] = [];
  #ended = false;

  /** @param most tries again of one item */
  constructor(most: number) {
    this.#most = most;
  }

  get hasDue(): boolean {
    return this.#due.length > 0;
  }

  /** @returns false when it has been tried often enough */
  rest(item: T, attempts: number): boolean {
    if (this.#ended || attempts > this.#most) return false;
    const timer = setTimeout(() => {
      this.#resting.delete(item);
      this.#due.push(item);
      this.onDue();
    }, pauseMs(attempts));
    this.#resting.set(item, timer);
    return true;
  }

  next(): T | undefined {
    return this.#due.shift();
  }

  /** Nothing is tried again from now on. @returns what was to be */
  end(): T[] {
    this.#ended = true;
    for (const timer of this.#resting.values()) clearTimeout(timer);
    const items = [...this.#due, ...this.#resting.keys()];
    this.#resting.clear();
    this.#due = [];
    return items;
  }
}
