import type { Distribution } from './fleet/times.ts';
import type { LaneState } from './lane/lane.ts';
import type { MapOptions, MapOutcome } from './map.ts';
import type { CallOptions, StreamOptions, SyncOptions } from './options.ts';
import type {
  Broadcasts,
  Calls,
  FunctionNames,
  Input,
  Output,
  Streams,
  SyncCalls,
  TaskModule,
} from './types.ts';

/** What `pool.stats()` tells. All counts are of calls. */
export interface PoolStats {
  readonly placement: 'thread' | 'inline';
  readonly lanes: readonly { readonly id: number; readonly state: LaneState; readonly running: number }[];
  /** Accepted and not running yet. */
  readonly queued: number;
  /** Running in lanes now; cancelled ones whose functions have not returned are among them. */
  readonly running: number;
  /** Fulfilled so far. */
  readonly done: number;
  /** Rejected so far, for whatever reason, cancelled ones included; those that were never accepted are not. */
  readonly failed: number;
  /**
   * With `stats({ times: true })`: how long calls waited before their functions began, and how long these ran, in
   * milliseconds, since the pool was made. Those of more than 0.2 ms are all timed, of short ones up to one in 1,024; quantiles
   * are right to within 2 %.
   */
  readonly times?: { readonly wait: Distribution; readonly run: Distribution };
}

/** What a user holds: functions of a task module, run by lanes. Made by `createPool`. */
export interface Pool<M extends TaskModule> extends AsyncDisposable {
  /** The module's functions: `await pool.call.fib(40)`. */
  readonly call: Calls<M>;
  /** The module's functions, each run once on every lane that is up; the results in the order of lanes. */
  readonly broadcast: Broadcasts<M>;
  /**
   * The module's functions with options for their calls: `await pool.with({ signal }).fib(40)`. What it
   * returns can be kept and used for many calls.
   *
   * @throws HotlaneError OPTION
   */
  with(options: CallOptions): Calls<M>;
  /**
   * The module's functions, each of which blocks this thread until its result is there: for plugins and configuration loaders
   * that must be synchronous. Works on Node's main thread and in any worker. Nothing else happens on this thread meanwhile, so
   * neither callbacks nor streams can be passed. With placement `'inline'`: for synchronous functions, once a lane is up
   * (`await pool.ready()`).
   */
  readonly sync: SyncCalls<M>;
  /** The same with options for their calls. @throws HotlaneError OPTION */
  syncWith(options: SyncOptions): SyncCalls<M>;
  /**
   * The module's generators, and other functions that give something to iterate, item by item:
   * `for await (const row of pool.stream.rows('big.csv'))`. The call is made at once. At most `window` items are on the
   * way, so the function waits for who reads. Leaving the loop lets the function's `finally` run.
   */
  readonly stream: Streams<M>;
  /** The same with options for their calls. @throws HotlaneError OPTION */
  streamWith(options: StreamOptions): Streams<M>;
  /**
   * Calls a function once for each input, some at a time, and gives the results out.
   *
   * @param name of a function that takes one argument
   * @param inputs iterable or async iterable; pulled only as far as `inFlight` and `window` allow
   * @throws HotlaneError OPTION
   */
  map<K extends FunctionNames<M>>(
    name: K,
    inputs: Iterable<Input<M[K]>> | AsyncIterable<Input<M[K]>>,
    options: MapOptions & { readonly errors: 'return' },
  ): AsyncGenerator<MapOutcome<Input<M[K]>, Output<M[K]>>, void, undefined>;
  map<K extends FunctionNames<M>>(
    name: K,
    inputs: Iterable<Input<M[K]>> | AsyncIterable<Input<M[K]>>,
    options?: MapOptions,
  ): AsyncGenerator<Output<M[K]>, void, undefined>;
  /** @param options `times`: with the distributions of waiting and running times */
  stats(options?: { readonly times?: boolean }): PoolStats;
  /**
   * Resolves when a call made now would be accepted and there is a lane to run it: the queue has room, and the lanes
   * of `lanes.min` (or one, if that is 0, started for this) are up. Those who wait are let go in the order in which
   * they came, each as there is room for one more call.
   *
   * @throws HotlaneError CLOSED when the pool closes meanwhile; LANE_START with the cause when no lane can be started;
   *   OPTION. `signal.reason` when `options.signal` aborts
   */
  ready(options?: { readonly signal?: AbortSignal }): Promise<void>;
  /** Refuses new calls, waits until all accepted ones have finished, then ends the lanes. Can be called twice. */
  close(): Promise<void>;
  /**
   * Rejects all unsettled calls with `ERR_HOTLANE_CLOSED` and ends the lanes, whatever they do.
   * Can be called twice, and after `close`.
   *
   * @param reason becomes the `cause` of those errors
   * @returns when the last lane is gone
   */
  destroy(reason?: unknown): Promise<void>;
}
