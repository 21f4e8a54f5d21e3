import type { Clock } from '../lane/clock.ts';
import { Heap } from '../schedule/heap.ts';
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
  readonly #planned = new Heap<Event>(before);
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
    this.#planned.push(event);
    return event;
  }

  /** How many events are planned. */
  get planned(): number {
    return this.#live;
  }

  /** Goes to the next event and runs it; false when none is planned. */
  step(): boolean {
    for (;;) {
      const event = this.#planned.pop();
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
}

function before(a: Event, b: Event): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order);
}
