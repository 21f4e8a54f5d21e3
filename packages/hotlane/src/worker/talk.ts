import { DEFAULT_WINDOW, Inlet, iteratorOf, Pump, type PumpPlatform } from '../call/flow.ts';
import {
  CALL,
  CREDIT,
  DROP,
  END,
  FAILED,
  ITEM,
  KIND_CALLBACK,
  KIND_KEPT,
  KIND_KEPT_ONE_WAY,
  KIND_ONE_WAY,
  KIND_READABLE,
  KIND_STREAM,
  PAUSED,
  RETURNED,
  STOP,
  THREW,
} from '../call/talk.ts';
import { HotlaneError, show } from '../errors.ts';

/** @returns how many bytes the value takes. @throws HotlaneError NOT_CLONEABLE, TOO_LARGE */
export type Say = (op: number, id: number, number: number, value: unknown) => number;

/** Calls of callbacks that wait for what they return. */
class Waiting {
  readonly #calls = new Map<
    number,
    { resolve: (value: unknown) => void; reject: (reason: unknown) => void }
  >();
  #last = 0;

  call(say: Say, id: number, args: readonly unknown[]): Promise<unknown> {
    const number = ++this.#last;
    return new Promise((resolve, reject) => {
      say(CALL, id, number, args); // throws for what cannot be sent: so does the promise
      this.#calls.set(number, { resolve, reject });
    });
  }

  settle(number: number, failed: boolean, value: unknown): void {
    const call = this.#calls.get(number);
    this.#calls.delete(number);
    if (failed) call?.reject(value);
    else call?.resolve(value);
  }

  end(reason: () => unknown): void {
    for (const { reject } of this.#calls.values()) reject(reason());
    this.#calls.clear();
  }
}

/** The lane's side of what one call says while it runs: its callbacks, the streams it reads, the stream it makes. */
export class LaneTalk {
  readonly #say: Say;
  readonly #platform: PumpPlatform;
  readonly #kept: KeptCallbacks;
  readonly #waiting = new Waiting();
  readonly #inputs = new Map<number, Inlet>();
  #output: Pump | null = null;
  #stopped = false;
  #ended = false;
  /** How many results may be on the way; 0 when there is one result, which is the answer. */
  readonly #window: number;

  constructor(say: Say, platform: PumpPlatform, kept: KeptCallbacks, window: number) {
    this.#say = say;
    this.#platform = platform;
    this.#kept = kept;
    this.#window = window;
  }

  get streams(): boolean {
    return this.#window > 0;
  }

  /** What stands in the arguments for a callback or a stream. */
  resolve(kind: number, id: number): object {
    switch (kind) {
      case KIND_CALLBACK:
        return (...args: unknown[]) =>
          this.#ended ? Promise.reject(isOver()) : this.#waiting.call(this.#say, id, args);
      case KIND_ONE_WAY:
        return (...args: unknown[]) => {
          if (this.#ended) throw isOver();
          this.#say(CALL, id, 0, args);
        };
      case KIND_KEPT:
      case KIND_KEPT_ONE_WAY:
        return this.#kept.resolve(id, kind === KIND_KEPT_ONE_WAY);
      case KIND_STREAM:
        return this.#openInput(id);
      case KIND_READABLE:
        return readable(this.#openInput(id));
      default:
        throw new HotlaneError('PROTOCOL', `An argument is of kind ${kind}, which this lane does not know.`);
    }
  }

  receive(op: number, id: number, number: number, value: unknown): void {
    switch (op) {
      case RETURNED:
      case THREW:
        this.#waiting.settle(number, op === THREW, value);
        break;
      case ITEM:
        this.#inputs.get(id)?.push(value);
        break;
      case END:
        this.#inputs.get(id)?.end();
        break;
      case FAILED:
        this.#inputs.get(id)?.fail(value);
        break;
      case PAUSED:
        this.#inputs.get(id)?.onPaused();
        break;
      case CREDIT:
        this.#output?.grant(number);
        break;
      case STOP:
        this.stop();
        break;
    }
  }

  /** Sends what a function gives, item by item. @returns what it returns at its end */
  async pump(made: unknown, name: string): Promise<unknown> {
    const iterator = iteratorOf(await made);
    if (iterator === undefined) {
      throw new HotlaneError(
        'NO_FUNCTION',
        `\`${name}\` was called with \`pool.stream\`: expected a generator, or something else that can be iterated, got ${show(await made)}. Call it with \`pool.call\`.`,
      );
    }
    const target = {
      item: (value: unknown) => this.#say(ITEM, 0, 0, value),
      paused: () => void this.#say(PAUSED, 0, 0, undefined),
    };
    this.#output = new Pump(iterator, target, this.#platform, this.#window, this.#window);
    if (this.#stopped) this.#output.stop();
    return await this.#output.run();
  }

  /** No more results are wanted, or the call was cancelled. */
  stop(): void {
    this.#stopped = true;
    this.#output?.stop();
  }

  /** The call has its answer: what is left of it here says nothing more. */
  end(): void {
    this.#ended = true;
    this.#waiting.end(isOver);
    for (const input of this.#inputs.values()) input.fail(isOver());
  }

  #openInput(id: number): Inlet {
    const source = {
      credit: (items: number) => void (this.#ended || this.#say(CREDIT, id, items, undefined)),
      stop: async () => void (this.#ended || this.#say(STOP, id, 0, undefined)),
    };
    const input = new Inlet(source, DEFAULT_WINDOW, false);
    this.#inputs.set(id, input);
    return input;
  }
}

/** Callbacks of the host's that stay good after the calls that brought them. */
export class KeptCallbacks {
  readonly #say: Say;
  readonly #waiting = new Waiting();
  /** By id: what stands for it here, and how often the host has sent it. */
  readonly #known = new Map<number, { readonly ref: WeakRef<object>; times: number }>();
  readonly #registry = new FinalizationRegistry<number>(id => this.#onCollected(id));

  constructor(say: Say) {
    this.#say = say;
  }

  resolve(id: number, oneWay: boolean): object {
    const known = this.#known.get(id);
    const there = known?.ref.deref();
    if (known !== undefined && there !== undefined) {
      known.times++;
      return there;
    }
    const made = oneWay
      ? (...args: unknown[]) => void this.#say(CALL, id, 0, args)
      : (...args: unknown[]) => this.#waiting.call(this.#say, id, args);
    // One that was collected and not told yet is told with this one.
    this.#known.set(id, { ref: new WeakRef(made), times: 1 + (known?.times ?? 0) });
    this.#registry.register(made, id);
    return made;
  }

  receive(op: number, number: number, value: unknown): void {
    this.#waiting.settle(number, op === THREW, value);
  }

  #onCollected(id: number): void {
    const known = this.#known.get(id);
    if (known === undefined || known.ref.deref() !== undefined) return; // another stands for it by now
    this.#known.delete(id);
    this.#say(DROP, id, known.times, undefined);
  }
}

function isOver(): HotlaneError {
  return new HotlaneError(
    'CLOSED',
    'The call that brought this callback or stream has ended, and with it what it brought. A callback that is to live on is made with `callback(fn, { keep: true })`.',
  );
}

function readable(items: Inlet): object {
  const { ReadableStream } = globalThis as { ReadableStream?: { from?(items: Inlet): object } };
  return ReadableStream?.from?.(items) ?? items;
}
