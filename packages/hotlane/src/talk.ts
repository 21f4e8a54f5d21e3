import { type CallbackState, callbackState } from './call/callback.ts';
import { DEFAULT_WINDOW, Inlet, type InletSource, iteratorOf, Pump, type PumpPlatform } from './call/flow.ts';
import { soon } from './call/intrinsics.ts';
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
} from './call/talk.ts';
import { HotlaneError } from './errors.ts';
import type { Talk } from './lane/call.ts';
import type { Lane, TaskLane } from './lane/lane.ts';

/** Says something to the function that runs the call. @returns its bytes. @throws HotlaneError NOT_CLONEABLE, TOO_LARGE */
export type Say = (op: number, id: number, number: number, value: unknown) => number;

/** The host's side of what one call says while it runs: its callbacks, the streams it reads, the stream it makes. */
export class HostTalk implements Talk {
  readonly #say: Say;
  readonly #platform: PumpPlatform;
  readonly #kept: KeptByLanes;
  /** Numbers of those callbacks among the arguments that are kept. */
  readonly #keptNumbers: number[] = [];
  /** What the arguments refer to, by id less 1. */
  readonly #referred: (CallbackState | Source)[] = [];
  /** The stream of its results, if that is what it has. */
  output: Inlet | null = null;
  readsInputs = false;
  #over = false;

  constructor(say: Say, platform: PumpPlatform, kept: KeptByLanes) {
    this.#say = say;
    this.#platform = platform;
    this.#kept = kept;
  }

  refer(value: object): number {
    if (typeof value === 'function') return this.#referCallback(callbackState(value));
    if (!(Symbol.asyncIterator in value)) return -1;
    this.readsInputs = true;
    const id = this.#referred.length + 1;
    this.#referred.push(new Source(value, id, this.#say, this.#platform));
    return (isReadable(value) ? KIND_READABLE : KIND_STREAM) | (id << 3);
  }

  #referCallback(callback: CallbackState | undefined): number {
    if (callback === undefined) return -1;
    if (!callback.keep) {
      return (callback.oneWay ? KIND_ONE_WAY : KIND_CALLBACK) | (this.#referred.push(callback) << 3);
    }
    const number = this.#kept.send(callback);
    this.#keptNumbers.push(number);
    return (callback.oneWay ? KIND_KEPT_ONE_WAY : KIND_KEPT) | (number << 3);
  }

  receive(op: number, id: number, number: number, value: unknown): void {
    if (this.#over) {
      if (op === CALL && number > 0) this.#say(THREW, id, number, notWanted());
      return;
    }
    const to = id === 0 ? null : this.#referred[id - 1];
    switch (op) {
      case ITEM:
        this.output?.push(value);
        break;
      case FAILED:
        // An item could not be read: the reader is told, and the function need not go on.
        this.output?.fail(value);
        this.#say(STOP, 0, 0, undefined);
        break;
      case PAUSED:
        this.output?.onPaused();
        break;
      case CALL:
        if (to === null || to === undefined || to instanceof Source) break;
        runCallback(to, value, number, (answer, result) => {
          if (!this.#over) this.#say(answer, id, number, result);
        });
        break;
      case CREDIT:
        if (to instanceof Source) to.grant(number);
        break;
      case STOP:
        if (to instanceof Source) to.stop();
        break;
    }
  }

  drop(): void {
    this.output?.drop();
    this.#stop();
  }

  end(lane: Lane | null): void {
    this.#stop();
    for (const number of this.#keptNumbers) this.#kept.onArrived(number, lane);
  }

  #stop(): void {
    this.#over = true;
    for (const referred of this.#referred) if (referred instanceof Source) referred.stop();
  }

  /** Opens the stream of results. */
  open(source: InletSource, window: number): Inlet {
    this.output = new Inlet(source, window, true);
    return this.output;
  }
}

/** A stream among a call's arguments: read as far as the lane asks, from when it first does. */
class Source {
  readonly #made: object;
  readonly #id: number;
  readonly #say: Say;
  readonly #platform: PumpPlatform;
  #pump: Pump | null = null;
  #stopped = false;

  constructor(made: object, id: number, say: Say, platform: PumpPlatform) {
    this.#made = made;
    this.#id = id;
    this.#say = say;
    this.#platform = platform;
  }

  grant(items: number): void {
    if (this.#pump !== null) this.#pump.grant(items);
    else if (!this.#stopped) void this.#run(items);
  }

  stop(): void {
    if (this.#stopped) return;
    this.#stopped = true;
    if (this.#pump !== null) this.#pump.stop();
    else void this.#close(); // never read: it may hold a file
  }

  async #run(credit: number): Promise<void> {
    try {
      const target = {
        item: (value: unknown) => (this.#stopped ? 0 : this.#say(ITEM, this.#id, 0, value)),
        paused: () => void (this.#stopped || this.#say(PAUSED, this.#id, 0, undefined)),
      };
      this.#pump = new Pump(iteratorOf(this.#made)!, target, this.#platform, credit, DEFAULT_WINDOW);
      await this.#pump.run();
      if (!this.#stopped) this.#say(END, this.#id, 0, undefined);
    } catch (error) {
      if (!this.#stopped) this.#fail(error);
    }
  }

  #fail(error: unknown): void {
    try {
      this.#say(FAILED, this.#id, 0, error);
    } catch (worse) {
      this.#say(FAILED, this.#id, 0, worse);
    }
  }

  async #close(): Promise<void> {
    try {
      await iteratorOf(this.#made)!.return?.();
    } catch {
      // Nobody has read it, so nobody is to hear of it.
    }
  }
}

/** What is known of a callback that is kept. */
interface Kept {
  readonly callback: CallbackState;
  /** Calls on their way that bring it to a lane. */
  onTheWay: number;
  /** How many calls brought it to which lane, less those after which the lane said that it has no more use for it. */
  readonly lanes: Map<Lane, number>;
}

/** Callbacks that stay good after the calls that brought them to lanes: until no call brings and no lane has them. */
export class KeptByLanes {
  readonly #numbers = new Map<CallbackState, number>();
  readonly #kept = new Map<number, Kept>();
  #last = 0;

  get size(): number {
    return this.#kept.size;
  }

  /** A call is made that brings it to a lane. @returns its number on the wire */
  send(callback: CallbackState): number {
    let number = this.#numbers.get(callback);
    if (number === undefined) {
      number = ++this.#last;
      this.#numbers.set(callback, number);
      this.#kept.set(number, { callback, onTheWay: 0, lanes: new Map() });
    }
    this.#kept.get(number)!.onTheWay++;
    return number;
  }

  /** That call has finished on a lane, or on none. */
  onArrived(number: number, lane: Lane | null): void {
    const kept = this.#kept.get(number);
    if (kept === undefined) return; // the pool has ended
    kept.onTheWay--;
    this.#count(number, kept, lane, 1);
  }

  /** A lane says something about a callback that is kept. */
  receive(lane: TaskLane, op: number, number: number, serial: number, value: unknown): void {
    const kept = this.#kept.get(number);
    if (op === DROP && kept !== undefined) {
      // It may have dropped it before the call that brought it has finished.
      this.#count(number, kept, lane, -serial);
    } else if (op === CALL) {
      const answer = (said: number, result: unknown) => void lane.say(null, said, number, serial, result);
      if (kept !== undefined) runCallback(kept.callback, value, serial, answer);
      else if (serial > 0) answer(THREW, notWanted());
    }
  }

  onLaneGone(lane: Lane): void {
    for (const [number, kept] of this.#kept) this.#count(number, kept, lane, -(kept.lanes.get(lane) ?? 0));
  }

  clear(): void {
    this.#kept.clear();
    this.#numbers.clear();
  }

  #count(number: number, kept: Kept, lane: Lane | null, by: number): void {
    if (lane !== null && lane.state !== 'ended') {
      const times = (kept.lanes.get(lane) ?? 0) + by;
      if (times === 0) kept.lanes.delete(lane);
      else kept.lanes.set(lane, times);
    } else if (lane !== null) kept.lanes.delete(lane);
    if (kept.onTheWay > 0 || kept.lanes.size > 0) return;
    this.#kept.delete(number);
    this.#numbers.delete(kept.callback);
  }
}

/** @param number 0 when nobody waits for what it returns */
function runCallback(
  callback: CallbackState,
  args: unknown,
  number: number,
  answer: (op: number, result: unknown) => void,
): void {
  if (callback.released || !Array.isArray(args)) {
    if (number > 0) answer(THREW, callback.released ? notWanted() : args);
    return;
  }
  if (number === 0) {
    // As an event listener's: an error is the process's, and keeps nothing here from going on.
    soon(() => void callback.fn(...args));
    return;
  }
  const give = (op: number, result: unknown) => {
    try {
      answer(op, result);
    } catch (error) {
      answer(THREW, error);
    }
  };
  // In a turn of its own: it may block the thread with a call, which must not happen in the middle of a message.
  Promise.resolve()
    .then(() => callback.fn(...args))
    .then(
      result => give(RETURNED, result),
      error => give(THREW, error),
    );
}

function isReadable(value: object): boolean {
  const { ReadableStream } = globalThis as { ReadableStream?: abstract new () => object };
  return ReadableStream !== undefined && value instanceof ReadableStream;
}

function notWanted(): HotlaneError {
  return new HotlaneError(
    'CLOSED',
    'Nobody waits for this callback any more: its call was cancelled, or it was released.',
  );
}
