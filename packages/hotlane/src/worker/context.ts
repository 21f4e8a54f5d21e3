import type { Invocation } from './invocation.ts';
import type { TaskFunction } from './tasks.ts';

/** Finds the invocation that the running code belongs to. */
export interface Tracker {
  current(): Invocation | undefined;
  /** Runs `task(...args)` so that `current()` says `invocation` in it and in whatever it awaits. */
  run(invocation: Invocation, task: TaskFunction, args: unknown[]): unknown;
}

/** What a task can ask about the call that it is running for. */
export interface Context {
  /**
   * Fires when the call is cancelled or its deadline passes, with the reason. Events arrive only when the
   * function lets the event loop turn; a synchronous loop asks `aborted()` instead. Outside of a call: a signal
   * that never fires.
   */
  readonly signal: AbortSignal;
  /** Whether the call was cancelled or its deadline has passed. Costs some nanoseconds and works in a loop. */
  aborted(): boolean;
  /** The id of the lane that runs this, counted from 1; 0 outside of a call. */
  readonly laneId: number;
  /**
   * Marks what is to move to the host with a result instead of being copied; it detaches in the lane.
   *
   * @param value the function's result; returned as it is
   * @param list the ArrayBuffers, ports and streams in it that move
   */
  transfer<T>(value: T, list: readonly object[]): T;
}

interface Shared {
  tracker: Tracker;
  readonly transfers: WeakMap<object, readonly object[]>;
}

// On the global object, so that a task module which bundles its own copy of this file finds the same state.
const KEY: unique symbol = Symbol.for('hotlane.context') as never;
const store = globalThis as { [KEY]?: Shared };
store[KEY] ??= {
  tracker: { current: () => undefined, run: (_, task, args) => hotlaneTask(task, args) },
  transfers: new WeakMap(),
};
const shared = store[KEY];

const never = new AbortController().signal;

export const context: Context = {
  get signal() {
    return shared.tracker.current()?.signal ?? never;
  },
  aborted() {
    return shared.tracker.current()?.aborted() ?? false;
  },
  get laneId() {
    return shared.tracker.current()?.laneId ?? 0;
  },
  transfer(value, list) {
    if (typeof value === 'object' && value !== null && list.length > 0) shared.transfers.set(value, list);
    return value;
  },
};

export function installTracker(tracker: Tracker): void {
  shared.tracker = tracker;
}

export function installedTracker(): Tracker {
  return shared.tracker;
}

/** For lanes that run one call at a time: the last one started is the one that runs. */
export class OneAtATime implements Tracker {
  #invocation: Invocation | undefined;

  current(): Invocation | undefined {
    return this.#invocation?.ended ? undefined : this.#invocation;
  }

  run(invocation: Invocation, task: TaskFunction, args: unknown[]): unknown {
    this.#invocation = invocation;
    return hotlaneTask(task, args);
  }
}

/**
 * For lanes that run several calls at once where nothing can follow a call across what it awaits: a function has its context
 * until it first lets go.
 */
export class UntilItAwaits implements Tracker {
  #invocation: Invocation | undefined;

  current(): Invocation | undefined {
    return this.#invocation;
  }

  run(invocation: Invocation, task: TaskFunction, args: unknown[]): unknown {
    const before = this.#invocation;
    this.#invocation = invocation;
    try {
      return hotlaneTask(task, args);
    } finally {
      this.#invocation = before;
    }
  }
}

/** Calls a task. Its name marks in the stack of what a task throws where the task's own frames end (stack.ts). */
export function hotlaneTask(task: TaskFunction, args: unknown[]): unknown {
  return task(...args);
}

const NOTHING: readonly object[] = [];

/** What a result was marked with by `context.transfer`. */
export function transfersOf(value: unknown): readonly object[] {
  if (typeof value !== 'object' || value === null) return NOTHING;
  return shared.transfers.get(value) ?? NOTHING;
}
