import type { TalkMessage } from '../call/talk.ts';
import type { Greeting } from './handshake.ts';

/**
 * The memory that the host and the lanes of one pool share.
 *
 *   control block: one SharedArrayBuffer of Int32 words; a line is 16 words (64 bytes), so that
 *   words written by different threads do not share a cache line
 *
 *     line 0   HEAD         ring entries published so far (mod 2³²)         written by the host
 *     line 1   TAIL         ring entries passed so far                      lanes, and the host when it helps
 *     line 2   HOST_ASLEEP  1: the host sleeps and wants to be rung for     host sets, a lane clears
 *                           replies; 2: it is blocked, and wants to be
 *                           rung for messages as well
 *     line 3   HOST_DEFINED bytes in the host's definitions log             host
 *     line 4…  UP           a bit per seat: its lane takes calls            the lane sets, the host clears
 *              ASLEEP       a bit per seat: free, and sleeping in its loop  the lane sets, a waker clears
 *              WAITING      a bit per seat: its calls wait for something,    the lane
 *                           so that it may be busy although it sleeps
 *              SPINNING     a bit per seat: free, and looking for work      the lane
 *     seats    two lines each. The lane's: INBOX_TAIL, REPLY_HEAD, LANE_DEFINED, WIDE_HEAD, THREAD.
 *              The host's: BELL (also rung by lanes), INBOX_HEAD, REPLY_TAIL, WIDE_TAIL
 *     inboxes  so many words per seat: slots of calls that only this lane may take
 *     ring     2 × SLOTS words: slots in the order of publication
 *     cancel   a word per slot: 1 when its call was cancelled
 *     serial   a word per slot: counts its calls, so that a late message is not taken for a later one's
 *     deadline a double per slot: when its call's time is up, on the pool's clock in ms; 0 for never
 *     started  a double per slot: when its function began, on the pool's clock in ms; written for timed calls only
 *     ended    a double per slot: when it ended
 *     window   a word per slot: of a call whose results are a stream, how many may be on the way
 *     slots    4 words each: STATE, TASK (function index and flags), WHERE (segment and offset), LENGTH; and behind them
 *              one more that is always FREE: entries that are to lead nowhere lead there
 *
 *   definitions: the host's log, behind the control block, as bytes
 *   segments:    payload arenas, SharedArrayBuffers of their own; the host allocates, writes and frees
 *   replies:     per lane a SharedArrayBuffer: the lane's definitions log, then a ring of bytes (reply-ring.ts)
 *   wide ring:   a second such ring, which a lane makes when it has its first result that is too large for the first
 *
 * A seat is a place for a lane in this memory; when its lane is gone, another takes it. The window is the
 * ring and the slots: what the host has published and nobody has finished.
 *
 *   slot states
 *
 *     FREE ──publish──▶ PUBLISHED ──claim, by compare-and-swap──▶ CLAIMED ──▶ STARTED ──▶ DONE ──▶ FREE
 *      ▲   (host)       or BOUND            (lane)                    (lane)     (lane)    (host)
 *      └──recall, by compare-and-swap──┘
 *                  (host)
 *
 *   BOUND, CLAIMED, STARTED and DONE carry the seat, so that a lane that dies anywhere leaves no slot in doubt:
 *   CLAIMED had not begun, STARTED and DONE had. RECALLED is not stored: the compare-and-swap that recalls a
 *   slot gives it straight back to the host. So an entry of the ring or of an inbox may lead to a slot that is
 *   something else by now. It is passed over, unless the slot was published again in the same way (PUBLISHED, or
 *   BOUND to the same seat): then the lane that gets there first takes it a little early, and the later entry
 *   is passed over.
 */
export const LINE = 16;

export const HEAD = 0 * LINE;
export const TAIL = 1 * LINE;
export const HOST_ASLEEP = 2 * LINE;
export const HOST_DEFINED = 3 * LINE;
const MASKS = 4 * LINE;

/** Values of HOST_ASLEEP. */
export const AWAKE = 0;
export const ASLEEP = 1;
export const BLOCKED = 2;

export const FREE = 0;
/** Any lane may claim it. */
export const PUBLISHED = 1;
/** The lane on its seat alone may claim it. */
export const BOUND = 2;
export const CLAIMED = 3;
export const STARTED = 4;
export const DONE = 5;
/** A slot's STATE word is `status | seat << STATUS_BITS`. */
export const STATUS_BITS = 3;
export const STATUS_MASK = 7;

export const SLOT_WORDS = 4;
export const STATE = 0;
export const TASK = 1;
export const WHERE = 2;
export const LENGTH = 3;

/** TASK: the function's index below, flags above. */
export const FN_MASK = 0xffff;
/** The call has values on the side channel; the host posts them to the lane that claimed it. */
export const HAS_SIDE = 1 << 16;
/** The arguments' bytes travel on the side channel too, since shared memory had no room. */
export const BYTES_ASIDE = 1 << 17;
/** The lane writes down when the function began and ended. */
export const TIMED = 1 << 18;
/** The last argument is what the call carries along (worker/carried.ts). */
export const HAS_CONTEXT = 1 << 19;
/** Among its arguments are callbacks or streams. */
export const TALKS = 1 << 20;
/** Its results are a stream. */
export const STREAMS = 1 << 21;

/** WHERE: the segment above, the offset in units of 8 bytes below. */
export const SEGMENT_SHIFT = 24;
export const OFFSET_MASK = (1 << SEGMENT_SHIFT) - 1;

/** Words of a seat: in the line that the lane writes, */
export const INBOX_TAIL = 0;
export const REPLY_HEAD = 1;
export const LANE_DEFINED = 2;
/** HEAD of the lane's second ring, for large results. */
export const WIDE_HEAD = 3;
/** The system's number of the lane's thread; 0 where it is not known. For a host that is blocked and hears of no exit. */
export const THREAD = 4;
/** and in the line that others write. */
export const BELL = LINE;
export const INBOX_HEAD = LINE + 1;
export const REPLY_TAIL = LINE + 2;
export const WIDE_TAIL = LINE + 3;
const SEAT_WORDS = 2 * LINE;

/** How many lane-bound calls can wait in one seat's inbox at least; more where a lane runs more at once. */
export const LEAST_INBOX = 64;

export const REPLY_RING_BYTES = 64 * 1024;
/** The ring for large results holds so many of the first one, within these bounds. */
export const WIDE_RING_RESULTS = 8;
export const LEAST_WIDE_RING_BYTES = 1024 * 1024;
export const MOST_WIDE_RING_BYTES = 16 * 1024 * 1024;
export const LANE_LOG_BYTES = 32 * 1024;
export const HOST_LOG_BYTES = 128 * 1024;
/** Bytes of the host's log that object shapes may not use, so that functions can always be named. */
export const LOG_KEPT_FOR_FUNCTIONS = 96 * 1024;

/** Where everything is in a control block for so many seats and slots. Host and lanes compute the same. */
export class Layout {
  readonly seats: number;
  readonly slots: number;
  readonly maskWords: number;
  readonly up: number;
  readonly asleep: number;
  readonly waiting: number;
  readonly spinning: number;
  readonly ringMask: number;
  readonly inboxMask: number;
  readonly inboxes: number;
  readonly ring: number;
  readonly cancel: number;
  readonly serial: number;
  readonly slot0: number;
  /** The slot that is always FREE. */
  readonly nowhere: number;
  readonly deadline: number;
  readonly started: number;
  readonly ended: number;
  readonly window: number;
  readonly words: number;
  readonly #seat0: number;

  /**
   * @param slots a power of two
   * @param inbox how many calls a seat's inbox takes: a power of two
   */
  constructor(seats: number, slots: number, inbox: number) {
    this.seats = seats;
    this.slots = slots;
    this.maskWords = (seats + 31) >> 5;
    const maskLines = Math.ceil(this.maskWords / LINE) * LINE;
    this.up = MASKS;
    this.asleep = this.up + maskLines;
    this.waiting = this.asleep + maskLines;
    this.spinning = this.waiting + maskLines;
    this.#seat0 = this.spinning + maskLines;
    this.inboxes = this.#seat0 + seats * SEAT_WORDS;
    this.inboxMask = inbox - 1;
    this.ring = this.inboxes + seats * inbox;
    this.ringMask = 2 * slots - 1;
    this.cancel = this.ring + 2 * slots;
    this.serial = this.cancel + slots;
    this.slot0 = this.serial + slots;
    this.nowhere = slots;
    this.deadline = this.slot0 + (slots + 1) * SLOT_WORDS;
    this.started = this.deadline + 2 * slots;
    this.ended = this.started + 2 * slots;
    this.window = this.ended + 2 * slots;
    this.words = this.window + slots;
  }

  seat(seat: number): number {
    return this.#seat0 + seat * SEAT_WORDS;
  }

  inbox(seat: number): number {
    return this.inboxes + seat * (this.inboxMask + 1);
  }
}

/** What a lane is given at its start, apart from its port: how to find the shared memory. */
export interface WindowMemory {
  readonly seats: number;
  readonly slots: number;
  readonly inbox: number;
  /** The control block and, behind its words, the host's definitions log. */
  readonly control: SharedArrayBuffer;
  /** Payload segments so far; later ones are posted before a slot leads to them. */
  readonly segments: readonly SharedArrayBuffer[];
  /** This lane's seat, and the memory that its replies go to. */
  readonly seat: number;
  readonly replies: SharedArrayBuffer;
}

/**
 * What passes over a lane's port beside the shared memory. Both sides check what they get.
 * Reasons and causes are bytes of `encodeAlone`, which keeps what structured clone drops of an error.
 */
export type ToLane =
  | { readonly kind: 'segment'; readonly index: number; readonly buffer: SharedArrayBuffer }
  | ({ readonly kind: 'side'; readonly values: readonly unknown[]; readonly bytes?: ArrayBuffer } & OfCall)
  | ({ readonly kind: 'gone' } & OfCall)
  | TalkMessage
  | ({ readonly kind: 'abort'; readonly reason: Uint8Array } & OfCall)
  | { readonly kind: 'drain' };

/** Which call a message is about: a slot is used again, its serial says by which call. */
export interface OfCall {
  readonly slot: number;
  readonly serial: number;
}

export type ToHost =
  | { readonly kind: 'up'; readonly greeting: Greeting }
  | { readonly kind: 'failed'; readonly cause: Uint8Array }
  | { readonly kind: 'ring'; readonly buffer: SharedArrayBuffer }
  | { readonly kind: 'need'; readonly slot: number }
  | {
      readonly kind: 'reply';
      readonly slot: number;
      readonly failed: boolean;
      readonly bytes: ArrayBuffer;
      readonly length: number;
      readonly values: readonly unknown[];
    }
  | TalkMessage
  | { readonly kind: 'worn' }
  | { readonly kind: 'drained'; readonly trouble?: Uint8Array };
