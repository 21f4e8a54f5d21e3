/** A call as the lane that runs it knows it, from its start to its answer. */
export class Invocation {
  /** Which call this is, in terms of whoever handed it over. */
  readonly ticket: number;
  /** When its time is up, on the pool's clock in milliseconds; 0 for never. */
  readonly deadlineAt: number;
  readonly #host: InvocationHost;
  #controller: AbortController | null = null;
  #aborted = false;
  /** It was told by `aborted()` that its time is up: what it returns then is not what was asked for. */
  overdue = false;
  /** What it says while it runs; null for most. */
  talk: { stop(): void } | null = null;
  /** It has answered; its ticket may be another's from now on. */
  ended = false;
  #reason: unknown;

  constructor(ticket: number, deadlineAt: number, host: InvocationHost) {
    this.ticket = ticket;
    this.deadlineAt = deadlineAt;
    this.#host = host;
  }

  get laneId(): number {
    return this.#host.laneId;
  }

  /** Whether the call was cancelled or its time is up. Looks beyond the event loop, so that loops can ask. */
  aborted(): boolean {
    if (this.ended) return this.#aborted;
    if (this.deadlineAt > 0 && this.#host.now() >= this.deadlineAt) this.overdue = true;
    return this.overdue || this.#aborted || this.#host.cancelled(this.ticket);
  }

  /** Made when first asked for: most functions never look. */
  get signal(): AbortSignal {
    if (this.#controller === null) {
      this.#controller = new AbortController();
      if (this.#aborted) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  abort(reason: unknown): void {
    if (this.#aborted) return;
    this.#aborted = true;
    this.#reason = reason;
    this.#controller?.abort(reason);
    this.talk?.stop();
  }
}

/** What an invocation asks of its lane. */
export interface InvocationHost {
  readonly laneId: number;
  now(): number;
  /** Whether the host has cancelled this call, seen without an event loop. */
  cancelled(ticket: number): boolean;
}
