import { encodeAlone } from '../call/alone.ts';
import { Decoder } from '../call/decode.ts';
import { DefinitionReader, DefinitionWriter } from '../call/definitions.ts';
import { Encoder } from '../call/encode.ts';
import { atomicCompareExchange, atomicLoad, atomicStore, soon } from '../call/intrinsics.ts';
import { HeapSink, type Memory, memoryOver, type Room, type Sink } from '../call/memory.ts';
import type { CodecPlatform } from '../call/platform.ts';
import {
  NO_CALL,
  opOfUnreadable,
  readTalk,
  type TalkEntry,
  type TalkMessage,
  TalkWriter,
} from '../call/talk.ts';
import { HotlaneError, notCloneable } from '../errors.ts';
import { type Call, goesBefore, NOWHERE } from '../lane/call.ts';
import type { Clock } from '../lane/clock.ts';
import type { Demand, Lane, TaskLane, TaskOutcomes, Window } from '../lane/lane.ts';
import { Arena } from './arena.ts';
import { HostLoop, type Turns } from './host-loop.ts';
import {
  BOUND,
  BYTES_ASIDE,
  CLAIMED,
  DONE,
  FREE,
  HAS_CONTEXT,
  HAS_SIDE,
  HEAD,
  HOST_DEFINED,
  HOST_LOG_BYTES,
  INBOX_HEAD,
  INBOX_TAIL,
  LANE_DEFINED,
  LANE_LOG_BYTES,
  Layout,
  LENGTH,
  LOG_KEPT_FOR_FUNCTIONS,
  PUBLISHED,
  REPLY_HEAD,
  REPLY_RING_BYTES,
  REPLY_TAIL,
  SEGMENT_SHIFT,
  SLOT_WORDS,
  STARTED,
  STATE,
  STATUS_BITS,
  STATUS_MASK,
  STREAMS,
  TAIL,
  TALKS,
  TASK,
  THREAD,
  TIMED,
  type ToHost,
  type ToLane,
  WHERE,
  WIDE_HEAD,
  WIDE_TAIL,
  type WindowMemory,
} from './layout.ts';
import { FAILED, ReplyReader } from './reply-ring.ts';
import { Bells } from './wake.ts';

/** What the host's end of the shared memory needs from the platform. */
export interface WindowPlatform extends Turns {
  readonly clock: Clock;
  readonly codec: CodecPlatform;
  /** Structured clone that moves what is in `transfer`. */
  clone<T>(value: T, transfer: readonly object[]): T;
}

type Post = (message: ToLane, transfer?: readonly object[]) => void;

/** What the host knows of the lane on a seat. */
class Seat {
  readonly index: number;
  readonly lane: TaskLane;
  readonly post: Post;
  readonly reader: ReplyReader;
  readonly decoder: Decoder;
  /** Its ring for large results, once it has made one. */
  wide: ReplyReader | null = null;
  inboxHead = 0;
  /** What is said to the lane; made when there is the first. */
  talk: TalkWriter | null = null;

  constructor(index: number, lane: TaskLane, post: Post, reader: ReplyReader, decoder: Decoder) {
    this.index = index;
    this.lane = lane;
    this.post = post;
    this.reader = reader;
    this.decoder = decoder;
  }
}

/** The most calls that may be published beyond those that the lanes can run at once. */
export const MOST_AHEAD = 1024;
/** How much work the window holds ready per lane, in milliseconds: more than it takes to hand a call over. */
const AHEAD_MS = 0.5;
/** Up to this run time a lane finds a next call ready, so that it does not wait for the host after each. */
const LONGEST_READY_MS = 10;
/** How many calls may be taken back for each that finishes. */
const EARNED = 2;
const NO_SIDE: readonly object[] = [];

/**
 * The host's end of what it shares with its lanes: it publishes calls into the window, takes in replies,
 * takes back what has not been claimed, and sweeps up after lanes that are gone. See layout.ts for the memory.
 */
export class SharedWindow implements Window, Sink {
  readonly #platform: WindowPlatform;
  readonly #outcomes: TaskOutcomes;
  readonly #layout: Layout;
  readonly #buffer: SharedArrayBuffer;
  readonly #control: Int32Array;
  readonly #deadlines: Float64Array;
  readonly #startedAt: Float64Array;
  readonly #endedAt: Float64Array;
  readonly #bells: Bells;
  readonly #loop: HostLoop;
  readonly #arena: Arena;
  readonly #segments: SharedArrayBuffer[] = [];
  readonly #heap: Sink;
  readonly #definitions: DefinitionWriter;
  readonly #encoder: Encoder;
  readonly #calls: (Call | null)[];
  /** By slot: where in the control block its last entry is, in the ring or in an inbox. */
  readonly #entries: Int32Array;
  /** Slots that are FREE: a stack, so that warm ones are used again. */
  readonly #free: Int32Array;
  #freeCount: number;
  readonly #seats: (Seat | null)[] = [];
  /** How many calls the lanes can run at once, as the fleet last said. */
  #capacity = 0;
  /** How many more calls may be published than the lanes can run; and how many when none was taken back lately. */
  #ahead = MOST_AHEAD;
  #mostAhead = MOST_AHEAD;
  /** How many of those it may be from the next answer on: taking back costs as many, an answer earns `EARNED`. */
  #credit = MOST_AHEAD;
  #serviceMs = 0;
  /** Calls in the window, lane-bound ones left out. */
  #held = 0;
  #head = 0;
  /** TAIL as last read; the true one is this or further on. */
  #tail = 0;
  /** Ring entries written and not yet shown, and whether lanes must be rung for calls in their inboxes. */
  #fresh = 0;
  #freshInboxes = 0;
  #flushing = false;
  /** Calls that lanes could see were taken back, so what is handed over in their stead is shown without delay. */
  #owes = false;
  readonly #flush: () => void;
  /** While arguments are encoded that outgrew their page: the run of pages that they are in now. */
  #run: { segment: number; start: number } | null = null;
  #encoding = false;
  /** The call whose arguments are encoded now. */
  #encoded: Call | null = null;
  /** Values that are said to lanes beside calls; an encoder of its own, since it may be while arguments are encoded. */
  #sayEncoder: Encoder | null = null;

  /**
   * @param seats how many lanes there may be at once, those that are on their way out included
   * @param inbox how many calls for one lane only it may be handed ahead: a power of two
   * @param mostBytes the most shared memory that arguments may take
   * @param mostValueBytes the most that one call's arguments may take
   */
  constructor(
    platform: WindowPlatform,
    outcomes: TaskOutcomes,
    options: { seats: number; slots: number; inbox: number; mostBytes: number; mostValueBytes: number },
    demand: Demand,
  ) {
    this.#platform = platform;
    this.#outcomes = outcomes;
    const layout = new Layout(options.seats, options.slots, options.inbox);
    this.#layout = layout;
    this.#buffer = new SharedArrayBuffer(layout.words * 4 + HOST_LOG_BYTES);
    this.#control = new Int32Array(this.#buffer, 0, layout.words);
    this.#deadlines = new Float64Array(this.#buffer, layout.deadline * 4, layout.slots);
    this.#startedAt = new Float64Array(this.#buffer, layout.started * 4, layout.slots);
    this.#endedAt = new Float64Array(this.#buffer, layout.ended * 4, layout.slots);
    this.#bells = new Bells(this.#control, layout);
    this.#loop = new HostLoop(
      this.#control,
      platform.clock,
      platform,
      () => this.#drain(),
      () => this.#bells.awake(),
      demand,
    );
    this.#heap = new HeapSink(options.mostValueBytes);
    this.#arena = new Arena(options.mostBytes, memoryOver, (index, buffer) => this.#onSegment(index, buffer));
    this.#definitions = new DefinitionWriter(
      memoryOver(this.#buffer),
      this.#control,
      HOST_DEFINED,
      layout.words * 4,
      this.#buffer.byteLength,
      platform.codec,
      { functionBytes: LOG_KEPT_FOR_FUNCTIONS },
    );
    this.#encoder = new Encoder(platform.codec, this.#definitions);
    this.#encoder.refer = value => {
      const call = this.#encoded!;
      call.talk ??= outcomes.createTalk(call);
      return call.talk.refer(value);
    };
    this.#calls = new Array(layout.slots).fill(null);
    this.#entries = new Int32Array(layout.slots);
    this.#free = new Int32Array(layout.slots);
    for (let i = 0; i < layout.slots; i++) this.#free[i] = layout.slots - 1 - i;
    this.#freeCount = layout.slots;
    for (let i = 0; i < layout.seats; i++) this.#seats.push(null);
    this.#flush = () => {
      this.#flushing = false;
      this.#owes = false;
      this.#show();
    };
  }

  // ---- calls in -----------------------------------------------------------------------------------------

  /** Numbers a function's name for the wire; −1 when there is no room for more names. */
  defineFunction(name: string): number {
    return this.#definitions.defineFunction(name);
  }

  /**
   * Reads a call's arguments: encodes them, as a rule straight into shared memory.
   *
   * @param mostBytes false when they take more than this
   * @throws HotlaneError NOT_CLONEABLE, TOO_LARGE; and whatever a getter of the arguments throws
   */
  encode(call: Call, args: readonly unknown[], transfer: readonly object[], mostBytes: number): boolean {
    const arena = this.#arena;
    // A getter among the arguments may make a call of its own; that one is encoded in heap memory.
    const end = this.#encoding ? -1 : arena.open();
    const { segment, start } = arena;
    const room: Room = end < 0 ? EMPTY_ROOM : { memory: arena.memory(segment), start, end };
    const nested = this.#encoding;
    const outer = this.#encoded;
    let length: number;
    this.#encoding = true;
    this.#encoded = call;
    try {
      length = this.#encoder.encodeArguments(args, room, nested ? this.#heap : this, transfer);
      call.length = length;
      if (length > mostBytes) {
        if (!nested && this.#run !== null) this.#dropRun();
        return false;
      }
      const side = this.#encoder.side;
      if (side.length > 0 || transfer.length > 0) call.side = this.#moveAside(side, transfer);
    } catch (error) {
      if (!nested && this.#run !== null) this.#dropRun();
      throw error;
    } finally {
      this.#encoding = nested;
      this.#encoded = outer;
    }
    const written = this.#encoder.room;
    call.start = written.start;
    if (written === room && end >= 0) {
      arena.commit(start, length);
      call.segment = segment;
    } else if (!nested && this.#run !== null) {
      call.segment = this.#run.segment;
      arena.trimRun(call.segment, call.start, length);
      this.#run = null;
    } else {
      call.memory = written.memory;
      if (!nested) this.#encoder.release();
    }
    if (call.side !== null && !nested) this.#encoder.release();
    this.#loop.kick();
    return true;
  }

  /** More room while encoding: a run of pages in shared memory, or heap memory when there is none to be had. */
  grow(room: Room, used: number, need: number): Room {
    const total = used + need + Math.min(used + 256, 1 << 20);
    if (!this.#arena.allocateRun(total)) {
      const grown = this.#heap.grow(room, used, need);
      if (this.#run !== null) this.#dropRun();
      return grown;
    }
    const run = { segment: this.#arena.segment, start: this.#arena.start };
    const memory = this.#arena.memory(run.segment);
    memory.bytes.set(room.memory.bytes.subarray(room.start, room.start + used), run.start);
    if (this.#run !== null) this.#dropRun();
    this.#run = run;
    return { memory, start: run.start, end: run.start + total };
  }

  /** Gives up a call's payload that no lane will read. */
  discard(call: Call): void {
    if (call.segment !== NOWHERE) this.#arena.free(call.segment, call.start);
    call.segment = NOWHERE;
    call.memory = null;
    call.side = null;
  }

  room(): number {
    if (this.#capacity === 0) return 0;
    let room = this.#capacity + this.#ahead - this.#held;
    if (room <= 0) room += this.away();
    return Math.min(room, this.#freeCount);
  }

  /** It is the only one of its pool. */
  wait(): number {
    return 0;
  }

  /** How many calls, those for one lane only left out, are with lanes on their way out: no lane waits for their end. */
  away(): number {
    if (!this.#seats.some(isLeaving)) return 0;
    let away = 0;
    for (let slot = 0; slot < this.#calls.length; slot++) {
      if (this.#calls[slot]?.lane === null && isLeaving(this.#holder(slot))) away++;
    }
    return away;
  }

  /** Whether a call's function has begun. */
  begun(call: Call): boolean {
    if (call.slot === NOWHERE) return false;
    return (atomicLoad(this.#control, this.#stateAt(call.slot)) & STATUS_MASK) >= STARTED;
  }

  hand(call: Call): void {
    const slot = this.#fill(call, PUBLISHED);
    this.#held++;
    const { ring, ringMask } = this.#layout;
    if (((this.#head - this.#tail) | 0) > ringMask) this.#passEntries();
    const entry = ring + (this.#head & ringMask);
    this.#control[entry] = slot;
    this.#entries[slot] = entry;
    this.#head = (this.#head + 1) | 0;
    this.#fresh++;
    this.#flushSoon();
  }

  /** How many calls a seat's inbox can still take. */
  inboxRoom(seat: number): number {
    const taken =
      this.#seats[seat]!.inboxHead - atomicLoad(this.#control, this.#layout.seat(seat) + INBOX_TAIL);
    return Math.min(this.#layout.inboxMask + 1 - (taken | 0), this.#freeCount);
  }

  /** Hands a call to one lane, which alone may take it. */
  handTo(seat: number, call: Call): void {
    const slot = this.#fill(call, BOUND | (seat << STATUS_BITS));
    const holder = this.#seats[seat]!;
    const entry = this.#layout.inbox(seat) + (holder.inboxHead & this.#layout.inboxMask);
    this.#control[entry] = slot;
    this.#entries[slot] = entry;
    holder.inboxHead = (holder.inboxHead + 1) | 0;
    this.#freshInboxes++;
    this.#flushSoon();
  }

  /** Takes a call back that no lane has claimed. It keeps its arguments, so that it can be handed over again. */
  recall(call: Call): boolean {
    return this.#takeBack(call, call.rank !== null);
  }

  /**
   * Takes back the published calls that `call` goes before. The ring is in order, so it looks from the end, and only as
   * far as it must. Until the next answer no more is published than keeps lanes busy, so that the rest of a burst of
   * urgent calls finds nothing to take back; from then on less than before. So however many urgent calls come, no more
   * calls are taken back than `EARNED` for each that has finished, and one for each lane each time.
   */
  recallBehind(call: Call): Call[] {
    const { ring, ringMask } = this.#layout;
    const control = this.#control;
    const tail = atomicLoad(control, TAIL);
    const back: Call[] = [];
    let at = this.#head;
    for (; at !== tail; at = (at - 1) | 0) {
      const entry = ring + ((at - 1) & ringMask);
      const other = this.#publishedIn(control[entry], PUBLISHED);
      if (other === null) continue;
      if (!goesBefore(call, other)) break;
      if (this.#takeBack(other, true)) back.push(other);
    }
    if (back.length === 0) return back;
    // No entry leads to a call any more: nobody should have to pass them all, nor we look at them again.
    if (at === tail) atomicCompareExchange(control, TAIL, tail, atomicLoad(control, HEAD));
    this.#ahead = Math.min(this.#mostAhead, this.#readyAhead());
    this.#credit = Math.max(this.#ahead, Math.min(this.#credit, this.#mostAhead) - back.length);
    this.#owes = true;
    return back.reverse();
  }

  /** The same for the calls in a seat's inbox. */
  recallBehindIn(seat: number, call: Call): Call[] {
    const control = this.#control;
    const { inboxMask } = this.#layout;
    const tail = atomicLoad(control, this.#layout.seat(seat) + INBOX_TAIL);
    const back: Call[] = [];
    for (let at = this.#seats[seat]!.inboxHead; at !== tail; at = (at - 1) | 0) {
      const entry = this.#layout.inbox(seat) + ((at - 1) & inboxMask);
      const other = this.#publishedIn(control[entry], BOUND | (seat << STATUS_BITS));
      if (other === null) continue;
      if (!goesBefore(call, other)) break;
      if (this.#takeBack(other, true)) back.push(other);
    }
    if (back.length > 0) this.#owes = true;
    return back.reverse();
  }

  /** Tells the function that runs a call to stop. */
  abort(call: Call, reason: unknown): void {
    const { slot } = call;
    // Seen by `context.aborted()` in a synchronous loop; nothing else hangs on it.
    atomicStore(this.#control, this.#layout.cancel + slot, 1);
    const seat = this.#holder(slot);
    if (seat === null) return;
    const serial = this.#serialOf(slot);
    seat.post({ kind: 'abort', slot, serial, reason: encodeAlone(reason, this.#platform.codec) });
  }

  /** Tells the function that runs a call something; nothing while no lane has the call. */
  say(call: Call, op: number, id: number, number: number, value: unknown): number {
    const { slot } = call;
    const seat = this.#holder(slot);
    if (seat === null) return 0;
    return this.#writerOf(seat).say(slot, this.#serialOf(slot), op, id, number, value);
  }

  /** Tells a lane something that belongs to no call. */
  sayTo(seat: number, op: number, id: number, number: number, value: unknown): number {
    const to = this.#seats[seat];
    return to === null ? 0 : this.#writerOf(to).say(NO_CALL, 0, op, id, number, value);
  }

  /** The lane that has claimed a call, or null while none has. */
  laneOf(call: Call): TaskLane | null {
    return this.#holder(call.slot)?.lane ?? null;
  }

  /** Takes back all calls that no lane has claimed, those bound to a lane left out. */
  recallAll(): Call[] {
    return this.#calls.filter(call => call !== null && call.lane === null && this.recall(call)) as Call[];
  }

  /** Takes back the calls that a lane has not claimed from its inbox, broadcasts left out. */
  recallFrom(lane: Lane): Call[] {
    return this.#calls.filter(
      call => call !== null && call.lane === lane && !call.only && this.recall(call),
    ) as Call[];
  }

  handed(): Call[] {
    return this.#calls.filter(call => call !== null);
  }

  /**
   * See `Placement.block`.
   *
   * @param look takes in what the lanes' ports have brought
   */
  block(call: Call, until: number, look: () => void): void {
    this.#loop.block(
      () => call.settled,
      until,
      () => this.#show(),
      look,
    );
  }

  /** See `Placement.dispose`. */
  dispose(): void {
    this.#loop.dispose();
  }

  /** See `Placement.reviewHold`. */
  reviewHold(): void {
    this.#loop.reviewHold();
  }

  // ---- lanes --------------------------------------------------------------------------------------------

  /** How many calls the lanes (those that are starting included) can run at once. */
  set capacity(calls: number) {
    this.#capacity = calls;
    this.serviceMs = this.#serviceMs;
  }

  get capacity(): number {
    return this.#capacity;
  }

  /** Sets how far ahead to publish: as much as the lanes get through in `AHEAD_MS`, and one each unless calls are long. */
  set serviceMs(serviceMs: number) {
    this.#serviceMs = serviceMs;
    if (serviceMs === 0) return;
    const inTime = Math.floor((AHEAD_MS / serviceMs) * this.#capacity);
    const most = Math.min(MOST_AHEAD, Math.max(this.#readyAhead(), inTime));
    this.#ahead = this.#ahead < this.#mostAhead ? Math.min(this.#ahead, most) : most;
    this.#mostAhead = most;
  }

  /** One call for each that lanes run, so that none waits for the host after each; none where calls are long. */
  #readyAhead(): number {
    return this.#serviceMs < LONGEST_READY_MS ? this.#capacity : 0;
  }

  get serviceMs(): number {
    return this.#serviceMs;
  }

  /** Gives a lane a seat: what it must be told at its start. */
  seat(lane: TaskLane, post: Post): WindowMemory {
    const seat = this.#seats.indexOf(null);
    const at = this.#layout.seat(seat);
    this.#control.fill(0, at, at + 2 * 16);
    const replies = new SharedArrayBuffer(LANE_LOG_BYTES + REPLY_RING_BYTES);
    const memory = memoryOver(replies);
    const { codec } = this.#platform;
    const reader = new ReplyReader(memory, LANE_LOG_BYTES, this.#control, at + REPLY_HEAD, at + REPLY_TAIL);
    const definitions = new DefinitionReader(
      memory,
      this.#control,
      at + LANE_DEFINED,
      0,
      LANE_LOG_BYTES,
      codec,
    );
    this.#seats[seat] = new Seat(seat, lane, post, reader, new Decoder(codec, definitions));
    const { seats, slots, inboxMask } = this.#layout;
    return {
      seats,
      slots,
      inbox: inboxMask + 1,
      control: this.#buffer,
      segments: [...this.#segments],
      seat,
      replies,
    };
  }

  /** How many calls a seat's lane has claimed and not answered. */
  running(seat: number): number {
    let running = 0;
    for (let slot = 0; slot < this.#calls.length; slot++) {
      if (this.#calls[slot] !== null && this.#holder(slot) === this.#seats[seat]) running++;
    }
    return running;
  }

  /** The system's number of the thread on a seat; 0 when it is not known. */
  threadOf(seat: number): number {
    return atomicLoad(this.#control, this.#layout.seat(seat) + THREAD);
  }

  /** Counts the calls that lanes run, or hold, now. */
  runningInAll(): number {
    let running = 0;
    for (let slot = 0; slot < this.#calls.length; slot++) {
      if (this.#calls[slot] !== null && this.#holder(slot) !== null) running++;
    }
    return running;
  }

  /**
   * Sweeps up after a lane whose thread is gone: takes in the replies that it finished, then sorts the calls
   * that it left by the state of their slots, and frees its seat.
   */
  vacate(seat: number): { unstarted: Call[]; started: Call[] } {
    const left = this.#seats[seat] ?? null; // a lane that could not even get a seat has none
    const unstarted: Call[] = [];
    const started: Call[] = [];
    if (left === null) return { unstarted, started };
    this.#drainSeat(left);
    this.#show();
    for (let slot = 0; slot < this.#calls.length; slot++) {
      const call = this.#calls[slot];
      if (call === null) continue;
      const at = this.#stateAt(slot);
      // The thread is gone, so nothing changes these words behind us except other lanes, whose slots we leave.
      const state = atomicLoad(this.#control, at);
      const status = state & STATUS_MASK;
      if (status === PUBLISHED || state >> STATUS_BITS !== seat) continue;
      atomicStore(this.#control, at, FREE);
      this.#vacateSlot(call, slot);
      if (status === CLAIMED) call.losses++;
      // What was moved to the lane is gone with it, so such a call counts as started.
      const moved = status === CLAIMED && call.side !== null && call.side.transfer.length > 0;
      (status === STARTED || status === DONE || moved ? started : unstarted).push(call);
    }
    this.#bells.clear(seat);
    this.#seats[seat] = null;
    // It may have been rung for a call that it never claimed.
    if (atomicLoad(this.#control, HEAD) !== atomicLoad(this.#control, TAIL))
      this.#bells.wake(this.#layout.seats);
    return { unstarted, started };
  }

  /** Handles what a lane's port brings. Unknown or impossible messages are the lane's fault: PROTOCOL. */
  onMessage(seat: number, message: ToHost): void {
    const from = this.#seats[seat];
    if (from === null) return;
    if (message.kind === 'ring' && isRing(message.buffer) && from.wide === null) {
      const at = this.#layout.seat(seat);
      from.wide = new ReplyReader(
        memoryOver(message.buffer),
        0,
        this.#control,
        at + WIDE_HEAD,
        at + WIDE_TAIL,
      );
      this.#drainSeat(from);
      return;
    }
    if (message.kind === 'need') {
      this.#sendAside(from, seat, message.slot);
      return;
    }
    if (message.kind === 'talk') {
      if (!readTalk(message, entry => this.#hear(from, message, entry))) {
        this.#faulty(from, 'a message that no lane should send');
      }
      return;
    }
    const call = message.kind === 'reply' ? this.#answered(seat, message.slot) : null;
    if (message.kind !== 'reply' || call === null || !isReply(message)) {
      this.#faulty(from, 'a message that no lane should send');
      return;
    }
    const memory = memoryOver(message.bytes);
    this.#finish(from, call, message.failed, memory, 0, message.length, message.values);
    from.decoder.release();
  }

  // ---- inside -------------------------------------------------------------------------------------------

  #writerOf(seat: Seat): TalkWriter {
    this.#sayEncoder ??= new Encoder(this.#platform.codec, this.#definitions);
    const { clock, turn, clone } = this.#platform;
    seat.talk ??= new TalkWriter(this.#sayEncoder, { now: clock.now, turn, clone }, (message, transfer) =>
      seat.post(message, transfer),
    );
    return seat.talk;
  }

  #hear(
    from: Seat,
    { bytes }: TalkMessage,
    { slot, serial, op, id, number, start, end, values }: TalkEntry,
  ): void {
    const call = slot === NO_CALL ? null : this.#isSlot(slot) ? this.#calls[slot] : null;
    // What was said of a call that is over by now is passed over.
    if (slot !== NO_CALL && (call === null || this.#holder(slot) !== from || this.#serialOf(slot) !== serial))
      return;
    let value: unknown;
    try {
      value = from.decoder.decodeValue(memoryOver(bytes), start, end, values);
    } catch (error) {
      value = error;
      op = opOfUnreadable(op);
    }
    from.decoder.release();
    if (call === null) this.#outcomes.onTalk(from.lane, op, id, number, value);
    else call.talk?.receive(op, id, number, value);
  }

  #onSegment(index: number, buffer: SharedArrayBuffer): void {
    this.#segments.push(buffer);
    // Posted before any slot can lead there; a lane that claims one first waits for this message.
    for (const seat of this.#seats) seat?.post({ kind: 'segment', index, buffer });
  }

  #dropRun(): void {
    const run = this.#run!;
    this.#arena.free(run.segment, run.start);
    this.#run = null;
  }

  #moveAside(values: readonly unknown[], transfer: readonly object[]): NonNullable<Call['side']> {
    try {
      // Moved now, so that the caller's objects detach in the call; posted when a lane has claimed the call.
      return this.#platform.clone({ values, transfer }, transfer);
    } catch (error) {
      throw notCloneable(error);
    }
  }

  /** @param published the state in which lanes find it */
  #fill(call: Call, published: number): number {
    const slot = this.#free[--this.#freeCount];
    const control = this.#control;
    let flags = call.side === null ? 0 : HAS_SIDE;
    if (call.carries) flags |= HAS_CONTEXT;
    if (call.segment === NOWHERE && !this.#settleIn(call)) flags |= BYTES_ASIDE;
    if (call.times !== null) {
      flags |= TIMED;
      this.#startedAt[slot] = 0;
    }
    const at = this.#stateAt(slot);
    if (call.talk !== null) flags |= TALKS;
    if (call.window > 0) {
      flags |= STREAMS;
      control[this.#layout.window + slot] = call.window;
    }
    control[at + TASK] = call.fn | flags;
    control[at + WHERE] = (call.segment << SEGMENT_SHIFT) | (call.start >> 3);
    control[at + LENGTH] = call.length;
    control[this.#layout.cancel + slot] = 0;
    control[this.#layout.serial + slot]++;
    this.#deadlines[slot] = call.deadlineAt;
    call.slot = slot;
    this.#calls[slot] = call;
    // Orders the descriptor and the payload before the state: a lane whose claim succeeds reads them whole.
    atomicStore(control, at, published);
    return slot;
  }

  /** Moves arguments that had to wait in heap memory into shared memory, if there is room now. */
  #settleIn(call: Call): boolean {
    const { memory, start, length } = call;
    if (memory === null || !this.#arena.allocateRun(Math.max(length, 1))) return false;
    call.segment = this.#arena.segment;
    call.start = this.#arena.start;
    call.memory = null;
    this.#arena.memory(call.segment).bytes.set(memory.bytes.subarray(start, start + length), call.start);
    return true;
  }

  /**
   * The first call of a burst is shown at once, so that a lane works on it while the host goes on; all others of
   * the burst together, when the host's present turn of code is over.
   */
  #flushSoon(): void {
    if (this.#flushing) {
      if (this.#owes) this.#show();
      return;
    }
    this.#flushing = true;
    this.#show();
    soon(this.#flush);
  }

  /** Shows the lanes all that was handed over and not shown yet: one store, and one ring for each lane it needs. */
  #show(): void {
    if (this.#freshInboxes > 0) {
      this.#freshInboxes = 0;
      for (let seat = 0; seat < this.#seats.length; seat++) {
        const holder = this.#seats[seat];
        if (holder === null) continue;
        const at = this.#layout.seat(seat) + INBOX_HEAD;
        if (this.#control[at] === holder.inboxHead) continue;
        // Orders the inbox's words before its head; then the lane is woken by the rule in wake.ts.
        atomicStore(this.#control, at, holder.inboxHead);
        this.#bells.wakeSeat(seat);
      }
    }
    if (this.#fresh > 0) {
      const fresh = this.#fresh;
      this.#fresh = 0;
      // Orders the ring's words before HEAD; and before the look for sleepers, by the rule in wake.ts.
      atomicStore(this.#control, HEAD, this.#head);
      // A lane that is looking for work anyway needs no ring. Should it stop looking before it sees this, it
      // looks again before it sleeps; should it take older work, it rings another lane itself (lane-loop.ts).
      const spinning = this.#bells.spinning();
      if (fresh > spinning && this.#bells.wake(fresh - spinning)) this.#loop.onRung();
    }
  }

  /** The call that an entry leads to, if lanes may claim it there. */
  #publishedIn(slot: number, state: number): Call | null {
    if (!this.#isSlot(slot)) return null;
    return atomicLoad(this.#control, this.#stateAt(slot)) === state ? this.#calls[slot] : null;
  }

  /** @param strike whether it matters in which order lanes find the next calls */
  #takeBack(call: Call, strike: boolean): boolean {
    const slot = call.slot;
    const at = this.#stateAt(slot);
    const state = atomicLoad(this.#control, at);
    if (!isUnclaimed(state)) return false;
    // Against a lane's claim: exactly one of the two compare-and-swaps succeeds.
    if (atomicCompareExchange(this.#control, at, state, FREE) !== state) return false;
    if (strike) this.#strike(slot);
    this.#vacateSlot(call, slot);
    return true;
  }

  /**
   * Lets a slot's entry lead nowhere: the next call in that slot must not be found there, before those that it goes
   * behind. A lane that has read the entry already may still find it, a little early.
   */
  #strike(slot: number): void {
    const entry = this.#entries[slot];
    // Otherwise it was passed, and is another's by now.
    if (this.#control[entry] === slot) this.#control[entry] = this.#layout.nowhere;
  }

  /** The ring is full of entries that nobody has passed: passes those that lead to nothing published. */
  #passEntries(): void {
    const { ring, ringMask } = this.#layout;
    const control = this.#control;
    if (this.#fresh > 0) this.#show();
    for (;;) {
      this.#tail = atomicLoad(control, TAIL);
      if (this.#tail === this.#head) return;
      const slot = control[ring + (this.#tail & ringMask)];
      // The entry may be passed by a lane at the same time; TAIL moves by compare-and-swap, so only once.
      if (this.#isSlot(slot) && atomicLoad(control, this.#stateAt(slot)) === PUBLISHED) break;
      atomicCompareExchange(control, TAIL, this.#tail, (this.#tail + 1) | 0);
    }
    // What is left begins with a published call. There are at most `slots` of those and twice as many entries;
    // so when the ring is still full, stale entries lie between: write the live ones anew.
    if (((this.#head - this.#tail) | 0) > ringMask) this.#compact();
  }

  /** Takes all unclaimed calls out of the ring and lays them down again without gaps. */
  #compact(): void {
    const { ring, ringMask } = this.#layout;
    const control = this.#control;
    const waiting: number[] = [];
    for (let at = this.#tail; at !== this.#head; at = (at + 1) | 0) {
      const slot = control[ring + (at & ringMask)];
      if (!this.#isSlot(slot)) continue; // a lane wrote where it should not
      // As in `recall`, so that no lane can claim it while it has no entry; a second entry of it finds it FREE.
      if (atomicCompareExchange(control, this.#stateAt(slot), PUBLISHED, FREE) === PUBLISHED)
        waiting.push(slot);
    }
    // All entries up to `head` lead to nothing now: lanes pass them as they come, and so do we.
    while (atomicLoad(control, TAIL) !== this.#head) {
      const tail = atomicLoad(control, TAIL);
      atomicCompareExchange(control, TAIL, tail, (tail + 1) | 0);
    }
    this.#tail = this.#head;
    for (const slot of waiting) {
      const entry = ring + (this.#head & ringMask);
      control[entry] = slot;
      this.#entries[slot] = entry;
      this.#head = (this.#head + 1) | 0;
      atomicStore(control, this.#stateAt(slot), PUBLISHED);
      this.#fresh++;
    }
    this.#flushSoon();
  }

  #drain(): number {
    let arrived = 0;
    for (let i = 0; i < this.#seats.length; i++) {
      const seat = this.#seats[i];
      if (seat !== null) arrived += this.#drainSeat(seat);
    }
    return arrived;
  }

  #drainSeat(seat: Seat): number {
    const arrived = this.#drainRing(seat, seat.reader);
    return seat.wide === null ? arrived : arrived + this.#drainRing(seat, seat.wide);
  }

  #drainRing(seat: Seat, reader: ReplyReader): number {
    const { index } = seat;
    if (!reader.arrived()) return 0;
    let arrived = 0;
    for (;;) {
      let call: Call | null;
      try {
        if (!reader.next()) break;
        call = this.#answered(index, reader.slot);
        if (call === null) throw new RangeError(`a reply for slot ${reader.slot}, which it does not have`);
      } catch (error) {
        this.#faulty(seat, (error as Error).message);
        return arrived;
      }
      const failed = (reader.flags & FAILED) !== 0;
      this.#finish(seat, call, failed, reader.memory, reader.start, reader.end, NO_SIDE);
      arrived++;
    }
    reader.release();
    return arrived;
  }

  /** The call whose answer a lane says it has, or null if that cannot be. */
  #answered(seat: number, slot: number): Call | null {
    if (!this.#isSlot(slot)) return null;
    if (this.#control[this.#stateAt(slot)] !== (DONE | (seat << STATUS_BITS))) return null;
    return this.#calls[slot];
  }

  #finish(
    seat: Seat,
    call: Call,
    failed: boolean,
    memory: Memory,
    start: number,
    end: number,
    side: readonly unknown[],
  ): void {
    let value: unknown;
    if (!call.settled) {
      try {
        value = seat.decoder.decodeValue(memory, start, end, side);
      } catch (error) {
        failed = true;
        value = error;
      }
    }
    seat.lane.calls++;
    if (this.#ahead < this.#mostAhead) this.#earn();
    const { slot } = call;
    if (call.times !== null) {
      // Written by the lane before the answer was shown.
      call.times.startedAt = this.#startedAt[slot];
      call.times.endedAt = this.#endedAt[slot];
    }
    this.#control[this.#stateAt(slot)] = FREE;
    this.#vacateSlot(call, slot);
    this.discard(call);
    this.#outcomes.settle(call, failed, value, seat.lane);
    this.#outcomes.finished(call, seat.lane);
  }

  #earn(): void {
    this.#credit = Math.min(this.#mostAhead, this.#credit + EARNED);
    this.#ahead = this.#credit;
  }

  #vacateSlot(call: Call, slot: number): void {
    this.#calls[slot] = null;
    this.#free[this.#freeCount++] = slot;
    call.slot = NOWHERE;
    if (call.lane === null) this.#held--;
  }

  #faulty(seat: Seat, what: string): void {
    seat.lane.end(
      new HotlaneError(
        'PROTOCOL',
        `Lane ${seat.lane.id} sent ${what}. Its shared memory is damaged; it was ended.`,
      ),
    );
  }

  #sendAside(seat: Seat, index: number, slot: number): void {
    const call = this.#isSlot(slot) ? this.#calls[slot] : null;
    if (
      call === null ||
      atomicLoad(this.#control, this.#stateAt(slot)) !== (CLAIMED | (index << STATUS_BITS))
    ) {
      this.#faulty(seat, `a request for slot ${slot}, which it has not claimed`);
      return;
    }
    const serial = this.#serialOf(slot);
    if (call.settled) {
      seat.post({ kind: 'gone', slot, serial });
      return;
    }
    const side = call.side;
    try {
      const bytes = call.memory === null ? undefined : this.#ownBytes(call);
      const transfer: object[] = side === null ? [] : [...side.transfer];
      seat.post({ kind: 'side', slot, serial, values: side?.values ?? NO_SIDE, bytes }, transfer);
    } catch (error) {
      seat.post({ kind: 'gone', slot, serial });
      this.#outcomes.settle(call, true, notCloneable(error));
    }
  }

  /** A copy, since the call may have to be sent again should its lane be lost before it starts. */
  #ownBytes(call: Call): ArrayBuffer {
    const { memory, start, length } = call;
    const copy = new Uint8Array(length);
    copy.set(memory!.bytes.subarray(start, start + length));
    return copy.buffer;
  }

  /** The seat that has claimed a slot, or null. */
  #holder(slot: number): Seat | null {
    if (slot === NOWHERE) return null;
    const state = atomicLoad(this.#control, this.#stateAt(slot));
    return (state & STATUS_MASK) >= CLAIMED ? (this.#seats[state >> STATUS_BITS] ?? null) : null;
  }

  #serialOf(slot: number): number {
    return this.#control[this.#layout.serial + slot];
  }

  #isSlot(slot: unknown): slot is number {
    return Number.isInteger(slot) && (slot as number) >= 0 && (slot as number) < this.#layout.slots;
  }

  #stateAt(slot: number): number {
    return this.#layout.slot0 + slot * SLOT_WORDS + STATE;
  }
}

function isLeaving(seat: Seat | null): boolean {
  return seat !== null && (seat.lane.state === 'draining' || seat.lane.state === 'ended');
}

const EMPTY_ROOM: Room = {
  memory: { bytes: new Uint8Array(0), view: new DataView(new ArrayBuffer(0)) },
  start: 0,
  end: 0,
};

function isRing(buffer: unknown): boolean {
  return buffer instanceof SharedArrayBuffer && /^10*$/.test(buffer.byteLength.toString(2));
}

function isUnclaimed(state: number): boolean {
  const status = state & STATUS_MASK;
  return status === PUBLISHED || status === BOUND;
}

function isReply({ bytes, length, values }: Extract<ToHost, { kind: 'reply' }>): boolean {
  return (
    bytes instanceof ArrayBuffer &&
    Number.isInteger(length) &&
    length >= 0 &&
    length <= bytes.byteLength &&
    Array.isArray(values)
  );
}
