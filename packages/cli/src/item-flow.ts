import type { Output } from './output.ts';
import type { Entry, Waiting } from './waiting.ts';

/** What a stream may hold while its lines cannot be written. As many again may be on the way from its lane. */
const MOST_ITEMS = 1_024;
const MOST_CHARS = 1024 * 1024;
/** What all of them may hold. */
const MOST_CHARS_TOGETHER = 64 * 1024 * 1024;

/**
 * Says which streams may be read on: those whose items can be written, and the others until they hold enough. A stream
 * that is not read makes its generator wait, so memory does not grow with how much a generator gives.
 */
export class ItemFlow<E extends Entry> {
  readonly #waiting: Waiting<E>;
  readonly #output: Output;
  readonly #paused = new Map<E, () => void>();
  #ended = false;

  constructor(waiting: Waiting<E>, output: Output) {
    this.#waiting = waiting;
    this.#output = output;
  }

  /** @returns when its stream may be read on; undefined: now */
  room(entry: E): Promise<void> | undefined {
    if (this.#hasRoom(entry)) return undefined;
    return new Promise(resolve => this.#paused.set(entry, resolve));
  }

  /** To be called when lines were written, since that makes room. */
  review(): void {
    if (this.#paused.size === 0) return;
    // In order it is only the first that gets room: the others wait for their turn.
    const { first } = this.#waiting;
    if (first !== undefined && !this.#ended) this.#review(first);
    else for (const entry of this.#paused.keys()) this.#review(entry);
  }

  /** Nobody waits from now on. */
  end(): void {
    this.#ended = true;
    this.review();
  }

  #review(entry: E): void {
    const resume = this.#paused.get(entry);
    if (resume === undefined || !this.#hasRoom(entry)) return;
    this.#paused.delete(entry);
    resume();
  }

  #hasRoom(entry: E): boolean {
    if (this.#ended) return true;
    if (this.#waiting.isDue(entry)) return !this.#output.full;
    return (
      entry.items < MOST_ITEMS && entry.text.length < MOST_CHARS && this.#waiting.chars < MOST_CHARS_TOGETHER
    );
  }
}
