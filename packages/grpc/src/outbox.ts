import type { LaneCall } from './lane-call.ts';
import type { Ending, Item } from './wire.ts';

const DONE: IteratorResult<Item> = { done: true, value: undefined };

/**
 * Where the answers of a streaming call wait until the host takes them: its pace is the writer's. Handed to the pool as what
 * the lane's function returns.
 */
export class Outbox implements AsyncIterableIterator<Item> {
  readonly #call: LaneCall;
  /** Headers, a message, metrics, an ending: few at a time, since writers wait for `onTaken`. */
  readonly #items: { readonly item: Item; readonly onTaken: (() => void) | null }[] = [];
  #waiting: ((step: IteratorResult<Item>) => void) | null = null;
  /** Nothing more can be put. */
  ended = false;

  constructor(call: LaneCall) {
    this.#call = call;
    call.onHeaders = () => this.#add({ headers: call.headers! }, null);
  }

  /** @param onTaken the next may come. Not called when nobody wants it any more */
  put(message: Buffer, onTaken: () => void): void {
    this.#call.closeHeaders();
    this.#add(message, onTaken);
  }

  end(ending: Ending): void {
    if (this.ended) return;
    const { metrics } = this.#call;
    if (metrics !== null) this.#add({ metrics }, null);
    this.#add(ending, null);
    this.ended = true;
    this.#call.end();
  }

  /** Ends without an ending: nobody waits for one. */
  close(): void {
    this.ended = true;
    this.#items.length = 0;
    this.#waiting?.(DONE);
    this.#waiting = null;
  }

  #add(item: Item, onTaken: (() => void) | null): void {
    if (this.ended) return;
    const waiting = this.#waiting;
    if (waiting === null) {
      this.#items.push({ item, onTaken });
      return;
    }
    this.#waiting = null;
    waiting({ done: false, value: item });
    onTaken?.();
  }

  next(): Promise<IteratorResult<Item>> {
    const first = this.#items.shift();
    if (first !== undefined) {
      first.onTaken?.();
      return Promise.resolve({ done: false, value: first.item });
    }
    if (this.ended) return Promise.resolve(DONE);
    return new Promise(resolve => {
      this.#waiting = resolve;
    });
  }

  /** The host reads no further. */
  return(): Promise<IteratorResult<Item>> {
    if (!this.ended) this.#call.cancel();
    this.close();
    return Promise.resolve(DONE);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}
