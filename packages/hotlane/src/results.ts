import type { Inlet } from './call/flow.ts';

/**
 * A stream of results as its reader holds it. Only the reader does, so that the pool is told when it is forgotten: what is
 * behind it is held by the call as well.
 */
export class Results implements AsyncIterableIterator<unknown> {
  readonly #inlet: Inlet;

  constructor(inlet: Inlet) {
    this.#inlet = inlet;
  }

  next(): Promise<IteratorResult<unknown>> {
    return this.#inlet.next();
  }

  /** Lets the function clean up. @returns when it has. @throws what it throws meanwhile */
  return(value?: unknown): Promise<IteratorResult<unknown>> {
    return this.#inlet.return(value);
  }

  throw(error: unknown): Promise<IteratorResult<unknown>> {
    return this.#inlet.throw(error);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#inlet.return();
  }
}
