/**
 * Does what comes up in one turn of the event loop together, at the end of that turn. A server reads the requests of several
 * calls at once and has an event for each: handed over one by one, each would wake a lane.
 */
export class Turn {
  #waiting: (() => void)[] = [];
  readonly #flush = () => this.flush();

  add(run: () => void): void {
    if (this.#waiting.push(run) === 1) setImmediate(this.#flush);
  }

  /** Does it now. */
  flush(): void {
    const waiting = this.#waiting;
    if (waiting.length === 0) return;
    this.#waiting = [];
    for (const run of waiting) run();
  }
}
