import type { Readable } from 'node:stream';

type Step = IteratorResult<Buffer, undefined>;

const DONE: Step = { done: true, value: undefined };

/**
 * A client's messages, read as fast as the lane takes them. Not the stream's own iterator: leaving that would destroy the
 * stream, and with it the way for the answers.
 */
export class Requests implements AsyncIterable<Buffer>, AsyncIterator<Buffer> {
  readonly #call: Readable;
  #waiting: ((step: Step) => void) | null = null;
  #over = false;
  #listens = false;

  constructor(call: Readable) {
    this.#call = call;
  }

  next(): Promise<Step> {
    if (this.#over) return Promise.resolve(DONE);
    this.#listen();
    const message = this.#call.read() as Buffer | null;
    if (message !== null) return Promise.resolve({ done: false, value: message });
    if (this.#call.readableEnded || this.#call.destroyed) return this.return();
    return new Promise(resolve => {
      this.#waiting = resolve;
    });
  }

  return(): Promise<Step> {
    this.#over = true;
    this.#waiting?.(DONE);
    this.#waiting = null;
    if (this.#listens) {
      this.#call.off('readable', this.#onReadable).off('end', this.#onOver).off('close', this.#onOver);
    }
    return Promise.resolve(DONE);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** From the first time that the lane asks: before, nothing is read. */
  #listen(): void {
    if (this.#listens) return;
    this.#listens = true;
    this.#call.on('readable', this.#onReadable).on('end', this.#onOver).on('close', this.#onOver);
  }

  readonly #onReadable = () => {
    const waiting = this.#waiting;
    if (waiting === null) return;
    const message = this.#call.read() as Buffer | null;
    if (message === null) return; // the end; its own event tells
    this.#waiting = null;
    waiting({ done: false, value: message });
  };

  readonly #onOver = () => void this.return();
}
