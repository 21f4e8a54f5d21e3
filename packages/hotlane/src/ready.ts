import { Deque } from './call/deque.ts';
import type { Clock } from './lane/clock.ts';

interface Waiter {
  readonly resolve: () => void;
  readonly reject: (reason: unknown) => void;
  gone: boolean;
}

/**
 * Those who wait until a pool would take a call: see `Pool.ready`. Whoever is let go is taken to make one call, so its
 * place is kept for it until other events had their turn.
 */
export class ReadyLine {
  readonly #places: () => number;
  readonly #clock: Pick<Clock, 'setTimer'>;
  readonly #onLength: () => void;
  readonly #waiters = new Deque<Waiter>();
  /** Places of those who were let go in this turn of the event loop. */
  #kept = 0;

  /**
   * @param places how many calls would be taken now
   * @param onLength `length` has become 0, or is 0 no more
   */
  constructor(places: () => number, clock: Pick<Clock, 'setTimer'>, onLength: () => void) {
    this.#places = places;
    this.#clock = clock;
    this.#onLength = onLength;
  }

  get length(): number {
    return this.#waiters.length;
  }

  wait(signal: AbortSignal | undefined): Promise<void> {
    if (signal?.aborted) return Promise.reject(signal.reason);
    if (this.length === 0 && this.#keepPlace()) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const onAbort = () => {
        waiter.gone = true;
        reject(signal!.reason);
      };
      const waiter: Waiter = {
        resolve: () => {
          signal?.removeEventListener('abort', onAbort);
          resolve();
        },
        reject: reason => {
          signal?.removeEventListener('abort', onAbort);
          reject(reason);
        },
        gone: false,
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      this.#waiters.push(waiter);
      if (this.length === 1) this.#onLength();
    });
  }

  /** Lets go as many as there are places for. */
  review(): void {
    while (this.length > 0) {
      if (!this.#waiters.peek()!.gone && !this.#keepPlace()) return;
      this.#shift()?.resolve();
    }
  }

  /** Lets all go in vain. */
  refuse(error: () => unknown): void {
    while (this.length > 0) this.#shift()?.reject(error());
  }

  #keepPlace(): boolean {
    if (this.#places() <= this.#kept) return false;
    if (this.#kept++ === 0) {
      this.#clock.setTimer(0, () => {
        this.#kept = 0;
        this.review();
      });
    }
    return true;
  }

  #shift(): Waiter | null {
    const waiter = this.#waiters.shift()!;
    if (this.length === 0) this.#onLength();
    return waiter.gone ? null : waiter;
  }
}
