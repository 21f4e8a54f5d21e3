import { Deque } from './call/deque.ts';
import { HotlaneError, show } from './errors.ts';
import { checkObject, checkSignal, duration, integer, refuse } from './options.ts';

export interface MapOptions {
  /** Results in the order of the inputs; false: as they finish. @default true */
  readonly ordered?: boolean;
  /**
   * How many calls may be under way at once. More hides the cost of handing over, less reads less far ahead in
   * the inputs. @default four for each call that the lanes can run at once, at least 64; with `deadlineMs`, as
   * many as the lanes can run at once, so that no call waits behind the others
   */
  readonly inFlight?: number;
  /**
   * How many inputs may be taken in and not yet given out as results; the bound on memory when one slow call
   * holds up those behind it. At least `inFlight`. @default 4 × inFlight when ordered, inFlight otherwise
   */
  readonly window?: number;
  /** `'throw'`: the first failure ends the iteration. `'return'`: each failure comes as a value. @default 'throw' */
  readonly errors?: 'throw' | 'return';
  /** Ends the iteration with `signal.reason`, and cancels the calls that are under way. */
  readonly signal?: AbortSignal;
  /** For each call: how long it may take, waiting included, in milliseconds. */
  readonly deadlineMs?: number;
}

/** What `map` gives out with `errors: 'return'`. */
export type MapOutcome<I, O> =
  | { readonly status: 'fulfilled'; readonly index: number; readonly input: I; readonly value: O }
  | { readonly status: 'rejected'; readonly index: number; readonly input: I; readonly reason: unknown };

const KEYS = ['ordered', 'inFlight', 'window', 'errors', 'signal', 'deadlineMs'];

interface Entry<I> {
  readonly index: number;
  readonly input: I;
  settled: boolean;
  failed: boolean;
  value: unknown;
}

/**
 * Makes a call for each input, some at a time, and gives the results out. Inputs are pulled only while the
 * bounds allow, independently of how fast results are taken; leaving the iteration cancels what is under way.
 *
 * @param call makes one call
 */
export async function* mapCalls<I>(
  call: (input: I, signal: AbortSignal) => Promise<unknown>,
  inputs: Iterable<I> | AsyncIterable<I>,
  options: ResolvedMapOptions,
): AsyncGenerator<unknown, void, undefined> {
  const { ordered, errors, signal, inFlight, window } = options;
  const iterator = iterate(inputs);
  const stop = new AbortController();
  const entries = new Deque<Entry<I>>(); // ordered: all that are open; else: the settled ones
  let open = 0;
  let running = 0;
  let exhausted = false;
  /** A `next()` of the inputs has not answered. */
  let pulling = false;
  let failure: { reason: unknown } | null = null;
  let wake = () => {};
  let changed!: Promise<void>;
  const renew = () => {
    changed = new Promise(resolve => {
      wake = () => {
        renew();
        resolve();
      };
    });
  };
  renew();
  const end = (reason: unknown) => {
    failure ??= { reason };
    stop.abort(reason);
    wake();
  };
  const onAbort = () => end(signal!.reason);
  if (signal?.aborted) onAbort();
  signal?.addEventListener('abort', onAbort, { once: true });

  const settle = (entry: Entry<I>, failed: boolean, value: unknown) => {
    running--;
    entry.settled = true;
    entry.failed = failed;
    entry.value = value;
    if (!ordered) entries.push(entry);
    wake();
  };
  const pull = async () => {
    try {
      for (let index = 0; ; index++) {
        while (!stop.signal.aborted && (open >= window || running >= inFlight)) await changed;
        if (stop.signal.aborted) return;
        pulling = true;
        const step = iterator.next();
        const { done, value } = isPromise(step) ? await step : step;
        pulling = false;
        if (done) break;
        if (stop.signal.aborted) return;
        const entry: Entry<I> = { index, input: value, settled: false, failed: false, value: undefined };
        open++;
        running++;
        if (ordered) entries.push(entry);
        call(value, stop.signal).then(
          result => settle(entry, false, result),
          reason => settle(entry, true, reason),
        );
      }
      exhausted = true;
      wake();
    } catch (error) {
      pulling = false;
      exhausted = true;
      end(error); // the inputs themselves failed
    }
  };

  try {
    if (failure === null) void pull();
    for (;;) {
      if (failure !== null) throw (failure as { reason: unknown }).reason;
      const head = entries.peek();
      if (head?.settled) {
        entries.shift();
        open--;
        wake();
        const { index, input, failed, value } = head;
        if (errors === 'return') {
          yield failed
            ? { status: 'rejected', index, input, reason: value }
            : { status: 'fulfilled', index, input, value };
        } else if (failed) throw value;
        else yield value;
      } else if (exhausted && open === 0) return;
      else await changed;
    }
  } finally {
    signal?.removeEventListener('abort', onAbort);
    stop.abort(new HotlaneError('CLOSED', 'The iteration that made this call has ended.'));
    wake();
    if (!exhausted) {
      const returned = iterator.return?.();
      // Inputs that keep a `next()` waiting would keep their `return()` waiting too: behind it.
      if (!pulling) await returned;
      else if (isPromise(returned)) returned.catch(() => {});
    }
  }
}

/** Options with every default filled in. */
export interface ResolvedMapOptions {
  readonly ordered: boolean;
  readonly inFlight: number;
  readonly window: number;
  readonly errors: 'throw' | 'return';
  readonly signal: AbortSignal | undefined;
  readonly deadlineMs: number | undefined;
}

/**
 * @param atOnce how many calls the pool's lanes can run at once
 * @throws HotlaneError OPTION
 */
export function resolveMapOptions(
  options: MapOptions,
  atOnce: number,
  hasDeadline: boolean,
): ResolvedMapOptions {
  checkObject('map(options)', options, KEYS);
  const { ordered = true, errors = 'throw', signal } = options;
  if (typeof ordered !== 'boolean') refuse('ordered', 'true or false', ordered);
  if (errors !== 'throw' && errors !== 'return') refuse('errors', "'throw' or 'return'", errors);
  checkSignal(signal);
  const deadlineMs =
    options.deadlineMs === undefined ? undefined : duration('deadlineMs', options.deadlineMs, 0);
  // A deadline includes waiting: with one, no call is made to wait behind the others of this map.
  const usual = deadlineMs === undefined && !hasDeadline ? Math.max(64, 4 * atOnce) : atOnce;
  const inFlight = integer('inFlight', options.inFlight, usual, 1, Number.MAX_SAFE_INTEGER);
  const wide = ordered ? 4 * inFlight : inFlight;
  const window = integer('window', options.window, wide, inFlight, Number.MAX_SAFE_INTEGER);
  return { ordered, inFlight, window, errors, signal, deadlineMs };
}

function iterate<I>(inputs: Iterable<I> | AsyncIterable<I>): Iterator<I> | AsyncIterator<I> {
  if (typeof (inputs as AsyncIterable<I>)?.[Symbol.asyncIterator] === 'function') {
    return (inputs as AsyncIterable<I>)[Symbol.asyncIterator]();
  }
  if (typeof (inputs as Iterable<I>)?.[Symbol.iterator] === 'function')
    return (inputs as Iterable<I>)[Symbol.iterator]();
  throw new HotlaneError('OPTION', `\`map\`: expected inputs that can be iterated, got ${show(inputs)}.`);
}

function isPromise<T>(value: T | Promise<T>): value is Promise<T> {
  return typeof (value as Promise<T> | undefined)?.then === 'function';
}
