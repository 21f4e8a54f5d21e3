import { DEFAULT_WINDOW } from './call/flow.ts';
import { type ContextStorage, type NamedStorage, storageName } from './call/storages.ts';
import { HotlaneError, show } from './errors.ts';

/** What calls that belong together bear: see `CallOptions.key`. */
export type Key = string | number | bigint;

/** How many lanes a pool may have. A plain number `n` means `{ min: n, max: n }`. */
export interface LaneOptions {
  /** Lanes that are started with the pool and always kept. @default 0 */
  readonly min?: number;
  /** The most lanes there may be at once. @default the number of cores that the process may use */
  readonly max?: number;
  /** How long a lane beyond `min` stays when it has nothing to do, in milliseconds. @default 10_000 */
  readonly lingerMs?: number;
}

/** When lanes are replaced by fresh ones: see `PoolOptions.recycle`. */
export interface RecycleOptions {
  /** After so many calls. @default Infinity */
  readonly afterCalls?: number;
  /** After so long, in milliseconds. @default Infinity */
  readonly afterMs?: number;
  /** With more than so many bytes of heap in use, looked at with calls that are timed: all long ones, of short ones one in 1,024 at least. Not for `'inline'`. @default Infinity */
  readonly heapBytes?: number;
  /** After so long without a call, in milliseconds, if it has run any: that frees what they left. @default Infinity */
  readonly idleMs?: number;
}

export interface PoolOptions {
  /**
   * Where the lanes live: `'thread'` (worker threads; in browsers web workers) or `'inline'` (the same thread: arguments and results
   * are cloned as for any lane, which makes it the placement for tests and debuggers). @default 'thread'
   */
  readonly placement?: 'thread' | 'inline';
  /** How many lanes: a number for that many always, or bounds between which the pool moves by itself. */
  readonly lanes?: number | LaneOptions;
  /** How many calls run at once inside one lane. More than 1 pays only for functions that await. @default 1 */
  readonly concurrency?: number;
  /**
   * How many calls may wait, beyond those that `lanes.max` lanes can run (`max × concurrency`); a further
   * call rejects with `ERR_HOTLANE_QUEUE_FULL`. @default Infinity
   */
  readonly maxQueue?: number;
  /** How many bytes the encoded arguments of unsettled calls may take. @default 536_870_912 (512 MiB) */
  readonly maxQueuedBytes?: number;
  /** Default for calls: how long a call may take, waiting included, in milliseconds. @default Infinity */
  readonly deadlineMs?: number;
  /**
   * How long a function may go on after its call was cancelled, in milliseconds; then its lane is ended and
   * replaced. `Infinity` never ends a lane. @default 1_000
   */
  readonly graceMs?: number;
  /**
   * How long a lane may take to start and load the module, in milliseconds; then it counts as one that cannot
   * start. @default 60_000
   */
  readonly startMs?: number;
  /**
   * How much memory the JavaScript heap of one thread may take, in MiB. A function that needs more loses its
   * lane (`ERR_HOTLANE_LANE_LOST`), not the process, as far as Node can: where one of its own routines asks for
   * very much at once, it still ends the process. Without meaning for `'inline'`. @default the process's own limit
   */
  readonly heapMb?: number;
  /**
   * When lanes are replaced by fresh ones, for functions that leak or fragment memory. A lane goes on until its
   * replacement is up, few are replaced at a time, and each limit is up to a tenth lower for each lane, at random, so that
   * they do not all leave together. @default never
   */
  readonly recycle?: RecycleOptions;
  /**
   * Name of an exported function that each lane runs once before its first call, with `data` and `{ laneId }`. A
   * lane whose setup fails could not start. @default none
   */
  readonly setup?: string;
  /**
   * Name of an exported function that each lane runs once after its last call, with `data` and `{ laneId }`; it has `graceMs`. Not
   * run when the lane is lost or ended by force. @default none
   */
  readonly teardown?: string;
  /** What `setup` and `teardown` are given, cloned for each lane. @default undefined */
  readonly data?: unknown;
  /**
   * AsyncLocalStorages whose stores travel with each call, so that a function sees the store of whoever called it:
   * `getStore()` is asked when the call is made, and the function gets a clone, like an argument. Each must have been
   * given a name with `registerStorage`, in a module that the task module imports too. Give those that tasks read:
   * a request's id, a tenant, a logger's fields. @default none
   */
  readonly carry?: readonly ContextStorage[];
  /**
   * Pools of one process, those in lanes included, start lanes beyond `min` (and their first) only while fewer threads
   * are busy than there are cores, or than the largest `lanes.max` of any pool. False: this pool takes no notice of
   * others. @default true
   */
  readonly budget?: boolean;
  /**
   * Is told of errors that belong to no call: a lane that was lost while it ran nothing, or could not start while no
   * call waited for it. @default a warning of the process (`process.emitWarning`)
   */
  readonly onError?: (error: HotlaneError) => void;
}

/** What `pool.with(…)` takes: options of single calls. */
export interface CallOptions {
  /** Cancels the call; it then rejects with `signal.reason`. */
  readonly signal?: AbortSignal;
  /** How long the call may take, waiting included, in milliseconds; then it rejects with `ERR_HOTLANE_DEADLINE`. */
  readonly deadlineMs?: number;
  /** Overrides the pool's `graceMs` for this call. */
  readonly graceMs?: number;
  /**
   * The function may safely run more than once: when its lane is lost while it runs, the call runs again elsewhere,
   * after a short wait. Calls with transfers never do: what was moved is gone. @default false
   */
  readonly idempotent?: boolean;
  /** How many times an idempotent call may run again. @default 2 */
  readonly retries?: number;
  /**
   * Calls of one key run one at a time, in the order in which they were made, whatever `concurrency` is, and on one
   * lane as long as that lane lives: what a function keeps in memory for its key is there at the next call. Keys
   * with nothing in flight are remembered up to 65,536.
   */
  readonly key?: Key;
  /**
   * Calls that wait go in the order of their priorities, the higher first: a whole number from -1,000 to 1,000. Waiting for
   * one second counts as much as one step, so that no call waits for ever; equals go in the order in which they were
   * made. What runs is not interrupted, and calls of one `key` stay in order. @default 0
   */
  readonly priority?: number;
  /** ArrayBuffers, ports and streams that move to the lane instead of being copied. They detach in the call. */
  readonly transfer?: readonly object[];
}

/** What `pool.streamWith(…)` takes: options of calls whose results are a stream. Such calls never run again. */
export interface StreamOptions extends Omit<CallOptions, 'idempotent' | 'retries'> {
  /**
   * How many items may be on the way: given out by the function, and not yet taken. Large ones count for more: no more
   * than about a mebibyte is on the way. @default 1_024
   */
  readonly window?: number;
}

/** What `pool.syncWith(…)` takes: options of calls whose caller is blocked, so that no signal of its own can fire. */
export interface SyncOptions extends Omit<CallOptions, 'idempotent' | 'retries' | 'signal'> {}

/** Options with every default filled in, so that no later code sees `undefined`. */
export interface ResolvedPoolOptions {
  readonly placement: 'thread' | 'inline';
  readonly minLanes: number;
  readonly maxLanes: number;
  readonly lingerMs: number;
  readonly concurrency: number;
  readonly maxQueue: number;
  readonly maxQueuedBytes: number;
  readonly deadlineMs: number;
  readonly graceMs: number;
  readonly startMs: number;
  /** 0: the process's own limit. */
  readonly heapMb: number;
  readonly recycle: Required<RecycleOptions>;
  readonly setup: string | undefined;
  readonly teardown: string | undefined;
  readonly data: unknown;
  readonly carry: readonly NamedStorage[];
  readonly budget: boolean;
  /** Undefined: as the platform tells such things. */
  readonly onError: ((error: HotlaneError) => void) | undefined;
}

const MOST_LANES = 1024;
const LONGEST_TIMER_MS = 2 ** 31 - 1;
const MIB = 1024 * 1024;
const HIGHEST_PRIORITY = 1_000;

const POOL_KEYS = [
  'placement',
  'lanes',
  'concurrency',
  'maxQueue',
  'maxQueuedBytes',
  'deadlineMs',
  'graceMs',
  'startMs',
  'heapMb',
  'recycle',
  'setup',
  'teardown',
  'data',
  'carry',
  'budget',
  'onError',
];
const RECYCLE_KEYS = ['afterCalls', 'afterMs', 'heapBytes', 'idleMs'];
const LANE_KEYS = ['min', 'max', 'lingerMs'];
const CALL_KEYS = ['signal', 'deadlineMs', 'graceMs', 'idempotent', 'retries', 'key', 'priority', 'transfer'];
const SYNC_KEYS = ['deadlineMs', 'graceMs', 'key', 'priority', 'transfer'];
const STREAM_KEYS = ['signal', 'deadlineMs', 'graceMs', 'key', 'priority', 'transfer', 'window'];

export function refuse(option: string, expected: string, came: unknown): never {
  throw new HotlaneError('OPTION', `Option \`${option}\`: expected ${expected}, got ${show(came)}.`);
}

export function checkObject(option: string, value: unknown, keys: readonly string[]): void {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) refuse(option, 'an object', value);
  for (const key of Object.keys(value)) {
    if (!keys.includes(key)) {
      throw new HotlaneError(
        'OPTION',
        `Option \`${option}\`: there is no \`${key}\`. Known are ${keys.map(k => `\`${k}\``).join(', ')}.`,
      );
    }
  }
}

export function integer(
  option: string,
  value: unknown,
  fallback: number,
  least: number,
  most: number,
): number {
  if (value === undefined) return fallback;
  if (!Number.isInteger(value) || (value as number) < least || (value as number) > most) {
    refuse(option, `a whole number from ${least} to ${most}`, value);
  }
  return value as number;
}

/** A whole number or Infinity. */
function count(option: string, value: unknown, fallback: number): number {
  if (value === undefined) return fallback;
  if (value !== Number.POSITIVE_INFINITY && !(Number.isInteger(value) && (value as number) >= 0)) {
    refuse(option, 'a whole number of 0 or more, or Infinity', value);
  }
  return value as number;
}

/** A number from 1 up, or Infinity for never. */
function atLeastOne(option: string, value: unknown): number {
  if (value === undefined) return Number.POSITIVE_INFINITY;
  if (typeof value !== 'number' || !(value >= 1)) refuse(option, 'a number of 1 or more, or Infinity', value);
  return option.endsWith('Ms') ? duration(option, value, 0) : value;
}

export function flag(option: string, value: unknown, fallback: boolean): boolean {
  if (value === undefined) return fallback;
  if (typeof value !== 'boolean') refuse(option, 'true or false', value);
  return value;
}

function exportName(option: string, value: unknown): string | undefined {
  if (value !== undefined && (typeof value !== 'string' || value === '')) {
    refuse(option, 'the name of an exported function', value);
  }
  return value as string | undefined;
}

export function checkSignal(signal: unknown): void {
  if (signal === undefined) return;
  const { aborted, addEventListener } = (signal ?? {}) as Partial<AbortSignal>;
  if (typeof aborted !== 'boolean' || typeof addEventListener !== 'function') {
    refuse('signal', 'an AbortSignal', signal);
  }
}

/** Milliseconds; more than a timer can count is as good as Infinity. */
export function duration(option: string, value: unknown, fallback: number): number {
  if (value === undefined) return fallback;
  if (typeof value !== 'number' || !(value >= 0))
    refuse(option, 'milliseconds: a number of 0 or more, or Infinity', value);
  return value > LONGEST_TIMER_MS ? Number.POSITIVE_INFINITY : value;
}

/**
 * Checks a pool's options once and fills in the defaults.
 *
 * @param options as the user gave them
 * @param cores how many cores the process may use: the default for `lanes.max`
 * @throws HotlaneError `ERR_HOTLANE_OPTION` that says option, expected, came
 */
export function resolvePoolOptions(options: PoolOptions | undefined, cores: number): ResolvedPoolOptions {
  const given = options ?? {};
  checkObject('options', given, POOL_KEYS);
  const placement = given.placement ?? 'thread';
  if (placement !== 'thread' && placement !== 'inline')
    refuse('placement', "'thread' or 'inline'", placement);
  const usual = placement === 'inline' ? 1 : cores;

  let minLanes = 0;
  let maxLanes = usual;
  let lingerMs = 10_000;
  const lanes = given.lanes;
  if (typeof lanes === 'object' && lanes !== null) {
    checkObject('lanes', lanes, LANE_KEYS);
    minLanes = integer('lanes.min', lanes.min, 0, 0, MOST_LANES);
    maxLanes = integer('lanes.max', lanes.max, Math.max(usual, minLanes), 1, MOST_LANES);
    if (minLanes > maxLanes) refuse('lanes.min', `at most lanes.max, which is ${maxLanes}`, minLanes);
    lingerMs = duration('lanes.lingerMs', lanes.lingerMs, lingerMs);
  } else if (lanes !== undefined) {
    if (!Number.isInteger(lanes) || lanes < 1 || lanes > MOST_LANES) {
      refuse('lanes', `a whole number from 1 to ${MOST_LANES}, or { min, max, lingerMs }`, lanes);
    }
    minLanes = maxLanes = lanes;
  }

  if (given.onError !== undefined && typeof given.onError !== 'function') {
    refuse('onError', 'a function', given.onError);
  }
  return {
    placement,
    minLanes,
    maxLanes,
    lingerMs,
    concurrency: integer('concurrency', given.concurrency, 1, 1, 65_536),
    maxQueue: count('maxQueue', given.maxQueue, Number.POSITIVE_INFINITY),
    maxQueuedBytes: count('maxQueuedBytes', given.maxQueuedBytes, 512 * MIB),
    deadlineMs: duration('deadlineMs', given.deadlineMs, Number.POSITIVE_INFINITY),
    graceMs: duration('graceMs', given.graceMs, 1_000),
    startMs: duration('startMs', given.startMs, 60_000),
    onError: given.onError,
    heapMb: integer('heapMb', given.heapMb, 0, 8, 1_048_576),
    recycle: resolveRecycling(given.recycle, placement),
    setup: exportName('setup', given.setup),
    teardown: exportName('teardown', given.teardown),
    data: given.data,
    carry: resolveCarry(given.carry),
    budget: flag('budget', given.budget, true),
  };
}

function resolveCarry(carry: unknown): readonly NamedStorage[] {
  if (carry === undefined) return [];
  if (!Array.isArray(carry)) refuse('carry', 'an array of AsyncLocalStorages', carry);
  const named: NamedStorage[] = [];
  for (const [i, storage] of carry.entries()) {
    if (typeof storage?.getStore !== 'function') refuse(`carry[${i}]`, 'an AsyncLocalStorage', storage);
    const name = storageName(storage);
    if (name === undefined) {
      throw new HotlaneError(
        'OPTION',
        `Option \`carry[${i}]\`: this storage was not registered, so that lanes could not tell which of theirs it is. In the module that makes it, and that the task module imports too: export const storage = registerStorage('name', new AsyncLocalStorage());`,
      );
    }
    const twin = named.findIndex(other => other.name === name);
    if (twin >= 0) {
      throw new HotlaneError(
        'OPTION',
        `Option \`carry[${i}]\`: expected storages of different names, and carry[${twin}] is \`${name}\` too.`,
      );
    }
    named.push({ name, storage });
  }
  return named;
}

function resolveRecycling(recycle: unknown, placement: 'thread' | 'inline'): Required<RecycleOptions> {
  const given = (recycle ?? {}) as RecycleOptions;
  checkObject('recycle', given, RECYCLE_KEYS);
  if (given.heapBytes !== undefined && placement === 'inline') {
    refuse(
      'recycle.heapBytes',
      "no such limit with placement 'inline', whose lanes share one heap",
      given.heapBytes,
    );
  }
  return {
    afterCalls: atLeastOne('recycle.afterCalls', given.afterCalls),
    afterMs: atLeastOne('recycle.afterMs', given.afterMs),
    heapBytes: atLeastOne('recycle.heapBytes', given.heapBytes),
    idleMs: atLeastOne('recycle.idleMs', given.idleMs),
  };
}

/**
 * Checks what was given to `pool.with(…)`, and keeps it apart from what the caller does to it later.
 *
 * @throws HotlaneError `ERR_HOTLANE_OPTION` that says option, expected, came
 */
export function resolveCallOptions(options: CallOptions): CallOptions {
  checkObject('with(options)', options, CALL_KEYS);
  return resolveCommon(options);
}

/**
 * The same for `pool.streamWith(…)`.
 *
 * @throws HotlaneError `ERR_HOTLANE_OPTION` that says option, expected, came
 */
export function resolveStreamOptions(options: StreamOptions): StreamOptions {
  checkObject('streamWith(options)', options, STREAM_KEYS);
  const { window, ...common } = options;
  return { ...resolveCommon(common), window: integer('window', window, DEFAULT_WINDOW, 1, 65_536) };
}

/**
 * The same for `pool.syncWith(…)`.
 *
 * @throws HotlaneError `ERR_HOTLANE_OPTION` that says option, expected, came
 */
export function resolveSyncOptions(options: SyncOptions): SyncOptions {
  checkObject('syncWith(options)', options, SYNC_KEYS);
  return resolveCommon(options);
}

function resolveCommon(options: CallOptions): CallOptions {
  const { signal, transfer } = options;
  checkSignal(signal);
  if (options.idempotent !== undefined && typeof options.idempotent !== 'boolean') {
    refuse('idempotent', 'true or false', options.idempotent);
  }
  if (options.retries !== undefined && options.idempotent !== true) {
    refuse('retries', 'no such option without `idempotent: true`', options.retries);
  }
  const { key } = options;
  if (key !== undefined && typeof key !== 'string' && typeof key !== 'number' && typeof key !== 'bigint') {
    refuse('key', 'a string, a number or a bigint', key);
  }
  if (transfer !== undefined) {
    if (!Array.isArray(transfer)) refuse('transfer', 'an array of transferable objects', transfer);
    for (const [i, item] of transfer.entries()) {
      if (typeof item !== 'object' || item === null) refuse(`transfer[${i}]`, 'a transferable object', item);
      if (ArrayBuffer.isView(item))
        refuse(`transfer[${i}]`, 'the ArrayBuffer of a view, its `.buffer`', item);
    }
  }
  return {
    signal,
    key,
    priority: integer('priority', options.priority, 0, -HIGHEST_PRIORITY, HIGHEST_PRIORITY),
    transfer: transfer && [...transfer],
    idempotent: options.idempotent === true,
    retries: options.idempotent === true ? integer('retries', options.retries, 2, 0, 1_000) : 0,
    deadlineMs: options.deadlineMs === undefined ? undefined : duration('deadlineMs', options.deadlineMs, 0),
    graceMs: options.graceMs === undefined ? undefined : duration('graceMs', options.graceMs, 0),
  };
}
