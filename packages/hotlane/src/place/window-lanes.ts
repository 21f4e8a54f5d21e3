import { decodeAlone } from '../call/alone.ts';
import { HotlaneError } from '../errors.ts';
import { type Budget, NO_CELL } from '../fleet/budget.ts';
import { type Call, NOWHERE } from '../lane/call.ts';
import type { Demand, LaneEvents, LaneState, Placement, TaskLane, TaskOutcomes } from '../lane/lane.ts';
import type { ResolvedPoolOptions } from '../options.ts';
import { refuseGreeting } from '../transport/handshake.ts';
import { LEAST_INBOX, type ToHost, type ToLane, type WindowMemory } from '../transport/layout.ts';
import { MOST_AHEAD, SharedWindow, type WindowPlatform } from '../transport/window.ts';
import type { HookOptions } from '../worker/hooks.ts';
import { processBudget } from './budget.ts';

/** What a thread is told at its start, wherever it is. It can be cloned. */
export interface LaneStart {
  readonly concurrency: number;
  readonly heapBytes: number;
  readonly hooks: HookOptions;
  readonly window: WindowMemory;
  /** What all pools of the process share (fleet/budget.ts), and this lane's cell in it. */
  readonly budget: SharedArrayBuffer;
  readonly cell: number;
}

/** A thread that runs one lane, as its platform has it. */
export interface LaneThread {
  post(message: ToLane, transfer?: readonly object[]): void;
  /** Hands on, at once, what lies in its port, where that can be done. */
  receiveAll(): void;
  /** Ends it, whatever it does; `ThreadEvents.onExit` follows. */
  terminate(): void;
  /** Whether it is about to end, or has, as far as can be told without events. */
  isDead(): boolean;
  /** The same, for certain. @param thread the system's number of it; 0 when it is not known */
  isGone(thread: number): boolean;
  /** Its lane is gone: lets go of its port. */
  close(): void;
}

/** What a thread tells its lane. */
export interface ThreadEvents {
  onMessage(message: ToHost): void;
  /** A message cannot be read. */
  onUnreadable(error: Error): void;
  /** What the thread fails of; its end follows. */
  onError(error: unknown): void;
  /** Nothing of it runs any more. @param code with which it exited, where there are such codes */
  onExit(code?: number): void;
}

/** What lanes need of where they run. */
export interface LanePlatform extends Omit<WindowPlatform, 'keepAlive'> {
  /** Whether this thread may wait without letting its event loop turn. */
  readonly mayBlock: boolean;
  /** What holds the process while it is on. */
  createKeepAlive(): { set(on: boolean): void; dispose(): void };
  /** What the pool's lanes are given at their start, as it is now. @throws HotlaneError NOT_CLONEABLE */
  snapshot<T>(data: T): T;
  /** Starts a thread. @throws what the platform throws when that cannot be */
  start(given: LaneStart, events: ThreadEvents): LaneThread;
}

const MIB = 1024 * 1024;
const MOST_SHARED_BYTES = 64 * MIB;
const MOST_VALUE_BYTES = 2 ** 30;
const MOST_SLOTS = 65_536;

/** Lanes that are threads and pull from a window in shared memory. */
export class WindowPlacement implements Placement {
  readonly window: SharedWindow;
  readonly now: () => number;
  readonly turn: (next: () => void) => void;
  readonly #platform: LanePlatform;
  readonly #options: ThreadOptions;
  readonly #budget: Budget | null;
  readonly #keepAlive: ReturnType<LanePlatform['createKeepAlive']>;
  readonly #lanes = new Set<WindowLane>();

  /** @param demand what the pool says of its calls */
  constructor(platform: LanePlatform, options: ResolvedPoolOptions, outcomes: TaskOutcomes, demand: Demand) {
    const { clock, codec, clone, cores, turn } = platform;
    this.#platform = platform;
    this.now = clock.now;
    this.turn = turn;
    const { setup, teardown, concurrency } = options;
    const data = platform.snapshot(options.data);
    const { heapBytes } = options.recycle;
    this.#options = { concurrency, heapBytes, setup, teardown, data };
    this.#budget = options.budget ? processBudget(cores) : null;
    this.#budget?.allow(options.maxLanes);
    this.#keepAlive = platform.createKeepAlive();
    const keepAlive = (on: boolean) => this.#keepAlive.set(on);
    const seats = 2 * options.maxLanes; // a lane and its replacement overlap
    const slots = Math.min(MOST_SLOTS, powerOfTwo(MOST_AHEAD + seats * options.concurrency));
    const inbox = powerOfTwo(Math.max(LEAST_INBOX, options.concurrency));
    const limits = { seats, slots, inbox, mostBytes: MOST_SHARED_BYTES, mostValueBytes: MOST_VALUE_BYTES };
    this.window = new SharedWindow({ clock, codec, clone, cores, turn, keepAlive }, outcomes, limits, demand);
  }

  defineFunction(name: string): number {
    return this.window.defineFunction(name);
  }

  encode(call: Call, args: readonly unknown[], transfer: readonly object[], mostBytes: number): boolean {
    return this.window.encode(call, args, transfer, mostBytes);
  }

  discard(call: Call): void {
    this.window.discard(call);
  }

  running(): number {
    return this.window.runningInAll();
  }

  away(): number {
    return this.window.away();
  }

  handed(): Call[] {
    return this.window.handed();
  }

  block(call: Call, until: number, look: () => void): void {
    if (!this.#platform.mayBlock) return; // so the call cannot finish, which the pool tells
    this.window.block(call, until, () => {
      for (const lane of this.#lanes) lane.receiveAll();
      look();
    });
  }

  reviewHold(): void {
    this.window.reviewHold();
  }

  dispose(): void {
    this.window.dispose();
    this.#keepAlive.dispose();
  }

  createLane(id: number, events: LaneEvents): TaskLane {
    const lane = new WindowLane(id, events, this.window, this.#options, this.#platform, this.#budget, () =>
      this.#lanes.delete(lane),
    );
    this.#lanes.add(lane);
    return lane;
  }

  hasBudget(): boolean {
    return this.#budget?.hasRoom() ?? true;
  }
}

/** What is the same for all lanes of a pool. */
interface ThreadOptions {
  readonly concurrency: number;
  readonly heapBytes: number;
  readonly setup: string | undefined;
  readonly teardown: string | undefined;
  readonly data: unknown;
}

class WindowLane implements TaskLane {
  readonly id: number;
  state: LaneState = 'starting';
  cause: unknown;
  calls = 0;
  wornAt = Number.POSITIVE_INFINITY;
  readonly #events: LaneEvents;
  readonly #window: SharedWindow;
  readonly #codec: LanePlatform['codec'];
  readonly #budget: Budget | null;
  readonly #cell: number;
  readonly #forget: () => void;
  #seat = NOWHERE;
  #thread: LaneThread | null = null;
  #gone = false;

  constructor(
    id: number,
    events: LaneEvents,
    window: SharedWindow,
    { concurrency, heapBytes, setup, teardown, data }: ThreadOptions,
    platform: LanePlatform,
    budget: Budget | null,
    onGone: () => void,
  ) {
    this.id = id;
    this.#forget = onGone;
    this.#budget = budget;
    this.#cell = budget?.take() ?? NO_CELL;
    this.#events = events;
    this.#window = window;
    this.#codec = platform.codec;
    try {
      const shared = window.seat(this, (message, transfer) => this.#thread?.post(message, transfer));
      this.#seat = shared.seat;
      const given: LaneStart = {
        concurrency,
        heapBytes,
        hooks: { setup, teardown, data, laneId: id },
        window: shared,
        budget: processBudget(platform.cores).buffer,
        cell: this.#cell,
      };
      this.#thread = platform.start(given, {
        onMessage: message => this.#receive(message),
        onUnreadable: error => {
          // It may have been a result, and cannot be told whose: the lane's calls settle as lost.
          const what = `Lane ${id} sent a message that cannot be read: ${error.message}`;
          this.end(new HotlaneError('PROTOCOL', what));
        },
        onError: error => {
          this.cause ??= error;
        },
        onExit: code => this.#onExit(code),
      });
    } catch (error) {
      this.cause = error;
      queueMicrotask(() => this.#onGone());
    }
  }

  room(): number {
    return this.state === 'up' ? this.#window.inboxRoom(this.#seat) : 0;
  }

  wait(): number {
    return this.#window.running(this.#seat);
  }

  hand(call: Call): void {
    this.#window.handTo(this.#seat, call);
  }

  recall(call: Call): boolean {
    return this.#window.recall(call);
  }

  recallBehind(call: Call): Call[] {
    return this.state === 'up' ? this.#window.recallBehindIn(this.#seat, call) : [];
  }

  running(): number {
    return this.#gone ? 0 : this.#window.running(this.#seat);
  }

  abort(call: Call, reason: unknown): void {
    this.#window.abort(call, reason);
  }

  say(call: Call | null, op: number, id: number, number: number, value: unknown): number {
    if (this.#gone) return 0;
    if (call !== null) return this.#window.say(call, op, id, number, value);
    return this.#window.sayTo(this.#seat, op, id, number, value);
  }

  drain(): void {
    this.#thread?.post({ kind: 'drain' });
  }

  end(cause: unknown): void {
    this.cause ??= cause;
    if (this.#gone) return;
    this.#thread?.post({ kind: 'drain' }); // should its loop still turn, it takes no more calls
    this.#thread?.terminate();
    this.#events.onEnding(this);
  }

  #receive(message: ToHost): void {
    switch (message?.kind) {
      case 'up': {
        const refused = refuseGreeting(this.id, message.greeting);
        if (refused === null) this.#events.onUp(this);
        else this.end(refused);
        break;
      }
      case 'failed':
        this.end(this.#causeOf(message.cause));
        break;
      case 'drained':
        if (this.state === 'draining') {
          this.end(message.trouble === undefined ? undefined : this.#causeOf(message.trouble));
        }
        break;
      case 'worn':
        this.#events.onWorn(this);
        break;
      default:
        this.#window.onMessage(this.#seat, message ?? {});
    }
  }

  /** Takes in what lies in its port, without waiting for the event. */
  receiveAll(): void {
    this.#thread?.receiveAll();
  }

  isDead(): boolean {
    return this.#gone || this.#thread === null || this.#thread.isDead();
  }

  sweep(): void {
    if (!this.#gone && this.#thread?.isGone(this.#window.threadOf(this.#seat))) this.#onExit(undefined);
  }

  #onExit(code: number | undefined): void {
    if (this.#gone) return; // swept already
    this.receiveAll(); // what it said last may still lie in its port
    if (this.cause === undefined && this.state !== 'draining') {
      this.cause = new HotlaneError(
        'LANE_LOST',
        `Lane ${this.id} exited${code === undefined ? '' : ` with code ${code}`}.`,
      );
    }
    this.#onGone();
  }

  #onGone(): void {
    if (this.#gone) return;
    this.#gone = true;
    this.#budget?.free(this.#cell);
    this.#forget();
    this.#thread?.close();
    const { unstarted, started } = this.#window.vacate(this.#seat);
    this.#events.onEnded(this, unstarted, started);
  }

  #causeOf(bytes: unknown): unknown {
    try {
      return decodeAlone(bytes, this.#codec);
    } catch (error) {
      return error;
    }
  }
}

function powerOfTwo(atLeast: number): number {
  return 2 ** Math.ceil(Math.log2(atLeast));
}
