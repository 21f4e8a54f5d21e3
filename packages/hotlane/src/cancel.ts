import type { Call } from './lane/call.ts';

/**
 * Watches signals for the calls that wait on them: one listener per signal, however many calls share it.
 */
export class Signals {
  readonly #watched = new Map<AbortSignal, { calls: Set<Call>; listener: () => void }>();
  readonly #onAbort: (call: Call, reason: unknown) => void;

  constructor(onAbort: (call: Call, reason: unknown) => void) {
    this.#onAbort = onAbort;
  }

  watch(signal: AbortSignal, call: Call): void {
    let entry = this.#watched.get(signal);
    if (entry === undefined) {
      const calls = new Set<Call>();
      const listener = () => {
        this.#watched.delete(signal);
        for (const cancelled of calls) this.#onAbort(cancelled, signal.reason);
      };
      signal.addEventListener('abort', listener, { once: true });
      entry = { calls, listener };
      this.#watched.set(signal, entry);
    }
    entry.calls.add(call);
  }

  forget(signal: AbortSignal, call: Call): void {
    const entry = this.#watched.get(signal);
    if (entry === undefined) return;
    entry.calls.delete(call);
    if (entry.calls.size === 0) {
      signal.removeEventListener('abort', entry.listener);
      this.#watched.delete(signal);
    }
  }
}
