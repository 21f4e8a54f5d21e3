import type { Call } from './lane/call.ts';

/** The calls that wait on a signal. Nearly always there is one, and a set for it would cost more than the rest. */
class Watched {
  readonly listener: () => void;
  readonly #first: Call;
  #others: Set<Call> | null = null;
  #hasFirst = true;

  constructor(first: Call, listener: () => void) {
    this.#first = first;
    this.listener = listener;
  }

  add(call: Call): void {
    this.#others ??= new Set();
    this.#others.add(call);
  }

  /** @returns whether there is none left */
  delete(call: Call): boolean {
    if (call === this.#first) this.#hasFirst = false;
    else this.#others?.delete(call);
    return !this.#hasFirst && (this.#others === null || this.#others.size === 0);
  }

  *[Symbol.iterator](): Generator<Call> {
    if (this.#hasFirst) yield this.#first;
    if (this.#others !== null) yield* this.#others;
  }
}

/**
 * Watches signals for the calls that wait on them: one listener per signal, however many calls share it.
 */
export class Signals {
  readonly #watched = new Map<AbortSignal, Watched>();
  readonly #onAbort: (call: Call, reason: unknown) => void;

  constructor(onAbort: (call: Call, reason: unknown) => void) {
    this.#onAbort = onAbort;
  }

  watch(signal: AbortSignal, call: Call): void {
    const known = this.#watched.get(signal);
    if (known !== undefined) {
      known.add(call);
      return;
    }
    const watched = new Watched(call, () => {
      this.#watched.delete(signal);
      for (const cancelled of watched) this.#onAbort(cancelled, signal.reason);
    });
    this.#watched.set(signal, watched);
    signal.addEventListener('abort', watched.listener, { once: true });
  }

  forget(signal: AbortSignal, call: Call): void {
    const watched = this.#watched.get(signal);
    if (watched === undefined || !watched.delete(call)) return;
    signal.removeEventListener('abort', watched.listener);
    this.#watched.delete(signal);
  }
}
