/** What an origin has shown of how it deals with pipelines. */
export type TrustState = 'unknown' | 'proven' | 'broken';

/** What is kept of an origin's trust, ready for JSON. */
export interface TrustRecord {
  readonly state: TrustState;
  /** How many requests may be on one connection at once. */
  readonly depth: number;
  /** How often pipelines were found broken; it fades as they work. */
  readonly strikes: number;
  /** Until when there are none because of that, in milliseconds since 1970; 0 where that is over. */
  readonly brokenUntil: number;
  /** After how many responses the origin was seen to announce that it closes the connection; 0 where it was not. */
  readonly closesAfter: number;
}

/** How deep the one pipeline is with which an origin is tried. */
export const TRIAL_DEPTH = 2;
/** How deep pipelines are at first where they have been seen to work. */
const FIRST_DEPTH = 4;
/** For how long there are none after the first strike, in milliseconds; twice as long after each further one. */
const FIRST_BREAK_MS = 5_000;
const LONGEST_BREAK_MS = 600_000;
/** So many pipelined responses in a row make up for a strike. */
const FADES_AFTER = 256;

/**
 * How far an origin, with all that stands on the way to it, is trusted with pipelines.
 *
 *              a pipelined response was right
 *   unknown ───────────────────────────────────▶ proven   deeper with each that follows
 *    ▲   │                                         │
 *    │   └── broken off, or answers that cannot ───┤
 *    │       belong to what was asked              ▼
 *    └────────────── time ────────────────────── broken   none; longer each time
 */
export class Trust {
  #state: TrustState = 'unknown';
  #depth = FIRST_DEPTH;
  #strikes = 0;
  #brokenUntil = 0;
  #successes = 0;
  /** After how many responses the origin announces that it closes the connection; Infinity where it does not. */
  closesAfter = Number.POSITIVE_INFINITY;
  readonly #deepest: number;
  readonly #onChange: (state: TrustState, why: string) => void;

  /**
   * @param deepest how many requests may be on one connection however well that goes
   * @param onChange is told of each change of state
   */
  constructor(deepest: number, onChange: (state: TrustState, why: string) => void) {
    this.#deepest = deepest;
    this.#onChange = onChange;
  }

  /** @param now in milliseconds since 1970 */
  state(now: number): TrustState {
    if (this.#state !== 'broken') return this.#state;
    const leftMs = this.#brokenUntil - now;
    // Longer than any break: the time was given by a clock that is not this one, or is no longer.
    if (leftMs <= 0 || leftMs > LONGEST_BREAK_MS) this.#move('unknown', 'some time has passed');
    return this.#state;
  }

  /** How many requests may be on a connection at once. On one only, as long as nothing is known. */
  depth(isTrial: boolean, now: number): number {
    const state = this.state(now);
    if (state === 'broken' || this.closesAfter === 1) return 1;
    if (state === 'unknown') return isTrial ? Math.min(TRIAL_DEPTH, this.#deepest) : 1;
    return Math.min(this.#depth, this.#deepest);
  }

  /** A response came right that was asked for while another was still to come. */
  onPipelined(): void {
    if (this.#state === 'unknown') this.#move('proven', 'a pipelined request was answered');
    else if (this.#state === 'proven' && this.#depth < this.#deepest) this.#depth++;
    if (++this.#successes < FADES_AFTER) return;
    this.#successes = 0;
    this.#strikes = Math.max(0, this.#strikes - 1);
  }

  /** Pipelines do not work. */
  onBroken(why: string, now: number): void {
    const breakMs = Math.min(LONGEST_BREAK_MS, FIRST_BREAK_MS * 2 ** this.#strikes);
    this.#brokenUntil = now + breakMs;
    this.#depth = FIRST_DEPTH;
    this.#successes = 0;
    if (this.#state === 'broken') return; // one more of those that were on the way
    this.#strikes++;
    this.#move('broken', why);
  }

  /** A response has made those behind it wait for very long. */
  onSlow(): void {
    this.#depth = Math.max(TRIAL_DEPTH, this.#depth >> 1);
  }

  /** The origin has announced that it closes a connection after so many responses, or has answered more than it did before. */
  onAnswered(responses: number, announced: boolean): void {
    if (announced) this.closesAfter = responses;
    else if (responses >= this.closesAfter) this.closesAfter = Number.POSITIVE_INFINITY;
  }

  export(now: number): TrustRecord {
    const state = this.state(now);
    return {
      state,
      depth: this.depth(true, now),
      strikes: this.#strikes,
      brokenUntil: state === 'broken' ? this.#brokenUntil : 0,
      closesAfter: this.closesAfter === Number.POSITIVE_INFINITY ? 0 : this.closesAfter,
    };
  }

  import(record: TrustRecord): void {
    this.#state = record.state;
    this.#depth = Math.max(FIRST_DEPTH, record.depth);
    this.#strikes = record.strikes;
    this.#brokenUntil = record.brokenUntil;
    this.closesAfter = record.closesAfter || Number.POSITIVE_INFINITY;
  }

  #move(state: TrustState, why: string): void {
    this.#state = state;
    this.#onChange(state, why);
  }
}
