/**
 * Cancels one call of the pool. Of an AbortSignal it has what pools use, and costs a hundredth: there is one for each
 * request, and hardly one of them fires.
 */
export class CallSignal {
  aborted = false;
  reason: unknown;
  #listener: (() => void) | null = null;

  addEventListener(_: 'abort', listener: () => void): void {
    this.#listener = listener;
  }

  removeEventListener(): void {
    this.#listener = null;
  }

  abort(reason: unknown): void {
    if (this.aborted) return;
    this.aborted = true;
    this.reason = reason;
    this.#listener?.();
  }
}
