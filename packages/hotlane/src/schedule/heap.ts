/** A binary heap: whatever goes before all others is on top. Things that go before each other neither way have no order. */
export class Heap<T> {
  readonly #items: T[] = [];
  readonly #before: (a: T, b: T) => boolean;

  constructor(before: (a: T, b: T) => boolean) {
    this.#before = before;
  }

  get length(): number {
    return this.#items.length;
  }

  push(item: T): void {
    this.#items.push(item);
    this.#rise(item, this.#items.length - 1);
  }

  peek(): T | undefined {
    return this.#items[0];
  }

  pop(): T | undefined {
    const items = this.#items;
    const top = items[0];
    const last = items.pop();
    if (items.length > 0) this.#sink(last!, 0);
    return top;
  }

  /** Keeps only what `keep` says. */
  filter(keep: (item: T) => boolean): void {
    const items = this.#items;
    let kept = 0;
    for (const item of items) if (keep(item)) items[kept++] = item;
    items.length = kept;
    for (let at = (kept >> 1) - 1; at >= 0; at--) this.#sink(items[at], at);
  }

  #rise(item: T, at: number): void {
    const items = this.#items;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!this.#before(item, items[parent])) break;
      items[at] = items[parent];
      at = parent;
    }
    items[at] = item;
  }

  #sink(item: T, at: number): void {
    const items = this.#items;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= items.length) break;
      if (child + 1 < items.length && this.#before(items[child + 1], items[child])) child++;
      if (!this.#before(items[child], item)) break;
      items[at] = items[child];
      at = child;
    }
    items[at] = item;
  }
}
