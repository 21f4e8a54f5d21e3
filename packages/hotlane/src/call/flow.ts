/**
 * A stream's two ends. The sender takes from an iterator while it has credit; the receiver is an iterator, and grants credit
 * as its items are taken. So at most `window` items, or about a mebibyte of them, are on the way, however fast one side is.
 *
 *   Pump: iterator ──item, item, …──▶ Inlet: iterator
 *                  ◀──credit, stop───
 *
 * The pump says when it has to wait, since it may have to before `window` items are out, when they are large: the
 * inlet then grants as soon as half of what it has is taken.
 */
import { Deque } from './deque.ts';

export const DEFAULT_WINDOW = 1_024;
/** No more than this many bytes of items are on the way, unless two items are larger. */
const MOST_BYTES = 1024 * 1024;
const LEAST_ITEMS = 2;
/** After so long of items without a pause, in milliseconds, other events of the loop get a turn. */
const LONGEST_RUN_MS = 5;
/** How many items pass between two looks at the clock. */
const UNTIMED = 64;

/** Where a pump puts its items. */
export interface PumpTarget {
  /** @returns how many bytes it takes. @throws when it cannot be sent */
  item(value: unknown): number;
  paused(): void;
}

export interface PumpPlatform {
  now(): number;
  /** Calls back after other events of the loop had their turn. */
  turn(next: () => void): void;
}

type AnyIterator = Iterator<unknown, unknown, undefined> | AsyncIterator<unknown, unknown, undefined>;

/** The sending end. */
export class Pump {
  readonly #iterator: AnyIterator;
  readonly #target: PumpTarget;
  readonly #platform: PumpPlatform;
  readonly #window: number;
  /** Items sent and not granted anew. */
  #out = 0;
  /** How many may be out, given how large they are. */
  #mostOut: number;
  #itemBytes = 0;
  #stopped = false;
  #wake: (() => void) | null = null;

  /**
   * @param credit how many items may be sent before the first grant
   * @param window how many may be on the way at the most
   */
  constructor(
    iterator: AnyIterator,
    target: PumpTarget,
    platform: PumpPlatform,
    credit: number,
    window: number,
  ) {
    this.#iterator = iterator;
    this.#target = target;
    this.#platform = platform;
    this.#window = this.#mostOut = window;
    this.#out = window - credit;
  }

  /** Sends all items. @returns what the iterator returned. @throws what it threw, or why an item cannot be sent */
  async run(): Promise<unknown> {
    let since = this.#platform.now();
    for (let sent = 1; ; sent++) {
      if (this.#out >= this.#mostOut && !this.#stopped) {
        this.#target.paused();
        await this.#granted();
        since = this.#platform.now();
      } else if (sent % UNTIMED === 0 && this.#platform.now() - since > LONGEST_RUN_MS) {
        await new Promise<void>(resolve => this.#platform.turn(resolve));
        since = this.#platform.now();
      }
      if (this.#stopped) return await this.#return();
      const step = this.#iterator.next();
      const { done, value } = isThenable(step) ? await step : step;
      if (done) return value;
      if (this.#stopped) return await this.#return();
      try {
        this.#learn(this.#target.item(value));
      } catch (error) {
        await this.#return();
        throw error;
      }
      this.#out++;
    }
  }

  grant(items: number): void {
    this.#out -= items;
    if (this.#out < this.#mostOut) this.#resume();
    // Items have become larger meanwhile: fewer may be out than this grant was for, so it waits for another.
    else if (this.#wake !== null) this.#target.paused();
  }

  /** No more items are wanted: lets the iterator clean up. */
  stop(): void {
    this.#stopped = true;
    this.#resume();
  }

  async #return(): Promise<unknown> {
    return (await this.#iterator.return?.())?.value;
  }

  #granted(): Promise<void> {
    return new Promise(resolve => {
      this.#wake = resolve;
    });
  }

  #resume(): void {
    const wake = this.#wake;
    this.#wake = null;
    wake?.();
  }

  #learn(bytes: number): void {
    // Large ones count at once, and are forgotten slowly.
    this.#itemBytes = Math.max(bytes, this.#itemBytes * 0.99);
    this.#mostOut = Math.min(this.#window, Math.max(LEAST_ITEMS, Math.floor(MOST_BYTES / this.#itemBytes)));
  }
}

/** What an inlet tells the other end. */
export interface InletSource {
  /** So many items were taken. */
  credit(items: number): void;
  /** No more items are wanted. @returns when the other end has cleaned up; it may throw what that threw */
  stop(): Promise<void>;
}

interface Waiting {
  readonly resolve: (step: IteratorResult<unknown>) => void;
  readonly reject: (reason: unknown) => void;
}

const DONE: IteratorResult<unknown> = Object.freeze({ done: true, value: undefined });

/** The receiving end: an iterator over the items as they arrive. */
export class Inlet implements AsyncIterableIterator<unknown> {
  readonly #source: InletSource;
  readonly #window: number;
  readonly #items = new Deque<{ readonly value: unknown }>();
  readonly #waiting = new Deque<Waiting>();
  #taken = 0;
  /** With no more items than this left, it grants credit; −1 while the other end does not wait for any. */
  #grantAt = -1;
  #begun: boolean;
  #over: 'no' | 'ended' | 'failed' | 'stopped' = 'no';
  #error: unknown;

  /** @param begun whether the other end has credit from the start; else it is granted at the first `next()` */
  constructor(source: InletSource, window: number, begun: boolean) {
    this.#source = source;
    this.#window = window;
    this.#begun = begun;
  }

  // ---- from the other end -------------------------------------------------------------------------------

  push(value: unknown): void {
    if (this.#over !== 'no') return;
    const waiting = this.#waiting.shift();
    if (waiting === undefined) this.#items.push({ value });
    else {
      waiting.resolve({ done: false, value });
      this.#onTaken();
    }
  }

  /** The other end waits for credit. */
  onPaused(): void {
    this.#grantAt = this.#items.length >> 1;
    if (this.#items.length <= this.#grantAt) this.#grant();
  }

  end(): void {
    if (this.#over !== 'no') return;
    this.#over = 'ended';
    this.#letAllGo();
  }

  /** Thrown after the items that have arrived. */
  fail(error: unknown): void {
    if (this.#over !== 'no') return;
    this.#over = 'failed';
    this.#error = error;
    this.#letAllGo();
  }

  /** Forgets the items that nobody has taken: what comes next is told at once. */
  drop(): void {
    while (this.#items.length > 0) this.#items.shift();
  }

  // ---- for who iterates ---------------------------------------------------------------------------------

  next(): Promise<IteratorResult<unknown>> {
    const item = this.#items.shift();
    if (item !== undefined) {
      this.#onTaken();
      return Promise.resolve({ done: false, value: item.value });
    }
    if (this.#over === 'failed') {
      this.#over = 'ended'; // once, as generators do
      return Promise.reject(this.#error);
    }
    if (this.#over !== 'no') return Promise.resolve(DONE);
    if (!this.#begun) {
      this.#begun = true;
      this.#source.credit(this.#window);
    }
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
  }

  async return(value?: unknown): Promise<IteratorResult<unknown>> {
    const unfinished = this.#over === 'no';
    this.drop();
    this.#over = 'stopped';
    this.#letAllGo();
    if (unfinished) await this.#source.stop();
    return { done: true, value };
  }

  async throw(error: unknown): Promise<IteratorResult<unknown>> {
    await this.return();
    throw error;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #onTaken(): void {
    this.#taken++;
    const due = this.#grantAt >= 0 ? this.#items.length <= this.#grantAt : this.#taken >= this.#window >> 1;
    if (due && this.#over === 'no') this.#grant();
  }

  #grant(): void {
    if (this.#taken === 0) return; // nothing was taken: the next that is will come here
    const taken = this.#taken;
    this.#taken = 0;
    this.#grantAt = -1;
    this.#source.credit(taken);
  }

  #letAllGo(): void {
    for (let one = this.#waiting.shift(); one !== undefined; one = this.#waiting.shift()) {
      if (this.#over === 'failed') {
        this.#over = 'ended';
        one.reject(this.#error);
      } else one.resolve(DONE);
    }
  }
}

/** The iterator of what can be iterated; undefined for what cannot, texts included: nobody means their letters. */
export function iteratorOf(value: unknown): AnyIterator | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const all = value as Partial<AsyncIterable<unknown> & Iterable<unknown>>;
  return (all[Symbol.asyncIterator]?.() ?? all[Symbol.iterator]?.()) as AnyIterator | undefined;
}

function isThenable<T>(value: T | Promise<T>): value is Promise<T> {
  return typeof (value as Promise<T> | undefined)?.then === 'function';
}
