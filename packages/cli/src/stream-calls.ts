import type { Failure } from './json.ts';
import type { LaneResult } from './lane.ts';

/** Where the items of one input go. */
export interface ItemSink {
  /** @param json the item as JSON text */
  add(json: string): void;
  /** @returns when the next may come; undefined: now */
  room(): Promise<void> | undefined;
}

/** How streams end that did not fail. */
export const ENDED: unique symbol = Symbol('ended');
export const GIVEN_UP: unique symbol = Symbol('given up');
export type StreamEnd = typeof ENDED | typeof GIVEN_UP;

type Stream = AsyncIterator<LaneResult>;

/** Calls of generators, read at the pace of whoever takes the items. */
export class StreamCalls {
  readonly #open: (input: string) => Stream;
  readonly #reading = new Set<Stream>();
  #stopped = false;

  /** @param open makes one call; its items are JSON texts, and perhaps a failure as the last one */
  constructor(open: (input: string) => Stream) {
    this.#open = open;
  }

  /** Makes one call and hands its items on. @throws why the call itself failed, after its items */
  async read(input: string, items: ItemSink): Promise<StreamEnd | Failure> {
    const stream = this.#open(input);
    this.#reading.add(stream);
    let end: StreamEnd | Failure = ENDED;
    try {
      while (!this.#stopped) {
        const { done, value } = await stream.next();
        if (this.#stopped) break;
        if (done === true) return end;
        if (typeof value === 'string') items.add(value);
        else end = value;
        const room = items.room();
        if (room !== undefined) await room;
      }
    } catch (error) {
      if (!this.#stopped) throw error;
    } finally {
      this.#reading.delete(stream);
    }
    return GIVEN_UP;
  }

  /** Gives all up. @returns when their generators have run their `finally`, as far as lanes answer */
  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.allSettled([...this.#reading].map(stream => stream.return?.()));
  }
}

/** A stream's end in a word. */
export function statusOf(end: unknown): string {
  if (end === ENDED) return 'done';
  return end === GIVEN_UP ? 'given up' : 'failed';
}
