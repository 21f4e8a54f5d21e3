import { atomicCompareExchange, atomicLoad, atomicStore } from '../call/intrinsics.ts';

/**
 * One number of busy threads for all pools of a process, those in lanes included: a pool may always have its least
 * number of lanes, and one; to start another it asks whether so many threads are busy already.
 *
 *   words:  LIMIT │ USED │ a cell for each lane: 0 when nobody has it, else TAKEN | BUSY | owner << 2
 *
 * LIMIT   how many threads may be busy: the cores, or the most lanes that any pool was told to have
 * USED    how many cells, from the first, were ever taken
 * owner   the cell of the lane whose pool this lane belongs to, counted from 1; 0 for pools of the main thread. When
 *         a thread ends, the threads that it started end with it, and their cells are freed with its own
 *
 * A lane marks its own cell when it wakes and before it sleeps, so a lane that only waits, idle or for what its
 * function awaits, counts for nothing. All this only decides whether a thread is started: a count that is a moment old
 * does no harm, and nothing else is ordered by it.
 */
const LIMIT = 0;
const USED = 1;
const CELLS = 2;
const TAKEN = 1;
const BUSY = 2;
const OWNER_SHIFT = 2;

/** Lanes beyond so many are not counted. */
const MOST_CELLS = 4_096;
export const BUDGET_BYTES = (CELLS + MOST_CELLS) * 4;
/** A lane that found no cell, or is not counted. */
export const NO_CELL = -1;

export class Budget {
  /** To be given to lanes, so that their pools share it. */
  readonly buffer: SharedArrayBuffer;
  readonly #words: Int32Array;
  readonly #owner: number;

  /** @param owner the cell of the lane that this thread is; `NO_CELL` on the main thread */
  constructor(buffer: SharedArrayBuffer, owner: number) {
    this.buffer = buffer;
    this.#words = new Int32Array(buffer);
    this.#owner = owner;
  }

  /** A pool may have so many lanes: as many may be busy at the least. */
  allow(lanes: number): void {
    for (;;) {
      const limit = atomicLoad(this.#words, LIMIT);
      if (lanes <= limit || atomicCompareExchange(this.#words, LIMIT, limit, lanes) === limit) return;
    }
  }

  /** Whether one more thread may be busy. */
  hasRoom(): boolean {
    const used = atomicLoad(this.#words, USED);
    let busy = 0;
    for (let cell = 0; cell < used; cell++) {
      if ((atomicLoad(this.#words, CELLS + cell) & BUSY) !== 0) busy++;
    }
    return busy < atomicLoad(this.#words, LIMIT);
  }

  /** Takes a cell for a lane, as busy: it starts. `NO_CELL` when there is none. */
  take(): number {
    const taken = TAKEN | BUSY | ((this.#owner + 1) << OWNER_SHIFT);
    for (let cell = 0; cell < MOST_CELLS; cell++) {
      // Two threads may want the same one: one compare-and-swap wins.
      if (atomicCompareExchange(this.#words, CELLS + cell, 0, taken) !== 0) continue;
      this.#raiseUsed(cell + 1);
      return cell;
    }
    return NO_CELL;
  }

  /** Frees the cell of a lane that is gone, and those of the lanes that it had itself. */
  free(cell: number): void {
    if (cell === NO_CELL) return;
    atomicStore(this.#words, CELLS + cell, 0);
    const used = atomicLoad(this.#words, USED);
    for (let other = 0; other < used; other++) {
      if (atomicLoad(this.#words, CELLS + other) >>> OWNER_SHIFT === cell + 1) this.free(other);
    }
  }

  /** Says, in a lane's thread, whether that lane is busy. */
  mark(busy: boolean): void {
    if (this.#owner === NO_CELL) return;
    const at = CELLS + this.#owner;
    const word = atomicLoad(this.#words, at);
    // Once it is freed it may be another's: then nothing is written.
    if (word !== 0) atomicCompareExchange(this.#words, at, word, busy ? word | BUSY : word & ~BUSY);
  }

  #raiseUsed(used: number): void {
    for (;;) {
      const before = atomicLoad(this.#words, USED);
      if (used <= before || atomicCompareExchange(this.#words, USED, before, used) === before) return;
    }
  }
}
