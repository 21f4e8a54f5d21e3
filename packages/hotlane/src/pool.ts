import { DEFAULT_WINDOW, Inlet, type InletSource } from './call/flow.ts';
import { CREDIT, STOP } from './call/talk.ts';
import { lookForTraceApi } from './call/traces.ts';
import { createCallObject, createCallObjects } from './call-object.ts';
import { Signals } from './cancel.ts';
import { blame, pack } from './carry.ts';
import { HotlaneError, isHotlaneError, show } from './errors.ts';
import { backoffMs } from './fleet/backoff.ts';
import { Fleet, type FleetOwner } from './fleet/fleet.ts';
import { Times } from './fleet/times.ts';
import { Call, type CallTimes, type CallWatch, NOWHERE } from './lane/call.ts';
import type { Clock } from './lane/clock.ts';
import type { Demand, Lane, LaneEvents, Placement, TaskLane, TaskOutcomes } from './lane/lane.ts';
import { type LaneNews, UNWATCHED, type Watch } from './lane/watch.ts';
import { type MapOptions, mapCalls, resolveMapOptions } from './map.ts';
import {
  type CallOptions,
  checkObject,
  checkSignal,
  flag,
  type ResolvedPoolOptions,
  resolveCallOptions,
  resolveStreamOptions,
  resolveSyncOptions,
  type StreamOptions,
  type SyncOptions,
} from './options.ts';
import type { PoolStats } from './pool-type.ts';
import { ReadyLine } from './ready.ts';
import {
  bytesFull,
  cannotBlock,
  cannotStart,
  cannotTalk,
  laneLost,
  lostIdle,
  MOST_LOSSES,
  overdue,
  overGrace,
  queueFull,
  tooManyNames,
} from './refusals.ts';
import { Results } from './results.ts';
import { Scheduler } from './schedule/scheduler.ts';
import { rejectWithCallers, withCaller } from './stack.ts';
import { HostTalk, KeptByLanes, type Say } from './talk.ts';
import { OVERDUE } from './worker/executor.ts';

const NO_TRANSFER: readonly object[] = [];
const NOT_NUMBERED = -1;
/** How often a blocked thread looks whether its lanes live, in milliseconds. */
const LOOK_MS = 20;
const NO_STREAM_OPTIONS: StreamOptions = {};
/** The other end of a stream whose call was not accepted. */
const NOBODY: InletSource = { credit() {}, stop: () => Promise.resolve() };
/** How long an idempotent call waits, at the most, before it runs for the second time; then twice as long. */
const FIRST_REST_MS = 20;
const LONGEST_REST_MS = 5_000;

// One executor for all promises, so that a call makes no closure for it.
let resolveNew: (value: unknown) => void;
let rejectNew: (reason: unknown) => void;
const capture = (resolve: (value: unknown) => void, reject: (reason: unknown) => void) => {
  resolveNew = resolve;
  rejectNew = reject;
};

/** Calls in, results out: joins a placement, a scheduler and a fleet. */
export class LanePool implements TaskOutcomes, FleetOwner {
  readonly call: object;
  readonly sync: object;
  readonly stream: object;
  readonly broadcast: object;
  readonly #callsWith: (options: CallOptions) => object;
  readonly #syncCallsWith: (options: SyncOptions) => object;
  readonly #streamsWith: (options: StreamOptions) => object;
  readonly #options: ResolvedPoolOptions;
  readonly #clock: Clock;
  readonly #placement: Placement;
  readonly #scheduler: Scheduler;
  readonly #fleet: Fleet;
  readonly #times = new Times();
  /** How many calls go untimed until the next that is timed. */
  #untimed = 0;
  readonly #ready: ReadyLine;
  readonly #signals = new Signals((call, reason) => this.#cancel(call, reason));
  readonly #names: string[] = [];
  /** Whether calls need a deadline although they were made without options. */
  readonly #watchAll: boolean;
  readonly #mostInFlight: number;
  /** Idempotent calls that wait to run again, and their timers. */
  readonly #resting = new Map<Call, unknown>();
  readonly #onError: (error: HotlaneError) => void;
  readonly #watch: Watch;
  /** The failure to start that calls heard of last: it needs no other telling. */
  #toldCause: unknown;
  readonly #kept = new KeptByLanes();
  /** A stream of results that nobody can read any more would keep its lane for ever. */
  readonly #streams = new FinalizationRegistry<Inlet>(inlet => void inlet.return().catch(() => {}));
  #state: 'open' | 'closing' | 'closed' = 'open';
  /** Accepted calls that are not finished; and those among them whose promises are unsettled. */
  #inFlight = 0;
  #unsettled = 0;
  #queuedBytes = 0;
  #done = 0;
  #failed = 0;
  #onDrained: (() => void) | null = null;
  /** Its lanes are on their way out: somebody waits for that. */
  #isEnding = false;
  /** When it looked at its lanes last while blocked. */
  #lookedAt = 0;
  #closing: Promise<void> | null = null;
  #destroying: Promise<void> | null = null;

  constructor(
    options: ResolvedPoolOptions,
    clock: Clock,
    place: (outcomes: TaskOutcomes, demand: Demand) => Placement,
    warn: (error: HotlaneError) => void,
    watch: Watch = UNWATCHED,
  ) {
    this.#onError = options.onError ?? warn;
    this.#watch = watch;
    lookForTraceApi();
    this.#options = options;
    this.#clock = clock;
    this.#scheduler = new Scheduler(clock);
    this.#watchAll = options.deadlineMs !== Number.POSITIVE_INFINITY;
    this.#mostInFlight = options.maxQueue + options.maxLanes * options.concurrency;
    this.#placement = place(this, {
      live: () => this.#inFlight > 0,
      holds: () =>
        this.#unsettled > 0 || this.#onDrained !== null || this.#isEnding || this.#ready.length > 0,
    });
    this.#fleet = new Fleet(
      { ...options, drainMs: options.teardown === undefined ? 0 : options.graceMs },
      this,
      clock,
    );
    this.#ready = new ReadyLine(
      () => this.#places(),
      clock,
      () => this.#placement.reviewHold(),
    );
    if (this.#placement.window !== null) this.#scheduler.addOutlet(this.#placement.window);
    const call = this.#bind((fn, args, given: CallOptions | null) => this.#invoke(fn, args, given, null));
    const sync = this.#bind((fn, args, given: SyncOptions | null) => this.#block(fn, args, given));
    const stream = this.#bind((fn, args, given: StreamOptions) => this.#openStream(fn, args, given));
    // Written out, not `withNo(null, call)`: a step less for each call.
    this.call = createCallObject(name => {
      let fn = NOT_NUMBERED;
      return (...args) => {
        if (fn < 0) fn = this.#number(name);
        return this.#invoke(fn, args, null, null);
      };
    });
    this.sync = createCallObject(withNo(null, sync));
    this.stream = createCallObject(withNo(NO_STREAM_OPTIONS, stream));
    this.#callsWith = createCallObjects(call);
    this.#syncCallsWith = createCallObjects(sync);
    this.#streamsWith = createCallObjects(stream);
    this.broadcast = createCallObject(name => (...args) => {
      const refused = this.#refusal(null, 0);
      if (refused !== null) return Promise.reject(refused.reason);
      const fn = this.#number(name);
      const lanes = this.#fleet.lanes.filter(lane => lane.state === 'up' || lane.state === 'starting');
      return Promise.all(lanes.map(lane => this.#invoke(fn, args, null, lane)));
    });
    this.#fleet.grow();
  }

  with(options: CallOptions): object {
    return this.#callsWith(resolveCallOptions(options));
  }

  syncWith(options: SyncOptions): object {
    return this.#syncCallsWith(resolveSyncOptions(options));
  }

  streamWith(options: StreamOptions): object {
    return this.#streamsWith(resolveStreamOptions(options));
  }

  map(
    name: string,
    inputs: Iterable<unknown> | AsyncIterable<unknown>,
    options: MapOptions = {},
  ): AsyncGenerator {
    if (typeof name !== 'string') {
      throw new HotlaneError('OPTION', `\`map\`: expected a function's name first, got ${show(name)}.`);
    }
    const { maxLanes, concurrency } = this.#options;
    const resolved = resolveMapOptions(options, maxLanes * concurrency, this.#watchAll);
    const fn = this.#number(name);
    const { deadlineMs } = resolved;
    return mapCalls(
      (input, signal) => this.#invoke(fn, [input], { signal, deadlineMs }, null),
      inputs,
      resolved,
    );
  }

  ready(options: { readonly signal?: AbortSignal } = {}): Promise<void> {
    checkObject('ready(options)', options, ['signal']);
    checkSignal(options.signal);
    if (this.#state !== 'open') return Promise.reject(this.#closedError());
    const ready = this.#ready.wait(options.signal);
    if (this.#ready.length > 0) this.#fleet.grow();
    return ready;
  }

  /** How many calls would be accepted now, and find lanes that are up. */
  #places(): number {
    const up = this.#fleet.lanes.filter(lane => lane.state === 'up').length;
    if (up < Math.max(1, this.#options.minLanes) || this.#refusal(null, 0) !== null) return 0;
    return this.#mostInFlight - this.#inFlight + this.#placement.away();
  }

  stats(options: { readonly times?: boolean } = {}): PoolStats {
    checkObject('stats(options)', options, ['times']);
    const running = Math.min(this.#placement.running(), this.#inFlight);
    return {
      placement: this.#options.placement,
      lanes: this.#fleet.lanes.map(lane => ({ id: lane.id, state: lane.state, running: lane.running() })),
      queued: this.#inFlight - running,
      running,
      done: this.#done,
      failed: this.#failed,
      ...(flag('times', options.times, false) && { times: this.#times.distributions() }),
    };
  }

  close(): Promise<void> {
    this.#closing ??= this.#drainAndClose();
    return this.#closing;
  }

  destroy(reason?: unknown): Promise<void> {
    this.#destroying ??= this.#tearDown(reason);
    return this.#destroying;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  // ---- a call's way in -----------------------------------------------------------------------------------

  /** For a name, what makes calls of that function: numbered at its first call, since who only looks defines nothing. */
  #bind<O, R>(
    make: (fn: number, args: unknown[], options: O) => R,
  ): (name: string) => (options: O, args: unknown[]) => R {
    return name => {
      let fn = NOT_NUMBERED;
      return (options, args) => {
        if (fn < 0) fn = this.#number(name);
        return make(fn, args, options);
      };
    };
  }

  /** Makes a call, and blocks until it is settled. @returns what the function returns. @throws what it throws */
  #block(fn: number, args: unknown[], options: SyncOptions | null): unknown {
    const call = this.#accept(fn, args, options, null);
    if (call.talk !== null) {
      this.#placement.discard(call);
      call.talk.end(null);
      throw cannotTalk();
    }
    let failure: SyncFailure | null = null as SyncFailure | null;
    let result: unknown;
    call.sync = true;
    call.resolve = value => {
      result = value;
    };
    call.reject = reason => {
      failure = reason as SyncFailure;
    };
    this.#submit(call, options);
    const until = call.deadlineAt || Number.POSITIVE_INFINITY;
    this.#placement.block(call, until, () => this.#lookWhileBlocked(call));
    if (!call.settled) {
      call.watch ??= this.#graceOnly();
      this.#cancel(
        call,
        this.#clock.now() >= until ? overdue(this.#names[call.fn], call) : cannotBlock(this.#names[call.fn]),
      );
    }
    if (failure !== null) throw withCaller(failure.error, failure.lane);
    return result;
  }

  /** Does what events would do, for which the thread has no time. */
  #lookWhileBlocked(call: Call): void {
    const now = this.#clock.now();
    if (now - this.#lookedAt < LOOK_MS) return;
    this.#lookedAt = now;
    this.#fleet.lookAtLanes();
    // Where it is not known that its thread is gone, its slot is freed when its exit is seen.
    const lane = this.#laneOf(call);
    if (lane?.isDead()) this.settle(call, true, laneLost(lane, this.#names[call.fn], call, 'while it ran'));
  }

  #graceOnly(): CallWatch {
    return {
      graceMs: this.#options.graceMs,
      deadlineMs: Number.POSITIVE_INFINITY,
      signal: null,
      timer: null,
    };
  }

  /** Makes a call whose results are a stream. */
  #openStream(fn: number, args: unknown[], options: StreamOptions): Results {
    const window = options.window ?? DEFAULT_WINDOW;
    let call: Call;
    try {
      call = this.#accept(fn, args, options, null);
    } catch (error) {
      const refused = new Inlet(NOBODY, window, true);
      refused.fail(error);
      return new Results(refused);
    }
    call.window = window;
    const answer = new Promise(capture);
    call.resolve = resolveNew;
    call.reject = rejectNew;
    const talk = (call.talk ?? this.createTalk(call)) as HostTalk;
    call.talk = talk;
    const opened = talk.open(
      {
        credit: items => void this.#laneOf(call)?.say(call, CREDIT, 0, items, undefined),
        stop: () => this.#stopStream(call, answer),
      },
      window,
    );
    answer.then(
      () => opened.end(),
      error => opened.fail(error),
    );
    this.#submit(call, options === NO_STREAM_OPTIONS ? null : options);
    const results = new Results(opened);
    this.#streams.register(results, opened);
    return results;
  }

  /** Lets the function of a stream clean up, if it has begun. @returns when its call is over */
  async #stopStream(call: Call, answer: Promise<unknown>): Promise<void> {
    if (!call.settled) {
      if (this.#scheduler.recall(call)) {
        this.settle(call, false, undefined);
        this.#giveUp(call);
      } else {
        const lane = this.#laneOf(call);
        call.watch ??= this.#graceOnly();
        this.#clock.clearTimer(call.watch.timer);
        if (lane !== null) {
          call.watch.timer = this.#clock.setTimer(call.watch.graceMs, () =>
            this.#onGraceOver(call, lane, undefined),
          );
          lane.say(call, STOP, 0, 0, undefined);
        }
      }
    }
    await answer;
  }

  /** The function's number on the wire, or `NOT_NUMBERED` when there is no room for more names. */
  #number(name: string): number {
    const fn = this.#placement.defineFunction(name);
    if (fn >= 0) this.#names[fn] = name;
    return fn;
  }

  #invoke(fn: number, args: unknown[], options: CallOptions | null, lane: Lane | null): Promise<unknown> {
    return this.#watch.calls
      ? this.#invokeWatched(fn, args, options, lane)
      : this.#promise(fn, args, options, lane, null);
  }

  /** For those who watch calls: each is timed, and told of. */
  #invokeWatched(
    fn: number,
    args: unknown[],
    options: CallOptions | null,
    lane: Lane | null,
  ): Promise<unknown> {
    this.#times.all = true;
    const times = this.#timesOfNext();
    const about = { name: this.#names[fn] ?? '', key: options?.key, priority: options?.priority ?? 0 };
    return this.#watch.call(about, times, () => this.#promise(fn, args, options, lane, times));
  }

  /** @param times of a call that is watched; null for others, of which some are timed */
  #promise(
    fn: number,
    args: unknown[],
    options: CallOptions | null,
    lane: Lane | null,
    times: CallTimes | null,
  ): Promise<unknown> {
    let call: Call;
    try {
      call = this.#accept(fn, args, options, lane);
    } catch (error) {
      return Promise.reject(error);
    }
    const promise = new Promise(capture);
    call.resolve = resolveNew;
    call.reject = rejectNew;
    call.times = times;
    this.#submit(call, options);
    return promise;
  }

  /** Makes a call of a function and its arguments. @throws why it cannot be accepted */
  #accept(fn: number, args: unknown[], options: CallOptions | null, lane: Lane | null): Call {
    if (fn < 0) throw tooManyNames();
    let refused = this.#refusal(options, 0);
    if (refused !== null) throw refused.reason;
    const call = new Call(fn);
    call.lane = lane;
    call.only = lane !== null;
    if (options !== null) {
      call.retries = options.retries ?? 0;
      call.key = options.key;
      call.priority = options.priority ?? 0;
    }
    try {
      if (!this.#encode(call, args, options?.transfer ?? NO_TRANSFER)) {
        throw bytesFull(call.length, this.#queuedBytes, this.#options.maxQueuedBytes);
      }
      // Reading the arguments may have run code of the user's: getters that close the pool, abort, make calls.
      refused = this.#refusal(options, call.length);
      if (refused !== null) {
        this.#placement.discard(call);
        throw refused.reason;
      }
    } catch (error) {
      call.talk?.end(null); // what it would have read or called is let go
      throw error;
    }
    return call;
  }

  /** Hands an accepted call over, whose outcome is waited for by now. */
  #submit(call: Call, options: CallOptions | null): void {
    this.#queuedBytes += call.length;
    this.#inFlight++;
    if (this.#unsettled++ === 0) this.#placement.reviewHold();
    if (options !== null || this.#watchAll) this.#limit(call, options);
    if (call.times === null && --this.#untimed < 0) this.#time(call);
    this.#scheduler.submit(call);
    if (this.#inFlight > this.#fleet.growAbove) this.#fleet.grow();
  }

  /** Reads a call's arguments, and what goes along with it. False when that takes more bytes than there is room for. */
  #encode(call: Call, args: unknown[], transfer: readonly object[]): boolean {
    const room = this.#options.maxQueuedBytes - this.#queuedBytes;
    const carried = pack(this.#options.carry);
    if (carried === undefined) return this.#placement.encode(call, args, transfer, room);
    call.carries = true;
    try {
      return this.#placement.encode(call, [...args, carried], transfer, room);
    } catch (error) {
      throw blame(error, carried, value => this.#try(value));
    }
  }

  /** Whether a value can be encoded: throws why not. */
  #try(value: unknown): void {
    const call = new Call(NOT_NUMBERED);
    this.#placement.encode(call, [value], NO_TRANSFER, Number.POSITIVE_INFINITY);
    this.#placement.discard(call);
    call.talk?.end(null);
  }

  #time(call: Call): void {
    lookForTraceApi();
    this.#times.all = this.#watch.calls; // streams and blocking calls are not watched
    this.#untimed = this.#times.gap;
    call.times = this.#timesOfNext();
  }

  #timesOfNext(): CallTimes {
    return { queuedAt: this.#clock.now(), startedAt: 0, endedAt: 0, lane: 0 };
  }

  #onTimed({ queuedAt, startedAt, endedAt }: CallTimes): void {
    if (startedAt === 0 || endedAt === 0) return; // it never began, or its lane was lost before its end
    this.#times.add(startedAt - queuedAt, endedAt - startedAt);
    // Known calls to be long from now on: none of them is to pass untimed.
    this.#untimed = Math.min(this.#untimed, this.#times.gap);
    if (this.#placement.window !== null) this.#placement.window.serviceMs = this.#times.serviceMs;
  }

  /** Why a call that takes so many bytes cannot be accepted now; null when it can. */
  #refusal(options: CallOptions | null, bytes: number): { readonly reason: unknown } | null {
    if (this.#state !== 'open') return { reason: this.#closedError() };
    if (options?.signal?.aborted) return { reason: options.signal.reason };
    // Calls that lanes on their way out still run hold no place that others wait for.
    if (
      this.#inFlight >= this.#mostInFlight &&
      this.#inFlight - this.#placement.away() >= this.#mostInFlight
    ) {
      return { reason: queueFull(this.#options.maxQueue, this.#inFlight) };
    }
    if (this.#queuedBytes + bytes > this.#options.maxQueuedBytes)
      return { reason: bytesFull(bytes, this.#queuedBytes, this.#options.maxQueuedBytes) };
    return null;
  }

  /** Sets up what may cancel the call. */
  #limit(call: Call, options: CallOptions | null): void {
    const deadlineMs = options?.deadlineMs ?? this.#options.deadlineMs;
    const signal = options?.signal ?? null;
    const graceMs = options?.graceMs ?? this.#options.graceMs;
    if (signal === null && deadlineMs === Number.POSITIVE_INFINITY) return;
    call.watch = { graceMs, deadlineMs: Number.POSITIVE_INFINITY, signal, timer: null };
    if (signal !== null) this.#signals.watch(signal, call);
    if (deadlineMs !== Number.POSITIVE_INFINITY) {
      call.deadlineAt = this.#clock.now() + deadlineMs;
      call.watch.deadlineMs = deadlineMs;
      call.watch.timer = this.#clock.setTimer(deadlineMs, () =>
        this.#cancel(call, overdue(this.#names[call.fn], call)),
      );
    }
  }

  // ---- a call's way out ----------------------------------------------------------------------------------

  settle(call: Call, failed: boolean, value: unknown, lane?: Lane): void {
    if (call.settled) return;
    this.#onSettled(call);
    if (failed) {
      this.#failed++;
      // The lane saw that the time is up before we did; it does not know the function's name.
      const isOverdue = call.deadlineAt > 0 && isHotlaneError(value, 'DEADLINE') && value.message === OVERDUE;
      if (isOverdue) rejectCall(call, overdue(this.#names[call.fn], call), undefined);
      else rejectCall(call, value, lane?.id);
    } else {
      this.#done++;
      call.resolve(value);
    }
  }

  createTalk(call: Call): HostTalk {
    const say: Say = (op, id, number, value) => this.#laneOf(call)?.say(call, op, id, number, value) ?? 0;
    return new HostTalk(say, this.#placement, this.#kept);
  }

  onTalk(lane: TaskLane, op: number, id: number, number: number, value: unknown): void {
    this.#kept.receive(lane, op, id, number, value);
  }

  #onSettled(call: Call): void {
    call.settled = true;
    if (call.watch !== null) this.#unwatch(call);
    if (--this.#unsettled === 0) this.#placement.reviewHold();
  }

  finished(call: Call, lane: Lane | null): void {
    if (call.watch !== null) this.#clock.clearTimer(call.watch.timer);
    if (call.times !== null) {
      if (lane !== null) call.times.lane = lane.id;
      this.#onTimed(call.times);
    }
    if (call.talk !== null) call.talk.end(lane);
    this.#queuedBytes -= call.length;
    this.#inFlight--;
    this.#scheduler.onFinished(call, lane);
    if (this.#scheduler.waiting > 0) this.#scheduler.pump();
    if (lane !== null && lane.calls >= lane.wornAt) this.#fleet.onWorn(lane);
    if (this.#ready.length > 0) this.#ready.review();
    if (this.#inFlight === 0) this.#onDrained?.();
  }

  #unwatch(call: Call): void {
    const watch = call.watch!;
    this.#clock.clearTimer(watch.timer);
    if (watch.signal !== null) this.#signals.forget(watch.signal, call);
  }

  /** Rejects the caller at once; then takes the call back, or tells its lane to stop. */
  #cancel(call: Call, reason: unknown): void {
    if (call.settled) return;
    const { signal } = call.watch!;
    call.talk?.drop();
    this.#onSettled(call);
    this.#failed++;
    // A signal's reason is its owner's, and not ours to write to.
    if (signal?.aborted && reason === signal.reason) call.reject(reason);
    else rejectCall(call, reason, undefined);
    if (this.#wake(call) || this.#scheduler.recall(call)) {
      this.#giveUp(call);
      return;
    }
    const lane = this.#laneOf(call);
    if (lane === null) return;
    if (call.times !== null) call.times.lane = lane.id;
    const watch = call.watch!;
    watch.timer = this.#clock.setTimer(watch.graceMs, () => this.#onGraceOver(call, lane, reason));
    lane.abort(call, reason);
  }

  /**
   * The function goes on although its call was cancelled: its lane takes no more calls. Others that it runs may
   * finish within the same time again, if its loop still answers; then it is ended.
   */
  #onGraceOver(call: Call, lane: Lane, reason: unknown): void {
    if (call.slot === NOWHERE) return;
    const { graceMs } = call.watch!;
    if (this.#placement.window?.begun(call) === false) {
      // Claimed, and its function not begun: it waits for a message, behind another call maybe. It never will begin.
      const again = Math.max(1, graceMs);
      call.watch!.timer = this.#clock.setTimer(again, () => this.#onGraceOver(call, lane, reason));
      return;
    }
    const cause = overGrace(lane, this.#names[call.fn], graceMs, reason);
    const others = this.#placement.handed().some(other => !other.settled && this.#laneOf(other) === lane);
    if (!others) {
      lane.end(cause);
      return;
    }
    this.#fleet.retire(lane);
    call.watch!.timer = this.#clock.setTimer(graceMs, () => {
      if (call.slot !== NOWHERE) lane.end(cause);
    });
  }

  #laneOf(call: Call): TaskLane | null {
    const { window } = this.#placement;
    return window === null ? (call.outlet as TaskLane | null) : window.laneOf(call);
  }

  /** A settled call that no lane will run. */
  #giveUp(call: Call): void {
    this.#placement.discard(call);
    this.finished(call, null);
  }

  // ---- lanes come and go ---------------------------------------------------------------------------------

  createLane(id: number, events: LaneEvents): Lane {
    return this.#placement.createLane(id, events);
  }

  demand(): number {
    // Who waits to make a call needs a lane too.
    return Math.max(this.#inFlight - this.#scheduler.behindKeys, Math.min(1, this.#ready.length));
  }

  waiting(): number {
    return Math.max(0, this.demand() - this.#placement.running());
  }

  finishedCalls(): number {
    return this.#done + this.#failed;
  }

  serviceMs(): number {
    return this.#times.serviceMs;
  }

  hasBudget(): boolean {
    return this.#placement.hasBudget();
  }

  onCapacity(calls: number): void {
    const { window } = this.#placement;
    if (window === null) return;
    window.capacity = calls;
    this.#scheduler.pump();
  }

  onMoved(news: LaneNews): void {
    this.#watch.lane(news);
  }

  onBackOff(cause: unknown, waitMs: number): void {
    this.#watch.backOff(cause, waitMs);
  }

  onUp(lane: Lane): void {
    if (this.#placement.window === null) this.#scheduler.addOutlet(lane);
    else this.#scheduler.pump(); // broadcasts may wait for it
    this.#ready.review();
  }

  onLeaving(lane: Lane): void {
    if (this.#state === 'closed') return; // what it has is sorted when it is gone
    const calls = [...(this.#placement.window?.recallFrom(lane) ?? []), ...this.#scheduler.unbind(lane)];
    for (const call of calls) if (call.settled) this.#giveUp(call);
    this.#scheduler.requeue(calls.filter(call => !call.settled));
  }

  onGone(lane: Lane, unstarted: readonly Call[], started: readonly Call[]): void {
    this.#scheduler.removeOutlet(lane);
    if (this.#kept.size > 0) this.#kept.onLaneGone(lane);
    let told = started.length > 0;
    for (const call of started) {
      if (call.times !== null) call.times.lane = lane.id;
      if (this.#mayRunAgain(call)) {
        this.#rest(call);
        continue;
      }
      this.settle(call, true, laneLost(lane, this.#names[call.fn], call, 'while it ran'));
      this.#giveUp(call);
    }
    const again: Call[] = [];
    for (const call of [...unstarted, ...this.#scheduler.takeBound(lane)]) {
      if (!call.settled && !call.only && call.losses < MOST_LOSSES) {
        again.push(call);
        continue;
      }
      told ||= !call.settled;
      const neverUp = isHotlaneError(lane.cause, 'LANE_START');
      this.settle(
        call,
        true,
        neverUp ? cannotStart(lane.cause) : laneLost(lane, this.#names[call.fn], call, 'before it began'),
      );
      this.#giveUp(call);
    }
    this.#scheduler.requeue(again);
    if (!told && lane.cause !== undefined && this.#destroying === null) this.#reportUnlessTold(lane);
  }

  #mayRunAgain(call: Call): boolean {
    if (call.settled || call.retries === 0) return false;
    // What was moved is gone, as are items that were read, or given out.
    return call.window === 0 && !call.talk?.readsInputs && (call.side?.transfer.length ?? 0) === 0;
  }

  /** Lets a call that is to run again wait a little, each time longer, and no two alike. */
  #rest(call: Call): void {
    call.retries--;
    const wait = backoffMs(FIRST_REST_MS, LONGEST_REST_MS, call.rests++) * (0.5 + this.#clock.random() / 2);
    const timer = this.#clock.setTimer(wait, () => {
      this.#resting.delete(call);
      this.#scheduler.requeue([call]);
      this.#fleet.grow();
    });
    this.#resting.set(call, timer);
  }

  /** Takes a call out of its rest: true, and nothing has it any more. */
  #wake(call: Call): boolean {
    const timer = this.#resting.get(call);
    if (!this.#resting.delete(call)) return false;
    this.#clock.clearTimer(timer);
    return true;
  }

  /** A lane is gone with a cause, and no call has heard of it yet. `onCannotStart` may still tell those that wait. */
  #reportUnlessTold(lane: Lane): void {
    queueMicrotask(() => {
      const { cause } = lane;
      if (this.#toldCause === cause || this.#destroying !== null) return;
      this.#onError(lostIdle(lane));
    });
  }

  onCannotStart(cause: unknown): void {
    if (this.#ready.length > 0) {
      this.#toldCause = cause;
      this.#ready.refuse(() => cannotStart(cause));
    }
    for (const call of [...(this.#placement.window?.recallAll() ?? []), ...this.#scheduler.takeAll()]) {
      this.#toldCause = cause;
      this.settle(call, true, cannotStart(cause));
      this.#giveUp(call);
    }
  }

  // ---- the end -------------------------------------------------------------------------------------------

  async #drainAndClose(): Promise<void> {
    if (this.#state === 'open') this.#state = 'closing';
    this.#ready.refuse(() => this.#closedError());
    if (this.#inFlight > 0) {
      await new Promise<void>(resolve => {
        this.#onDrained = resolve;
        this.#placement.reviewHold();
      });
      this.#onDrained = null;
      this.#placement.reviewHold();
    }
    this.#state = 'closed';
    this.#isEnding = true;
    this.#placement.reviewHold();
    await this.#fleet.close(undefined);
    this.#kept.clear();
    this.#placement.dispose();
  }

  async #tearDown(reason: unknown): Promise<void> {
    this.#state = 'closed';
    this.#ready.refuse(() => new HotlaneError('CLOSED', this.#closedError().message, { cause: reason }));
    const { message } = this.#closedError();
    const waiting = [
      ...this.#scheduler.takeAll(),
      ...[...this.#resting.keys()].filter(call => this.#wake(call)),
    ];
    for (const call of [...this.#placement.handed(), ...waiting]) {
      this.settle(call, true, new HotlaneError('CLOSED', message, { cause: reason }));
    }
    for (const call of waiting) this.#giveUp(call);
    for (const call of this.#placement.window?.recallAll() ?? []) this.#giveUp(call);
    await this.#fleet.close(reason ?? new HotlaneError('CLOSED', message));
    this.#kept.clear();
    this.#placement.dispose();
  }

  #closedError(): HotlaneError {
    return new HotlaneError(
      'CLOSED',
      this.#destroying === null && this.#state !== 'closed'
        ? 'This pool is closing and takes no more calls.'
        : 'This pool was closed. Make another with createPool().',
    );
  }
}

/** The same without options to give. */
function withNo<O, R>(
  options: O,
  bind: (name: string) => (options: O, args: unknown[]) => R,
): (name: string) => (...args: unknown[]) => R {
  return name => {
    const make = bind(name);
    return (...args) => make(options, args);
  };
}

/** Why a sync call failed, and on which lane: see `rejectCall`. */
interface SyncFailure {
  readonly error: unknown;
  readonly lane: number | undefined;
}

/** @param lane the number of the lane whose function threw the error; undefined for an error of ours */
function rejectCall(call: Call, error: unknown, lane: number | undefined): void {
  if (call.sync) call.reject({ error, lane } satisfies SyncFailure);
  else call.resolve(rejectWithCallers(error, lane));
}
