import { Decoder } from '../call/decode.ts';
import { DefinitionLog } from '../call/definitions.ts';
import { Encoder } from '../call/encode.ts';
import { emptyRoom, HeapSink, memoryOver } from '../call/memory.ts';
import {
  NO_CALL,
  opOfUnreadable,
  readTalk,
  type TalkEntry,
  type TalkMessage,
  TalkWriter,
} from '../call/talk.ts';
import { notCloneable } from '../errors.ts';
import { type Call, NOWHERE, type SideValues } from '../lane/call.ts';
import type { Demand, LaneEvents, LaneState, Placement, TaskLane, TaskOutcomes } from '../lane/lane.ts';
import type { ResolvedPoolOptions } from '../options.ts';
import type { Carried } from '../worker/carried.ts';
import type { Tracker } from '../worker/context.ts';
import { type Answers, Executor } from '../worker/executor.ts';
import { type HookOptions, setUp, tearDown } from '../worker/hooks.ts';
import type { InvocationHost } from '../worker/invocation.ts';
import { KeptCallbacks, LaneTalk, type Say } from '../worker/talk.ts';
import type { Tasks } from '../worker/tasks.ts';
import { clone, snapshot } from './clone.ts';
import { loadTasks } from './load.ts';
import { apart, KeepAlive, now, turn } from './node.ts';
import { nodeCodec } from './node-codec.ts';
import { inlineTracker } from './tracker.ts';

const MOST_VALUE_BYTES = 2 ** 30;
const NOTHING: readonly unknown[] = [];
const NO_CALLS: Call[] = [];
const EMPTY_ROOM = emptyRoom();
const LOG_BYTES = 64 * 1024;

/**
 * Lanes in the host's own thread. They are pushed to; arguments and results go through the codec as on the way
 * to a thread, so what works here works there. A function that has begun cannot be ended by force: its lane
 * is given up and its result ignored.
 */
export class InlinePlacement implements Placement {
  readonly window = null;
  readonly names: string[] = [];
  readonly #numbers = new Map<string, number>();
  readonly #options: InlineOptions;
  readonly #outcomes: TaskOutcomes;
  readonly #demand: Demand;
  readonly #heap = new HeapSink(MOST_VALUE_BYTES);
  readonly log = new DefinitionLog(LOG_BYTES);
  readonly shapes = this.log.writer(nodeCodec);
  readonly #encoder = new Encoder(nodeCodec, this.shapes);
  /** The calls whose arguments are encoded now, the inner one last: a getter may make a call. */
  readonly #encoded: Call[] = [];
  readonly #keepAlive = new KeepAlive();
  readonly #tracker = inlineTracker();
  readonly #lanes = new Set<InlineLane>();

  constructor(module: string, options: ResolvedPoolOptions, outcomes: TaskOutcomes, demand: Demand) {
    const { concurrency, setup, teardown } = options;
    this.#options = { module, concurrency, setup, teardown, data: snapshot(options.data) };
    this.#outcomes = outcomes;
    this.#demand = demand;
    this.#encoder.refer = value => {
      const call = this.#encoded.at(-1)!;
      call.talk ??= outcomes.createTalk(call);
      return call.talk.refer(value);
    };
  }

  defineFunction(name: string): number {
    let number = this.#numbers.get(name);
    if (number === undefined) {
      number = this.names.push(name) - 1;
      this.#numbers.set(name, number);
    }
    return number;
  }

  encode(call: Call, args: readonly unknown[], transfer: readonly object[], mostBytes: number): boolean {
    this.#encoded.push(call);
    try {
      call.length = this.#encoder.encodeArguments(args, EMPTY_ROOM, this.#heap, transfer);
    } finally {
      this.#encoded.pop();
    }
    if (call.length > mostBytes) return false;
    const { room, side } = this.#encoder;
    if (side.length > 0 || transfer.length > 0) call.side = moveAside({ values: side, transfer });
    call.memory = room.memory;
    call.start = room.start;
    this.#encoder.release();
    return true;
  }

  discard(call: Call): void {
    call.memory = null;
    call.side = null;
  }

  running(): number {
    let running = 0;
    for (const lane of this.#lanes) running += lane.running();
    return running;
  }

  away(): number {
    let away = 0;
    for (const lane of this.#lanes) if (lane.state === 'draining') away += lane.running();
    return away;
  }

  handed(): Call[] {
    return [...this.#lanes].flatMap(lane => lane.handed());
  }

  /** Runs the call here and now, which is all that can be done: this is the thread that it would wait for. */
  block(call: Call): void {
    for (const lane of this.#lanes) lane.runNow(call);
  }

  reviewHold(): void {
    this.#keepAlive.set(this.#demand.holds());
  }

  dispose(): void {
    this.#keepAlive.dispose();
  }

  createLane(id: number, events: LaneEvents): TaskLane {
    const lane = new InlineLane(id, this.#options, this, events, this.#outcomes, this.#tracker);
    this.#lanes.add(lane);
    return lane;
  }

  forget(lane: InlineLane): void {
    this.#lanes.delete(lane);
  }

  /** Its lanes are no threads. */
  readonly now = now;
  readonly turn = turn;

  hasBudget(): boolean {
    return true;
  }
}

/** What is the same for all lanes of a pool. */
interface InlineOptions {
  readonly module: string;
  readonly concurrency: number;
  readonly setup: string | undefined;
  readonly teardown: string | undefined;
  readonly data: unknown;
}

class InlineLane implements TaskLane, Answers, InvocationHost {
  readonly id: number;
  readonly laneId: number;
  state: LaneState = 'starting';
  cause: unknown;
  calls = 0;
  wornAt = Number.POSITIVE_INFINITY;
  readonly #concurrency: number;
  readonly #placement: InlinePlacement;
  readonly #events: LaneEvents;
  readonly #outcomes: TaskOutcomes;
  readonly #executor: Executor;
  readonly #decoder: Decoder;
  readonly #answers: { readonly encoder: Encoder; readonly decoder: Decoder };
  /** What calls say: from the host, and to it. */
  readonly #toLane: TalkWriter;
  readonly #toHost: TalkWriter;
  readonly #kept: KeptCallbacks;
  readonly #talks = new Map<number, LaneTalk>();
  #decoding: LaneTalk | null = null;
  /** By ticket: how many calls have had it. */
  readonly #serials: number[];
  readonly #heap = new HeapSink(MOST_VALUE_BYTES);
  /** By ticket: the calls it has, whether begun, and whether cancelled. */
  readonly #calls: (Call | null)[];
  readonly #begun: boolean[];
  readonly #cancelled: boolean[];
  #held = 0;
  #ended = false;
  #tasks: Tasks | null = null;
  #tearDown: ReturnType<typeof tearDown> = null;

  constructor(
    id: number,
    { module, concurrency, setup, teardown, data }: InlineOptions,
    placement: InlinePlacement,
    events: LaneEvents,
    outcomes: TaskOutcomes,
    tracker: Tracker,
  ) {
    this.id = id;
    this.laneId = id;
    this.#concurrency = concurrency;
    this.#placement = placement;
    this.#events = events;
    this.#outcomes = outcomes;
    this.#executor = new Executor(this, this, tracker);
    this.#decoder = new Decoder(nodeCodec, placement.log.reader(nodeCodec));
    const log = new DefinitionLog(LOG_BYTES);
    const shapes = log.writer(nodeCodec);
    this.#answers = {
      encoder: new Encoder(nodeCodec, shapes),
      decoder: new Decoder(nodeCodec, log.reader(nodeCodec)),
    };
    this.#decoder.resolve = (kind, id) => this.#decoding!.resolve(kind, id);
    this.#toLane = new TalkWriter(new Encoder(nodeCodec, placement.shapes), { now, turn, clone }, message =>
      turn(() => this.#hear(message, this.#decoder, (...heard) => this.#tellTask(...heard))),
    );
    this.#toHost = new TalkWriter(new Encoder(nodeCodec, shapes), { now, turn, clone }, message =>
      turn(() => this.#hear(message, this.#answers.decoder, (...heard) => this.#tellHost(...heard))),
    );
    this.#kept = new KeptCallbacks((op, id, number, value) =>
      this.#toHost.say(NO_CALL, 0, op, id, number, value),
    );
    this.#serials = new Array(concurrency).fill(0);
    this.#calls = new Array(concurrency).fill(null);
    this.#begun = new Array(concurrency).fill(false);
    this.#cancelled = new Array(concurrency).fill(false);
    this.#load(module, { setup, teardown, data: snapshot(data), laneId: id }).then(
      () => {
        if (!this.#ended) events.onUp(this);
      },
      error => this.end(error),
    );
  }

  async #load(module: string, hooks: HookOptions): Promise<void> {
    const tasks = await loadTasks(module);
    this.#tearDown = tearDown(tasks, hooks);
    await setUp(tasks, hooks);
    this.#tasks = tasks;
  }

  now = now;

  cancelled(ticket: number): boolean {
    return this.#cancelled[ticket];
  }

  room(): number {
    return this.state === 'up' && !this.#ended ? this.#concurrency - this.#held : 0;
  }

  wait(): number {
    return this.#held;
  }

  hand(call: Call): void {
    const ticket = this.#calls.indexOf(null);
    this.#calls[ticket] = call;
    this.#begun[ticket] = false;
    this.#cancelled[ticket] = false;
    this.#serials[ticket]++;
    call.slot = ticket;
    this.#held++;
    turn(() => this.#begin(ticket, call));
  }

  recall(call: Call): boolean {
    if (this.#calls[call.slot] !== call || this.#begun[call.slot]) return false;
    this.#release(call);
    return true;
  }

  /** What it was handed begins in the next turn of the event loop: that is as good as begun. */
  recallBehind(): Call[] {
    return NO_CALLS;
  }

  running(): number {
    return this.#executor.running;
  }

  isDead(): boolean {
    return false;
  }

  sweep(): void {}

  runNow(call: Call): void {
    if (this.#calls[call.slot] === call) this.#begin(call.slot, call);
  }

  handed(): Call[] {
    return this.#calls.filter(call => call !== null);
  }

  abort(call: Call, reason: unknown): void {
    this.#cancelled[call.slot] = true;
    this.#executor.abort(call.slot, reason);
  }

  say(call: Call | null, op: number, id: number, number: number, value: unknown): number {
    if (call === null) return this.#toLane.say(NO_CALL, 0, op, id, number, value);
    const { slot } = call;
    if (this.#calls[slot] !== call) return 0;
    return this.#toLane.say(slot, this.#serials[slot], op, id, number, value);
  }

  drain(): void {
    if (this.#held > 0) return;
    if (this.#tearDown === null) {
      this.end(undefined);
      return;
    }
    const run = this.#tearDown;
    this.#tearDown = null;
    run().then(trouble => this.end(trouble));
  }

  end(cause: unknown): void {
    if (this.#ended) return;
    this.#ended = true; // from now on it takes no call, and no late answer finds one
    this.cause ??= cause;
    const unstarted: Call[] = [];
    const started: Call[] = [];
    for (const call of [...this.#calls]) {
      if (call === null) continue;
      (this.#begun[call.slot] ? started : unstarted).push(call);
      this.#release(call);
    }
    this.#placement.forget(this);
    // After the caller's own doing, as with a thread that takes time to exit.
    queueMicrotask(() => this.#events.onEnded(this, unstarted, started));
  }

  #begin(ticket: number, call: Call): void {
    if (this.#calls[ticket] !== call || this.#begun[ticket]) return; // recalled, or the lane is gone
    this.#begun[ticket] = true;
    if (call.times !== null) call.times.startedAt = now();
    const talk = call.talk !== null || call.window > 0 ? this.#openTalk(ticket, call) : null;
    try {
      const task = this.#tasks!.find(this.#placement.names[call.fn]);
      const { memory, start, length, side } = call;
      const args = this.#decoder.decodeArguments(memory!, start, start + length, side?.values ?? NOTHING);
      const carried = call.carries ? (args.pop() as Carried) : null;
      apart(() => this.#executor.run(ticket, task, args, call.deadlineAt, talk, carried));
    } catch (error) {
      this.#endTalk(ticket);
      this.#finish(call, true, error);
    }
  }

  #openTalk(ticket: number, call: Call): LaneTalk {
    const serial = this.#serials[ticket];
    const say: Say = (op, id, number, value) => this.#toHost.say(ticket, serial, op, id, number, value);
    const talk = new LaneTalk(say, { now, turn }, this.#kept, call.window);
    this.#talks.set(ticket, talk);
    this.#decoding = talk;
    return talk;
  }

  #endTalk(ticket: number): boolean {
    const talk = this.#talks.get(ticket);
    if (talk === undefined) return false;
    this.#talks.delete(ticket);
    talk.end();
    this.#toHost.flush();
    return true;
  }

  /** Goes through what one side has said to the other. */
  #hear(
    message: TalkMessage,
    decoder: Decoder,
    tell: (entry: TalkEntry, value: unknown, unreadable: boolean) => void,
  ) {
    readTalk(message, entry => {
      if (entry.slot !== NO_CALL && this.#serials[entry.slot] !== entry.serial) return; // of a call that is over
      let value: unknown;
      let unreadable = false;
      try {
        value = decoder.decodeValue(memoryOver(message.bytes), entry.start, entry.end, entry.values);
      } catch (error) {
        value = error;
        unreadable = true;
      }
      tell(entry, value, unreadable);
    });
  }

  #tellTask({ slot, op, id, number }: TalkEntry, value: unknown, unreadable: boolean): void {
    if (slot === NO_CALL) this.#kept.receive(op, number, value);
    else this.#talks.get(slot)?.receive(unreadable ? opOfUnreadable(op) : op, id, number, value);
  }

  #tellHost({ slot, op, id, number }: TalkEntry, value: unknown, unreadable: boolean): void {
    if (slot === NO_CALL) this.#outcomes.onTalk(this, op, id, number, value);
    else this.#calls[slot]?.talk?.receive(unreadable ? opOfUnreadable(op) : op, id, number, value);
  }

  answer(ticket: number, failed: boolean, value: unknown, transfer: readonly object[]): void {
    // Behind what the call has said, which is on its way.
    if (this.#endTalk(ticket)) turn(() => this.#answer(ticket, failed, value, transfer));
    else this.#answer(ticket, failed, value, transfer);
  }

  #answer(ticket: number, failed: boolean, value: unknown, transfer: readonly object[]): void {
    const call = this.#calls[ticket];
    if (call === null) return; // the lane was given up
    let result: unknown;
    try {
      const { encoder, decoder } = this.#answers;
      const length = encoder.encodeValue(value, EMPTY_ROOM, this.#heap, transfer);
      const { room, side } = encoder;
      const aside = side.length > 0 || transfer.length > 0;
      const moved = aside ? moveAside({ values: side, transfer }).values : NOTHING;
      result = decoder.decodeValue(room.memory, room.start, room.start + length, moved);
      encoder.release();
      decoder.release();
    } catch (error) {
      failed = true;
      result = error;
    }
    this.#finish(call, failed, result);
  }

  #finish(call: Call, failed: boolean, value: unknown): void {
    if (call.times !== null) call.times.endedAt = now();
    this.#release(call);
    this.calls++;
    this.#placement.discard(call);
    this.#outcomes.settle(call, failed, value, this);
    this.#outcomes.finished(call, this);
    if (this.state === 'draining') this.drain();
  }

  #release(call: Call): void {
    this.#calls[call.slot] = null;
    call.slot = NOWHERE;
    this.#held--;
  }
}

function moveAside(side: SideValues): SideValues {
  try {
    return clone(side, side.transfer);
  } catch (error) {
    throw notCloneable(error);
  }
}
