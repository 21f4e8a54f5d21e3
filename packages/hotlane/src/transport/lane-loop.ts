import { decodeAlone, encodeAlone } from '../call/alone.ts';
import { Decoder } from '../call/decode.ts';
import { DefinitionReader, DefinitionWriter } from '../call/definitions.ts';
import { Encoder } from '../call/encode.ts';
import {
  atomicAnd,
  atomicCompareExchange,
  atomicLoad,
  atomicOr,
  atomicStore,
  whenSettled,
} from '../call/intrinsics.ts';
import { HeapSink, type Memory, memoryOver } from '../call/memory.ts';
import type { CodecPlatform } from '../call/platform.ts';
import { NO_CALL, opOfUnreadable, readTalk, type TalkMessage, TalkWriter } from '../call/talk.ts';
import { HotlaneError } from '../errors.ts';
import type { Carried } from '../worker/carried.ts';
import type { Tracker } from '../worker/context.ts';
import { type Answers, Executor } from '../worker/executor.ts';
import type { InvocationHost } from '../worker/invocation.ts';
import { KeptCallbacks, LaneTalk } from '../worker/talk.ts';
import type { TaskFunction, Tasks } from '../worker/tasks.ts';
import {
  AWAKE,
  BELL,
  BOUND,
  BYTES_ASIDE,
  CLAIMED,
  DONE,
  FN_MASK,
  HAS_CONTEXT,
  HAS_SIDE,
  HEAD,
  HOST_ASLEEP,
  HOST_DEFINED,
  HOST_LOG_BYTES,
  INBOX_HEAD,
  INBOX_TAIL,
  LANE_DEFINED,
  LANE_LOG_BYTES,
  Layout,
  LEAST_WIDE_RING_BYTES,
  LENGTH,
  MOST_WIDE_RING_BYTES,
  OFFSET_MASK,
  type OfCall,
  PUBLISHED,
  REPLY_HEAD,
  REPLY_TAIL,
  SEGMENT_SHIFT,
  SLOT_WORDS,
  STARTED,
  STATUS_BITS,
  STREAMS,
  TAIL,
  TALKS,
  TASK,
  TIMED,
  type ToHost,
  type ToLane,
  WHERE,
  WIDE_HEAD,
  WIDE_RING_RESULTS,
  WIDE_TAIL,
  type WindowMemory,
} from './layout.ts';
import { Patience } from './patience.ts';
import { FAILED, ReplyWriter } from './reply-ring.ts';
import { Bells, ringHost, Sleeper } from './wake.ts';

/** What a lane needs from where it runs. */
export interface LanePlatform {
  readonly codec: CodecPlatform;
  /** How many cores the process may use. */
  readonly cores: number;
  /** The pool's clock, in milliseconds. */
  now(): number;
  /** Calls back after other events of the loop had their turn. */
  turn(next: () => void): void;
  post(message: ToHost, transfer?: readonly object[]): void;
  /** Structured clone that moves what is in `transfer`. */
  clone<T>(value: T, transfer: readonly object[]): T;
  /** How many bytes of heap the thread uses. */
  heapBytes(): number;
  /** The lane wakes, or goes to sleep. */
  markBusy(busy: boolean): void;
}

export interface LaneOptions {
  readonly laneId: number;
  readonly concurrency: number;
  /** With more heap than this, in bytes, the lane asks to be replaced. */
  readonly heapBytes: number;
  /** Runs when the lane leaves, after its last call; settles with what went wrong. Null for nothing. */
  readonly tearDown: (() => Promise<HotlaneError | undefined>) | null;
}

/** After so long with calls, in milliseconds, other events of the loop get a turn. */
const LONGEST_RUN_MS = 5;
/** The most calls between two looks at the clock. */
const MOST_UNTIMED = 64;
/** How long a free lane looks for work before it sleeps, in milliseconds. */
const SPIN_MS = 0.05;
/** Looks at the queue between two looks at the clock. */
const SPINS_PER_LOOK = 128;
/** A clock that stands still must not keep a lane spinning. */
const MOST_LOOKS = 1_000;
const MOST_RESULT_BYTES = 2 ** 30;
/** A result's views of so many bytes go by the port, copied once instead of twice: that pays for the message. */
const MOVE_FROM_BYTES = 128 * 1024;
/** Results of more bytes than this are written where the next large one is expected. */
const LARGE_BYTES = 8 * 1024;
const NOTHING: readonly unknown[] = [];

/**
 * A lane's end of the shared memory: claims calls, has them run, and answers.
 *
 *   running ──nothing to claim──▶ spinning ──in vain──▶ asleep
 *      ▲                             │                    │
 *      └──────────claims─────────────┴───rung, message────┘
 *
 * It runs in the lane's event loop and never blocks it: it sleeps by returning to the loop, and after
 * `LONGEST_RUN_MS` of calls it lets the loop turn. While calls that it started wait for something it does not
 * spin, since that would hold them up.
 */
export class LaneLoop implements Answers, InvocationHost {
  readonly laneId: number;
  readonly #platform: LanePlatform;
  readonly #tasks: Tasks;
  readonly #concurrency: number;
  readonly #layout: Layout;
  readonly #control: Int32Array;
  readonly #deadlines: Float64Array;
  readonly #startedAt: Float64Array;
  readonly #endedAt: Float64Array;
  readonly #seat: number;
  readonly #mine: number;
  readonly #maskWord: number;
  readonly #maskBit: number;
  readonly #bells: Bells;
  readonly #sleeper: Sleeper;
  readonly #definitions: DefinitionReader;
  readonly #decoder: Decoder;
  readonly #encoder: Encoder;
  readonly #writer: ReplyWriter;
  /** Its second ring, once it had a large result; and whether the last result was one, as the next may be. */
  #wide: ReplyWriter | null = null;
  #wasLarge = false;
  readonly #executor: Executor;
  readonly #segments: Memory[] = [];
  /** By slot: what running calls say to the host and hear from it; most have nothing to say. */
  readonly #talks = new Map<number, LaneTalk>();
  readonly #talkWriter: TalkWriter;
  readonly #kept: KeptCallbacks;
  /** That of the call whose arguments are decoded now. */
  #decoding: LaneTalk | null = null;
  /** Tasks by function index. */
  readonly #known: (TaskFunction | undefined)[] = [];
  /** Claimed calls that wait for a message: values from the side, or a segment. */
  readonly #parked = new Set<number>();
  readonly #resume: () => void;
  #draining = false;
  #ringFirst = false;
  /** It may have its sign of sleeping up. */
  #asleep = false;
  #inLoop = false;
  #turnPending = false;
  /** When this turn of the event loop began with calls, how many it had, and at which count the clock is read. */
  #runSince = 0;
  #runCalls = 0;
  #lookAt = 1;
  readonly #patience = new Patience();
  /** It left spinning, or was rung, with a claim: see `#afterClaim`. */
  #mayOweRing = false;
  /** With more heap than this, in bytes, it asks to be replaced. Looked at after timed calls. */
  #heapLimit: number;
  #tearDown: LaneOptions['tearDown'];
  #leaving = false;

  constructor(
    platform: LanePlatform,
    memory: WindowMemory,
    tasks: Tasks,
    options: LaneOptions,
    tracker: Tracker,
  ) {
    this.#platform = platform;
    this.#tasks = tasks;
    this.laneId = options.laneId;
    this.#concurrency = options.concurrency;
    this.#heapLimit = options.heapBytes;
    this.#tearDown = options.tearDown;
    const layout = new Layout(memory.seats, memory.slots, memory.inbox);
    this.#layout = layout;
    const control = new Int32Array(memory.control, 0, layout.words);
    this.#control = control;
    this.#deadlines = new Float64Array(memory.control, layout.deadline * 4, layout.slots);
    this.#startedAt = new Float64Array(memory.control, layout.started * 4, layout.slots);
    this.#endedAt = new Float64Array(memory.control, layout.ended * 4, layout.slots);
    this.#seat = memory.seat;
    this.#mine = layout.seat(memory.seat);
    this.#maskWord = memory.seat >> 5;
    this.#maskBit = 1 << (memory.seat & 31);
    this.#bells = new Bells(control, layout);
    this.#sleeper = new Sleeper(control, this.#mine + BELL, () => this.#enter());
    const { codec } = platform;
    const hostLog = layout.words * 4;
    this.#definitions = new DefinitionReader(
      memoryOver(memory.control),
      control,
      HOST_DEFINED,
      hostLog,
      hostLog + HOST_LOG_BYTES,
      codec,
    );
    this.#decoder = new Decoder(codec, this.#definitions);
    const replies = memoryOver(memory.replies);
    const ownLog = new DefinitionWriter(
      replies,
      control,
      this.#mine + LANE_DEFINED,
      0,
      LANE_LOG_BYTES,
      codec,
    );
    this.#encoder = new Encoder(codec, ownLog);
    this.#encoder.moveFromBytes = MOVE_FROM_BYTES;
    this.#writer = new ReplyWriter(
      replies,
      LANE_LOG_BYTES,
      control,
      this.#mine + REPLY_HEAD,
      this.#mine + REPLY_TAIL,
      new HeapSink(MOST_RESULT_BYTES),
    );
    this.#executor = new Executor(this, this, tracker);
    const sayEncoder = new Encoder(codec, ownLog);
    sayEncoder.moveFromBytes = MOVE_FROM_BYTES;
    this.#talkWriter = new TalkWriter(sayEncoder, platform, (message, transfer) =>
      platform.post(message, transfer),
    );
    this.#kept = new KeptCallbacks((op, id, number, value) =>
      this.#talkWriter.say(NO_CALL, 0, op, id, number, value),
    );
    this.#decoder.resolve = (kind, id) => this.#decoding!.resolve(kind, id);
    for (const segment of memory.segments) this.#segments.push(memoryOver(segment));
    this.#resume = () => {
      this.#turnPending = false;
      this.#enter();
    };
  }

  start(): void {
    this.#bells.setUp(this.#seat);
    this.#enter();
  }

  now(): number {
    return this.#platform.now();
  }

  cancelled(slot: number): boolean {
    return atomicLoad(this.#control, this.#layout.cancel + slot) === 1;
  }

  receive(message: ToLane): void {
    switch (message.kind) {
      case 'segment':
        this.#segments[message.index] = memoryOver(message.buffer);
        for (const slot of this.#parked) {
          if (!this.#needsSide(slot) && this.#hasSegment(slot)) this.#unpark(slot, NOTHING);
        }
        break;
      case 'side':
        if (this.#isCurrent(message)) this.#unpark(message.slot, message.values, message.bytes);
        break;
      case 'talk':
        this.#hear(message);
        break;
      case 'gone':
        if (!this.#isCurrent(message) || !this.#parked.delete(message.slot)) break;
        this.#executor.running--;
        this.answer(message.slot, true, undefined, []);
        break;
      case 'abort':
        if (this.#isCurrent(message)) {
          this.#executor.abort(message.slot, decodeAlone(message.reason, this.#platform.codec));
        }
        break;
      case 'drain':
        this.#draining = true;
        if (this.#asleep) this.#stopSleeping();
        if (this.#mayOweRing) this.#afterClaim(); // it may have been rung for a call that it will not take
        this.#confirmDrained();
        break;
    }
  }

  /** Whether a message is about the call that has its slot now. */
  #isCurrent({ slot, serial }: OfCall): boolean {
    return this.#control[this.#layout.serial + slot] === serial;
  }

  /** A message from the host could not be read: whoever waits for values from it waits in vain. */
  onUnreadable(cause: unknown): void {
    const error = new HotlaneError(
      'NOT_CLONEABLE',
      `Values among the arguments could not be read in the lane: ${(cause as Error)?.message ?? String(cause)}`,
      { cause },
    );
    for (const slot of this.#parked) {
      if (!this.#needsSide(slot)) continue;
      this.#parked.delete(slot);
      this.#executor.running--;
      this.answer(slot, true, error, []);
    }
  }

  // ---- claiming -----------------------------------------------------------------------------------------

  /** Begins a turn with calls: rung, resumed, or started. */
  #enter(): void {
    if (this.#turnPending || this.#inLoop) return;
    this.#runCalls = 0;
    this.#lookAt = 1;
    this.#runSince = this.#platform.now();
    this.#work();
  }

  /** Claims and runs calls until there are none, the lane is full, or others of its event loop want a turn. */
  #work(): void {
    this.#inLoop = true;
    if (this.#asleep) this.#stopSleeping(); // something of its own woke it
    this.#platform.markBusy(true);
    while (!this.#draining && this.#executor.running < this.#concurrency) {
      const slot = this.#claim();
      if (slot >= 0) {
        if (this.#mayOweRing) this.#afterClaim();
        this.#begin(slot);
        if (++this.#runCalls >= this.#lookAt && this.#turnIsDue()) {
          this.#turnPending = true;
          this.#platform.turn(this.#resume);
          break;
        }
      } else if (!this.#spin() && this.#sleep()) {
        break;
      }
    }
    this.#inLoop = false;
  }

  #turnIsDue(): boolean {
    this.#lookAt = this.#runCalls + Math.min(this.#runCalls, MOST_UNTIMED);
    return this.#platform.now() - this.#runSince > LONGEST_RUN_MS;
  }

  /** Claims the next call: its slot, or −1. */
  #claim(): number {
    const mine = this.#mine;
    // Orders the inbox's words after its head.
    if (this.#control[mine + INBOX_TAIL] === atomicLoad(this.#control, mine + INBOX_HEAD)) {
      return this.#claimFromRing();
    }
    // Calls for this lane only and calls for any go first in turn, so that neither starves.
    this.#ringFirst = !this.#ringFirst;
    const slot = this.#ringFirst ? this.#claimFromRing() : this.#claimOwn();
    if (slot >= 0) return slot;
    return this.#ringFirst ? this.#claimOwn() : this.#claimFromRing();
  }

  #claimOwn(): number {
    const control = this.#control;
    const seat = this.#seat << STATUS_BITS;
    const bound = BOUND | seat;
    let own = control[this.#mine + INBOX_TAIL];
    while (own !== atomicLoad(control, this.#mine + INBOX_HEAD)) {
      const slot = control[this.#layout.inbox(this.#seat) + (own & this.#layout.inboxMask)];
      own = (own + 1) | 0;
      // Against a recall; as below.
      const state = this.#layout.slot0 + slot * SLOT_WORDS;
      const won = atomicCompareExchange(control, state, bound, CLAIMED | seat) === bound;
      // Orders our reads of the inbox before the host's next writes to it.
      atomicStore(control, this.#mine + INBOX_TAIL, own);
      if (won) return slot;
    }
    return -1;
  }

  #claimFromRing(): number {
    const control = this.#control;
    const layout = this.#layout;
    const claimed = CLAIMED | (this.#seat << STATUS_BITS);
    for (;;) {
      const tail = atomicLoad(control, TAIL);
      // Orders the ring's words after HEAD.
      if (tail === atomicLoad(control, HEAD)) return -1;
      // Others may have gone past `tail` and the host may have written a new entry here. Then this is another
      // call than TAIL says, but if it is PUBLISHED it is ours to take as well.
      const slot = control[layout.ring + (tail & layout.ringMask)];
      // Against other lanes and a recall: one compare-and-swap wins. Orders the descriptor after PUBLISHED.
      const won =
        atomicCompareExchange(control, layout.slot0 + slot * SLOT_WORDS, PUBLISHED, claimed) === PUBLISHED;
      // Whoever is here helps TAIL on, also past entries that lead nowhere, and after a lane that died before it did.
      atomicCompareExchange(control, TAIL, tail, (tail + 1) | 0);
      if (won) return slot;
    }
  }

  /**
   * A host that sees a lane spinning, or has rung one, rings no other for its call. So whoever stops spinning
   * or sleeping and claims a call looks whether there is more, and rings sleepers for it. Its sign is taken back
   * before this look at HEAD: either the host saw no sign and rang another, or its HEAD is seen here.
   */
  #afterClaim(): void {
    this.#mayOweRing = false;
    const control = this.#control;
    const more = (atomicLoad(control, HEAD) - atomicLoad(control, TAIL)) | 0;
    if (more > 0) this.#bells.wake(more);
  }

  #spin(): boolean {
    if (this.#executor.running > 0) return false;
    const control = this.#control;
    // This lane and the others that are awake, and the host if it is: spinning must not take a core from work.
    const busy = this.#bells.awake() + (control[HOST_ASLEEP] === AWAKE ? 1 : 0);
    if (busy > this.#platform.cores || !this.#patience.take()) return false;
    const sign = this.#layout.spinning + this.#maskWord;
    atomicOr(control, sign, this.#maskBit);
    const until = this.#platform.now() + SPIN_MS;
    let found = false;
    let looks = 0;
    do {
      for (let i = 0; i < SPINS_PER_LOOK && !found; i++) found = this.#hasWork();
    } while (!found && ++looks < MOST_LOOKS && this.#platform.now() < until);
    atomicAnd(control, sign, ~this.#maskBit);
    if (found) {
      this.#patience.rewarded();
      this.#mayOweRing = true;
    } else {
      this.#patience.wasInVain();
    }
    return found;
  }

  #hasWork(): boolean {
    const control = this.#control;
    return (
      atomicLoad(control, HEAD) !== atomicLoad(control, TAIL) ||
      atomicLoad(control, this.#mine + INBOX_HEAD) !== control[this.#mine + INBOX_TAIL]
    );
  }

  /** Goes to sleep; false if work came meanwhile. The order is that of wake.ts: sign, look, wait. */
  #sleep(): boolean {
    const control = this.#control;
    const bell = atomicLoad(control, this.#mine + BELL);
    // Before the sign of sleeping, so that whoever sees that sign sees this one: see Bells.wake.
    if (this.#executor.running > 0) atomicOr(control, this.#layout.waiting + this.#maskWord, this.#maskBit);
    else atomicAnd(control, this.#layout.waiting + this.#maskWord, ~this.#maskBit);
    atomicOr(control, this.#layout.asleep + this.#maskWord, this.#maskBit);
    this.#asleep = true;
    if (!this.#hasWork() && this.#sleeper.sleep(bell)) {
      this.#platform.markBusy(false);
      return true;
    }
    this.#stopSleeping();
    return false;
  }

  /** A host that took the sign back meanwhile rang for a call that this lane may not take: see `#afterClaim`. */
  #stopSleeping(): void {
    this.#asleep = false;
    this.#mayOweRing = true;
    atomicAnd(this.#control, this.#layout.asleep + this.#maskWord, ~this.#maskBit);
  }

  // ---- running ------------------------------------------------------------------------------------------

  #begin(slot: number): void {
    if (this.#needsSide(slot)) {
      this.#park(slot);
      this.#platform.post({ kind: 'need', slot });
    } else if (this.#hasSegment(slot)) {
      this.#run(slot, NOTHING);
    } else {
      this.#park(slot); // the segment's message is on the way
    }
  }

  #hasSegment(slot: number): boolean {
    const where = this.#control[this.#layout.slot0 + slot * SLOT_WORDS + WHERE];
    return this.#segments[where >>> SEGMENT_SHIFT] !== undefined;
  }

  #needsSide(slot: number): boolean {
    return (this.#control[this.#layout.slot0 + slot * SLOT_WORDS + TASK] & (HAS_SIDE | BYTES_ASIDE)) !== 0;
  }

  #park(slot: number): void {
    // Opened already, so that a reader who leaves before it begins is heard.
    const flags = this.#control[this.#layout.slot0 + slot * SLOT_WORDS + TASK];
    if ((flags & (TALKS | STREAMS)) !== 0) this.#openTalk(slot, flags);
    this.#parked.add(slot);
    this.#executor.running++;
  }

  #unpark(slot: number, side: readonly unknown[], bytes?: ArrayBuffer): void {
    if (!this.#parked.delete(slot)) return;
    this.#executor.running--;
    this.#run(slot, side, bytes);
    if (!this.#inLoop) this.#enter();
  }

  #run(slot: number, side: readonly unknown[], bytes?: ArrayBuffer): void {
    const control = this.#control;
    const at = this.#layout.slot0 + slot * SLOT_WORDS;
    const flags = control[at + TASK];
    const talk =
      (flags & (TALKS | STREAMS)) === 0 ? null : (this.#talks.get(slot) ?? this.#openTalk(slot, flags));
    this.#decoding = talk;
    let task: TaskFunction;
    let args: unknown[];
    try {
      task = this.#task(flags & FN_MASK);
      if (bytes === undefined) {
        const where = control[at + WHERE];
        const start = (where & OFFSET_MASK) << 3;
        args = this.#decoder.decodeArguments(
          this.#segments[where >>> SEGMENT_SHIFT],
          start,
          start + control[at + LENGTH],
          side,
        );
      } else {
        args = this.#decoder.decodeArguments(memoryOver(bytes), 0, bytes.byteLength, side);
        this.#decoder.release();
      }
    } catch (error) {
      this.answer(slot, true, error, []);
      return;
    }
    if ((flags & TIMED) !== 0) this.#startedAt[slot] = this.#platform.now();
    // Before the function's first instruction: from here on, a lost lane means that the call had begun.
    atomicStore(control, at, STARTED | (this.#seat << STATUS_BITS));
    const carried = (control[at + TASK] & HAS_CONTEXT) === 0 ? null : (args.pop() as Carried);
    this.#executor.run(slot, task, args, this.#deadlines[slot], talk, carried);
  }

  #openTalk(slot: number, flags: number): LaneTalk {
    const serial = this.#control[this.#layout.serial + slot];
    const talk = new LaneTalk(
      (op, id, number, value) => this.#talkWriter.say(slot, serial, op, id, number, value),
      this.#platform,
      this.#kept,
      (flags & STREAMS) === 0 ? 0 : this.#control[this.#layout.window + slot],
    );
    this.#talks.set(slot, talk);
    return talk;
  }

  #hear(message: TalkMessage): void {
    readTalk(message, ({ slot, serial, op, id, number, start, end, values }) => {
      const isCurrent = slot === NO_CALL || this.#isCurrent({ slot, serial });
      const talk = isCurrent ? this.#talks.get(slot) : undefined;
      if (slot !== NO_CALL && talk === undefined) return;
      let value: unknown;
      try {
        value = this.#decoder.decodeValue(memoryOver(message.bytes), start, end, values);
      } catch (error) {
        value = error;
        op = opOfUnreadable(op);
      }
      if (talk === undefined) this.#kept.receive(op, number, value);
      else talk.receive(op, id, number, value);
    });
    this.#decoder.release();
  }

  #task(fn: number): TaskFunction {
    const known = this.#known[fn];
    if (known !== undefined) return known;
    const name = this.#definitions.functionName(fn);
    if (name === undefined) {
      throw new HotlaneError('PROTOCOL', `A call names function number ${fn}, which the host never defined.`);
    }
    const task = this.#tasks.find(name);
    this.#known[fn] = task;
    return task;
  }

  // ---- answering ----------------------------------------------------------------------------------------

  answer(slot: number, failed: boolean, value: unknown, transfer: readonly object[]): void {
    const flags = this.#control[this.#layout.slot0 + slot * SLOT_WORDS + TASK];
    if ((flags & TIMED) !== 0) this.#endTimed(slot);
    const talks = (flags & (TALKS | STREAMS)) !== 0;
    if (talks) this.#endTalk(slot);
    this.#answer(slot, failed, value, transfer, talks);
  }

  /** @param byPort it must come after what the call has said, which went by the port */
  #answer(slot: number, failed: boolean, value: unknown, transfer: readonly object[], byPort: boolean): void {
    const at = this.#layout.slot0 + slot * SLOT_WORDS;
    const encoder = this.#encoder;
    let writer = this.#wasLarge ? this.#wide! : this.#writer;
    let length: number;
    try {
      length = encoder.encodeValue(value, writer.open(), writer, transfer);
    } catch (error) {
      failed = true;
      value = error;
      transfer = [];
      length = this.#encodeFailure(error, writer);
    }
    // Before the reply can be seen, so that no slot has an answer and is not done.
    this.#control[at] = DONE | (this.#seat << STATUS_BITS);
    const isPlain = !byPort && encoder.side.length === 0 && transfer.length === 0;
    if (writer.outgrown && isPlain && writer === this.#writer) {
      // It may still find room in the ring for large results, copied once more; the next is written there at once.
      writer = this.#wideRing(length);
      const { memory, start } = encoder.room;
      if (writer.take(memory, start, length, this.#platform.codec)) encoder.release();
    }
    this.#wasLarge = length > LARGE_BYTES && this.#wide !== null;
    if (!writer.outgrown && isPlain) {
      writer.commit(slot, failed ? FAILED : 0, length);
      ringHost(this.#control);
    } else {
      this.#postReply(slot, failed, length, transfer, byPort);
    }
    if (this.#draining) this.#confirmDrained();
    else if (!this.#inLoop && !this.#turnPending) this.#work();
  }

  /** What a function threw may itself be impossible to encode; then a plain account of it goes instead. */
  #encodeFailure(error: unknown, writer: ReplyWriter): number {
    try {
      return this.#encoder.encodeValue(error, writer.open(), writer, []);
    } catch (worse) {
      const account = new HotlaneError(
        'NOT_CLONEABLE',
        `The result or its error cannot be sent: ${(worse as Error)?.message}`,
      );
      return this.#encoder.encodeValue(account, writer.open(), writer, []);
    }
  }

  /** The ring for large results, made when there is the first. */
  #wideRing(length: number): ReplyWriter {
    if (this.#wide !== null) return this.#wide;
    let bytes = LEAST_WIDE_RING_BYTES;
    while (bytes < length * WIDE_RING_RESULTS && bytes < MOST_WIDE_RING_BYTES) bytes *= 2;
    const buffer = new SharedArrayBuffer(bytes);
    // Posted before anything is shown in it; the host looks there from when it has this message.
    this.#platform.post({ kind: 'ring', buffer });
    const [head, tail] = [this.#mine + WIDE_HEAD, this.#mine + WIDE_TAIL];
    this.#wide = new ReplyWriter(
      memoryOver(buffer),
      0,
      this.#control,
      head,
      tail,
      new HeapSink(MOST_RESULT_BYTES),
    );
    return this.#wide;
  }

  #endTalk(slot: number): void {
    const talk = this.#talks.get(slot);
    if (talk === undefined) return; // it was given up before it began
    this.#talks.delete(slot);
    talk.end();
    this.#talkWriter.flush();
  }

  #postReply(
    slot: number,
    failed: boolean,
    length: number,
    transfer: readonly object[],
    byPort: boolean,
  ): void {
    const { memory, start } = this.#encoder.room;
    const bytes = memory.bytes.slice(start, start + length).buffer as ArrayBuffer;
    const { side: values, moved } = this.#encoder;
    this.#encoder.release();
    const reply = { kind: 'reply' as const, slot, failed, bytes, length, values };
    try {
      this.#platform.post(reply, [...transfer, ...moved, bytes]);
    } catch (error) {
      const refused = new HotlaneError(
        'NOT_CLONEABLE',
        `A value in the result can be neither cloned nor transferred: ${(error as Error).message}`,
        { cause: error },
      );
      this.#answer(slot, true, refused, [], byPort);
    }
  }

  #confirmDrained(): void {
    if (this.#executor.running > 0 || this.#leaving) return;
    this.#leaving = true;
    if (this.#tearDown === null) {
      this.#platform.post({ kind: 'drained' });
      return;
    }
    whenSettled(this.#tearDown(), trouble => {
      const bytes = trouble === undefined ? undefined : encodeAlone(trouble, this.#platform.codec);
      this.#platform.post({ kind: 'drained', trouble: bytes });
    });
  }

  #endTimed(slot: number): void {
    this.#endedAt[slot] = this.#platform.now();
    if (this.#heapLimit === Number.POSITIVE_INFINITY || this.#platform.heapBytes() < this.#heapLimit) return;
    this.#heapLimit = Number.POSITIVE_INFINITY; // said once
    this.#platform.post({ kind: 'worn' });
  }
}
