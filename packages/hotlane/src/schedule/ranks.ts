import { type Call, MS_PER_STEP, type Rank } from '../lane/call.ts';

/** Ranks for the calls of one pool, from its first priority on. */
export class Ranks {
  readonly #since: number;
  #newest = 0;
  #oldest = 0;

  /** @param since when the first call with a priority was made */
  constructor(since: number) {
    this.#since = since;
  }

  /** The rank of a call that is made now. */
  ofNew(call: Call, now: number): Rank {
    return { at: now - call.priority * MS_PER_STEP, order: this.#newest++ };
  }

  /**
   * Gives ranks to those of the calls, which are in order, that are from before there were ranks. They go before all
   * equals that have one. Not all of them know when they were made; the others are taken to be as young as can be, so
   * that none of them holds up an urgent call for a time that it may not have waited.
   */
  rankOld(calls: readonly Call[]): void {
    let latest = this.#since;
    for (let i = calls.length - 1; i >= 0; i--) {
      const call = calls[i];
      if (call.rank !== null) continue;
      latest = Math.min(latest, call.times?.queuedAt ?? latest);
      call.rank = { at: latest, order: --this.#oldest };
    }
  }
}
