import { existsSync } from 'node:fs';
import { getHeapStatistics } from 'node:v8';
import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from 'node:worker_threads';
import { decodeAlone } from '../call/alone.ts';
import { HotlaneError } from '../errors.ts';
import { type Budget, NO_CELL } from '../fleet/budget.ts';
import { type Call, NOWHERE } from '../lane/call.ts';
import type { Demand, LaneEvents, LaneState, Placement, TaskLane, TaskOutcomes } from '../lane/lane.ts';
import type { ResolvedPoolOptions } from '../options.ts';
import { refuseGreeting } from '../transport/handshake.ts';
import { LEAST_INBOX, type ToHost, type ToLane, type WindowMemory } from '../transport/layout.ts';
import { MOST_AHEAD, SharedWindow } from '../transport/window.ts';
import type { HookOptions } from '../worker/hooks.ts';
import { clock, clone, cores, KeepAlive, now, processBudget, snapshot, turn } from './node.ts';
import { nodeCodec } from './node-codec.ts';

/** What a thread is started with. */
export interface ThreadData {
  readonly port: MessagePort;
  readonly module: string;
  readonly concurrency: number;
  readonly heapBytes: number;
  readonly hooks: HookOptions;
  readonly window: WindowMemory;
  /** What all pools of the process share (fleet/budget.ts), and this lane's cell in it. */
  readonly budget: SharedArrayBuffer;
  readonly cell: number;
  /** The host maps its stacks back to sources; so does the lane then. */
  readonly sourceMaps: boolean;
}

const MIB = 1024 * 1024;
const MOST_SHARED_BYTES = 64 * MIB;
const MOST_VALUE_BYTES = 2 ** 30;
const MOST_SLOTS = 65_536;

/** Threads inherit the process's flags; but one that belongs to `--eval` would keep them from loading a file. */
const isForEval = (flag: string, i: number, flags: string[]): boolean =>
  flag.startsWith('--input-type') || flags[i - 1] === '--input-type';
const execArgv = process.execArgv.some(isForEval)
  ? process.execArgv.filter((flag, i, flags) => !isForEval(flag, i, flags))
  : undefined;

const entry = new URL(import.meta.resolve('#thread-entry'));

/** Lanes that are worker threads of Node and pull from a window in shared memory. */
export class ThreadPlacement implements Placement {
  readonly window: SharedWindow;
  readonly #options: ThreadOptions;
  readonly #budget: Budget | null;
  readonly #keepAlive = new KeepAlive();
  readonly #lanes = new Set<ThreadLane>();

  /**
   * @param module the task module's absolute URL
   * @param demand what the pool says of its calls
   */
  constructor(module: string, options: ResolvedPoolOptions, outcomes: TaskOutcomes, demand: Demand) {
    const { setup, teardown, concurrency } = options;
    const heapMb = options.heapMb || Math.floor(getHeapStatistics().heap_size_limit / MIB);
    const data = snapshot(options.data);
    const { heapBytes } = options.recycle;
    this.#options = { module, concurrency, heapMb, heapBytes, setup, teardown, data };
    this.#budget = options.budget ? processBudget() : null;
    this.#budget?.allow(options.maxLanes);
    const hold = (on: boolean) => this.#keepAlive.set(on);
    const platform = { clock, codec: nodeCodec, clone, cores, turn, keepAlive: hold };
    const seats = 2 * options.maxLanes; // a lane and its replacement overlap
    const slots = Math.min(MOST_SLOTS, powerOfTwo(MOST_AHEAD + seats * options.concurrency));
    const inbox = powerOfTwo(Math.max(LEAST_INBOX, options.concurrency));
    const limits = { seats, slots, inbox, mostBytes: MOST_SHARED_BYTES, mostValueBytes: MOST_VALUE_BYTES };
    this.window = new SharedWindow(platform, outcomes, limits, demand);
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
    const lane = new ThreadLane(id, events, this.window, this.#options, this.#budget, () =>
      this.#lanes.delete(lane),
    );
    this.#lanes.add(lane);
    return lane;
  }

  readonly now = now;
  readonly turn = turn;

  hasBudget(): boolean {
    return this.#budget?.hasRoom() ?? true;
  }
}

/** What is the same for all lanes of a pool. */
interface ThreadOptions {
  /** The task module's absolute URL. */
  readonly module: string;
  readonly concurrency: number;
  readonly heapMb: number;
  readonly heapBytes: number;
  readonly setup: string | undefined;
  readonly teardown: string | undefined;
  readonly data: unknown;
}

class ThreadLane implements TaskLane {
  readonly id: number;
  state: LaneState = 'starting';
  cause: unknown;
  calls = 0;
  wornAt = Number.POSITIVE_INFINITY;
  readonly #events: LaneEvents;
  readonly #window: SharedWindow;
  readonly #port: MessagePort;
  readonly #budget: Budget | null;
  readonly #cell: number;
  readonly #forget: () => void;
  #seat = NOWHERE;
  #worker: Worker | null = null;
  #gone = false;

  constructor(
    id: number,
    events: LaneEvents,
    window: SharedWindow,
    { module, concurrency, heapMb, heapBytes, setup, teardown, data }: ThreadOptions,
    budget: Budget | null,
    onGone: () => void,
  ) {
    this.id = id;
    this.#forget = onGone;
    this.#budget = budget;
    this.#cell = budget?.take() ?? NO_CELL;
    this.#events = events;
    this.#window = window;
    const { port1, port2 } = new MessageChannel();
    this.#port = port1;
    port1.on('message', (message: ToHost) => this.#receive(message));
    port1.on('messageerror', error => {
      // It may have been a result, and cannot be told whose: the lane's calls settle as lost.
      this.end(
        new HotlaneError('PROTOCOL', `Lane ${id} sent a message that cannot be read: ${error.message}`),
      );
    });
    port1.unref();
    try {
      const shared = window.seat(this, (message, transfer) => this.#post(message, transfer));
      this.#seat = shared.seat;
      // A flag is inherited; what the process turned on by itself is not.
      const sourceMaps = process.sourceMapsEnabled === true;
      const workerData: ThreadData = {
        port: port2,
        module,
        concurrency,
        heapBytes,
        hooks: { setup, teardown, data, laneId: id },
        window: shared,
        sourceMaps,
        budget: processBudget().buffer,
        cell: this.#cell,
      };
      const worker = new Worker(entry, {
        workerData,
        transferList: [port2],
        name: `hotlane ${id}`,
        execArgv,
        // Without a limit of its own a thread that runs out of memory takes the process with it.
        resourceLimits: { maxOldGenerationSizeMb: heapMb },
      });
      this.#worker = worker;
      worker.unref();
      worker.on('error', error => {
        this.cause ??= error;
      });
      worker.once('exit', code => this.#onExit(code));
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
    this.#post({ kind: 'drain' });
  }

  end(cause: unknown): void {
    this.cause ??= cause;
    if (this.#gone) return;
    this.#post({ kind: 'drain' }); // should its loop still turn, it takes no more calls
    this.#worker?.terminate();
    this.#events.onEnding(this);
  }

  #post(message: ToLane, transfer?: readonly object[]): void {
    this.#port.postMessage(message, transfer as never);
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
        this.end(causeOf(message.cause));
        break;
      case 'drained':
        if (this.state === 'draining') {
          this.end(message.trouble === undefined ? undefined : causeOf(message.trouble));
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
    for (let next = receiveMessageOnPort(this.#port); next; next = receiveMessageOnPort(this.#port)) {
      this.#receive(next.message);
    }
  }

  isDead(): boolean {
    if (this.#gone || this.#worker === null) return true;
    // Node does not know how long the loop of a thread was idle that is about to end.
    return this.#worker.performance.eventLoopUtilization().idle < 0;
  }

  sweep(): void {
    const thread = this.#gone ? 0 : this.#window.threadOf(this.#seat);
    if (thread > 0 && !existsSync(`/proc/self/task/${thread}`)) this.#onExit(undefined);
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
    this.#port.close();
    const { unstarted, started } = this.#window.vacate(this.#seat);
    this.#events.onEnded(this, unstarted, started);
  }
}

function powerOfTwo(atLeast: number): number {
  return 2 ** Math.ceil(Math.log2(atLeast));
}

function causeOf(bytes: unknown): unknown {
  try {
    return decodeAlone(bytes, nodeCodec);
  } catch (error) {
    return error;
  }
}
