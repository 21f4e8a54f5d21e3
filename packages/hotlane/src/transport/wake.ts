import {
  atomicAdd,
  atomicAnd,
  atomicCompareExchange,
  atomicLoad,
  atomicNotify,
  atomicOr,
  atomicWaitAsync,
  whenSettled,
} from '../call/intrinsics.ts';
import { AWAKE, BELL, BLOCKED, HOST_ASLEEP, type Layout } from './layout.ts';

/**
 * Waking. Who sleeps in its event loop waits with `Atomics.waitAsync` on a word of its own; who has news for it
 * takes back its sign of sleeping and rings. The rules that make this free of lost wakes:
 *
 *   sleeper:  set the sign (sequentially consistent), then look for work once more, then wait
 *   waker:    publish the work (sequentially consistent), then look for signs
 *
 * Whichever came first in the one order of all such accesses, either the sleeper sees the work or the waker
 * sees the sign. Taking the sign back is an atomic read-modify-write, so one waker rings, once.
 */
export class Sleeper {
  readonly #words: Int32Array;
  readonly #at: number;
  readonly #onRing: () => void;
  #waiting = false;

  constructor(words: Int32Array, at: number, onRing: () => void) {
    this.#words = words;
    this.#at = at;
    this.#onRing = onRing;
  }

  /** A waiter is there for the next ring. */
  get waiting(): boolean {
    return this.#waiting;
  }

  /**
   * Waits for a ring, if the word is still as expected; false when it no longer is.
   * A waiter left from an earlier sleep serves again, so there is never more than one.
   *
   * @param expected left out: whatever the word is now. Then rings count from now on, and to look for work is still to come.
   */
  sleep(expected: number = atomicLoad(this.#words, this.#at)): boolean {
    if (this.#waiting) return true;
    const wait = atomicWaitAsync(this.#words, this.#at, expected);
    if (!wait.async) return false;
    this.#waiting = true;
    whenSettled(wait.value, () => {
      this.#waiting = false;
      this.#onRing();
    });
    return true;
  }
}

/**
 * Rings the host if it sleeps, or is blocked. To be called after a reply was shown: the rule above, with the host as the
 * sleeper. Whoever takes its sign back rings, so it is rung once.
 */
export function ringHost(control: Int32Array): void {
  const sign = atomicLoad(control, HOST_ASLEEP);
  if (sign !== AWAKE && atomicCompareExchange(control, HOST_ASLEEP, sign, AWAKE) === sign) {
    atomicNotify(control, HOST_ASLEEP);
  }
}

/** The same after a message was posted: a host that sleeps in its event loop hears of that by itself. */
export function ringBlockedHost(control: Int32Array): void {
  if (atomicLoad(control, HOST_ASLEEP) === BLOCKED) ringHost(control);
}

/** The signs and bells of all seats. */
export class Bells {
  readonly #control: Int32Array;
  readonly #layout: Layout;

  constructor(control: Int32Array, layout: Layout) {
    this.#control = control;
    this.#layout = layout;
  }

  /**
   * Wakes up to `count` sleeping lanes, lowest seat first, so that seats nobody needs can linger out. A lane with
   * calls that wait for something may be running one of them just now, whatever its sign says: such lanes are rung
   * only when no others sleep, and then all of them, since one that is busy would keep the call waiting.
   *
   * @returns whether any was woken
   */
  wake(count: number): boolean {
    const { asleep, waiting, maskWords } = this.#layout;
    const wanted = count;
    let doubtful = 0;
    for (let word = 0; word < maskWords && count > 0; word++) {
      // Ordered after the caller's publication; see the rule above.
      const signs = atomicLoad(this.#control, asleep + word);
      // A lane sets this before its sign of sleeping, so it is seen with the sign.
      const unsure = signs & atomicLoad(this.#control, waiting + word);
      doubtful |= unsure;
      count -= this.#wakeIn(word, signs & ~unsure, count);
    }
    if (count <= 0 || doubtful === 0) return count < wanted;
    for (let word = 0; word < maskWords; word++) {
      const signs = atomicLoad(this.#control, asleep + word) & atomicLoad(this.#control, waiting + word);
      count -= this.#wakeIn(word, signs, 32);
    }
    return count < wanted;
  }

  #wakeIn(word: number, signs: number, most: number): number {
    let woken = 0;
    while (signs !== 0 && woken < most) {
      const bit = signs & -signs;
      signs &= ~bit;
      if (this.#take(word, bit)) {
        this.#ring((word << 5) + (31 - Math.clz32(bit)));
        woken++;
      }
    }
    return woken;
  }

  /** Wakes one seat's lane if it sleeps. */
  wakeSeat(seat: number): void {
    const word = seat >> 5;
    const bit = 1 << (seat & 31);
    if ((atomicLoad(this.#control, this.#layout.asleep + word) & bit) !== 0 && this.#take(word, bit))
      this.#ring(seat);
  }

  /** How many lanes are awake, free and looking for work. */
  spinning(): number {
    const { spinning, maskWords } = this.#layout;
    let count = 0;
    for (let word = 0; word < maskWords; word++)
      count += bitCount(atomicLoad(this.#control, spinning + word));
    return count;
  }

  /**
   * How many lanes are awake. A hint, for deciding whether a core is free to wait on; a wrong one costs time, not
   * correctness, so nothing is ordered by it.
   */
  awake(): number {
    const { up, asleep, maskWords } = this.#layout;
    let count = 0;
    for (let word = 0; word < maskWords; word++) {
      count += bitCount(this.#control[up + word] & ~this.#control[asleep + word]);
    }
    return count;
  }

  /** A lane is up on this seat. */
  setUp(seat: number): void {
    atomicOr(this.#control, this.#layout.up + (seat >> 5), 1 << (seat & 31));
  }

  /** Clears what a lane that is gone left behind, so that its seat is neither rung nor counted. */
  clear(seat: number): void {
    const word = seat >> 5;
    const bit = 1 << (seat & 31);
    const { up, asleep, waiting, spinning } = this.#layout;
    for (const mask of [up, asleep, waiting, spinning]) {
      atomicAnd(this.#control, mask + word, ~bit);
    }
  }

  #take(word: number, bit: number): boolean {
    return (atomicAnd(this.#control, this.#layout.asleep + word, ~bit) & bit) !== 0;
  }

  #ring(seat: number): void {
    const at = this.#layout.seat(seat) + BELL;
    // Changed before the notification, so that a lane which is just about to wait sees that it was rung.
    atomicAdd(this.#control, at, 1);
    atomicNotify(this.#control, at);
  }
}

function bitCount(bits: number): number {
  let count = 0;
  for (; bits !== 0; bits &= bits - 1) count++;
  return count;
}
