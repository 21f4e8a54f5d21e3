import type { Clock } from '../lane/clock.ts';
import type { Random } from './random.ts';

interface Event {
  readonly at: number;
  /** Among events of one moment, chance decides. */
  readonly order: number;
  run: (() => void) | null;
}

/**
 * A clock on which time stands still until `step` goes to the next event. It serves as the pool's clock, and
 * what is simulated plans its own events on it.
 */
export class SimClock implements Clock {
  readonly #random: Random;
  /** A binary heap, the earliest on top. */
  readonly #heap: Event[] = [];
  #now = 1_000;
  #live = 0;

  constructor(random: Random) {
    this.#random = random;
  }

  now(): number {
    return this.#now;
  }

  setTimer(ms: number, onTime: () => void): unknown {
    return ms === Number.POSITIVE_INFINITY ? undefined : this.after(ms, onTime);
  }

  clearTimer(timer: unknown): void {
    const event = timer as Event | null | undefined;
    if (event?.run) {
      event.run = null;
      this.#live--;
    }
  }

  random(): number {
    return this.#random.next();
  }

  /** Plans an event, so many milliseconds from now. */
  after(ms: number, run: () => void): Event {
    const event = { at: this.#now + Math.max(0, ms), order: this.#random.next(), run };
    this.#live++;
    this.#push(event);
    return event;
  }

  /** How many events are planned. */
  get planned(): number {
    return this.#live;
  }

  /** Goes to the next event and runs it; false when none is planned. */
  step(): boolean {
    for (;;) {
      const event = this.#pop();
      if (event === undefined) return false;
      if (event.run === null) continue;
      const { run } = event;
      event.run = null;
      this.#live--;
      this.#now = event.at;
      run();
      return true;
    }
  }

  #push(event: Event): void {
    const heap = this.#heap;
    let at = heap.push(event) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!before(event, heap[parent])) break;
      heap[at] = heap[parent];
      at = parent;
    }
    heap[at] = event;
  }

  #pop(): Event | undefined {
    const heap = this.#heap;
    const top = heap[0];
    const last = heap.pop();
    if (heap.length === 0 || last === undefined) return top;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && before(heap[child + 1], heap[child])) child++;
      if (!before(heap[child], last)) break;
      heap[at] = heap[child];
      at = child;
    }
    heap[at] = last;
    return top;
  }
}

function before(a: Event, b: Event): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order);
}
