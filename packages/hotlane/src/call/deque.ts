/**
 * A queue that can also be filled at the front: a ring that doubles.
 *
 *     items:  [ c d . . . . a b ]      head = 6, length = 4
 */
export class Deque<T> {
  #items: (T | undefined)[] = new Array(16).fill(undefined);
  #mask = 15;
  #head = 0;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  push(item: T): void {
    if (this.#length > this.#mask) this.#double();
    this.#items[(this.#head + this.#length++) & this.#mask] = item;
  }

  unshift(item: T): void {
    if (this.#length > this.#mask) this.#double();
    this.#head = (this.#head - 1) & this.#mask;
    this.#items[this.#head] = item;
    this.#length++;
  }

  shift(): T | undefined {
    if (this.#length === 0) return undefined;
    const item = this.#items[this.#head];
    this.#items[this.#head] = undefined;
    this.#head = (this.#head + 1) & this.#mask;
    this.#length--;
    return item;
  }

  peek(): T | undefined {
    return this.#items[this.#head];
  }

  /** Keeps only what `keep` says, in the same order. */
  filter(keep: (item: T) => boolean): void {
    const kept: T[] = [];
    for (let item = this.shift(); item !== undefined; item = this.shift()) if (keep(item)) kept.push(item);
    for (const item of kept) this.push(item);
  }

  #double(): void {
    const { length } = this.#items;
    const items = new Array(2 * length).fill(undefined);
    for (let i = 0; i < length; i++) items[i] = this.#items[(this.#head + i) & this.#mask];
    this.#items = items;
    this.#head = 0;
    this.#mask = 2 * length - 1;
  }
}
