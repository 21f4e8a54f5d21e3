import type { Call, Talk } from './call.ts';

/**
 * The states of a lane. Only the fleet moves a lane from one to the next.
 *
 *   starting ──▶ up ──▶ draining ──▶ ended
 *      │          │         │          ▲
 *      └──────────┴─────────┴──────────┘   it failed to start, was lost, or was ended by force
 */
export type LaneState = 'starting' | 'up' | 'draining' | 'ended';

/** Something that calls can be handed to: one lane that is pushed to, or a window from which several lanes pull. */
export interface Outlet {
  /** How many more calls may be handed over now. */
  room(): number;
  /**
   * What it would cost a call to be handed over here: of several outlets with room, the one with the least is chosen, and
   * none whose answer is Infinity. In a unit that all outlets of a scheduler share: milliseconds that the call is expected to
   * wait, or where lanes are alike, how many calls are before it.
   */
  wait(call: Call): number;
  /** Hands a call over. Never throws; what becomes of it comes through `Outcomes`. */
  hand(call: Call): void;
  /** Takes a call back. True: it has not started and never will. False: a lane has it. */
  recall(call: Call): boolean;
  /**
   * Takes back the calls that it was handed before they can begin, and that `call` goes before: in their order. None,
   * where calls are handed over only to begin at once.
   */
  recallBehind(call: Call): Call[];
}

/** One executor, as the host holds it. What its calls carry is its own business: functions and arguments, or requests. */
export interface Lane extends Outlet {
  /** Unique within the pool, counted from 1, never used again. */
  readonly id: number;
  state: LaneState;
  /** Why it could not start or was lost; undefined while all is well. */
  cause: unknown;
  /** How many calls it has answered. */
  calls: number;
  /** When `calls` gets there, the lane is due to be replaced: see `Recycling`. Set by the fleet. */
  wornAt: number;
  /** How many calls it is running now. */
  running(): number;
  /** For a host that is blocked and hears no events: whether its thread is about to end, or has. */
  isDead(): boolean;
  /** For such a host: does what would be done on the event that tells of its end, if its thread is known to be gone. */
  sweep(): void;
  /** Nobody wants the outcome of `call` any more: whatever runs it may stop, and the call is finished all the same. */
  abort(call: Call, reason: unknown): void;
  /** Lets running calls finish and takes no more; `LaneEvents.onEnded` follows. */
  drain(): void;
  /** Ends the lane now; `LaneEvents.onEnded` follows. Can be called in any state, and twice. */
  end(cause: unknown): void;
}

/** A lane that runs functions, and so can be talked to while it does. */
export interface TaskLane extends Lane {
  /**
   * Tells the function that runs `call` something, or with null the lane itself: see call/talk.ts.
   *
   * @returns how many bytes the value takes; 0 when there is nobody to tell
   * @throws HotlaneError NOT_CLONEABLE, TOO_LARGE
   */
  say(call: Call | null, op: number, id: number, number: number, value: unknown): number;
}

/** What a lane tells the fleet. */
export interface LaneEvents {
  onUp(lane: Lane): void;
  /** It should be replaced, and says so by itself: its heap has grown. It goes on meanwhile. */
  onWorn(lane: Lane): void;
  /** It is being ended, and may go on for a while; another may take its place. */
  onEnding(lane: Lane): void;
  /**
   * The lane is gone for good: nothing of it runs any more.
   * `unstarted` are calls it held and never began; `started` are those whose functions had begun.
   */
  onEnded(lane: Lane, unstarted: readonly Call[], started: readonly Call[]): void;
}

/** Where the outcomes of calls go: the pool. */
export interface Outcomes {
  /**
   * The call has its result, or its error: settles what its caller waits for, unless that was done before.
   *
   * @param lane where it was thrown; left out for an error of ours
   */
  settle(call: Call, failed: boolean, value: unknown, lane?: Lane): void;
  /** The call's lane is free of it. */
  finished(call: Call, lane: Lane): void;
}

/** The same, from lanes that run functions. */
export interface TaskOutcomes extends Outcomes {
  /** A call's arguments have something to talk about: makes what the host's side of that is. */
  createTalk(call: Call): Talk;
  /** A lane says something that belongs to no call: of callbacks that are kept. */
  onTalk(lane: TaskLane, op: number, id: number, number: number, value: unknown): void;
}

/**
 * Where the lanes of one pool live, and how calls get there. Either its lanes pull from one `window`, or it has
 * none and they are pushed to.
 */
export interface Placement {
  readonly window: Window | null;
  /** Numbers a function's name for the wire; −1 when there is no room for more names. */
  defineFunction(name: string): number;
  /**
   * Reads the arguments of a call into it. What the caller changes afterwards is not seen.
   *
   * @param mostBytes how many bytes there is room for; false, and nothing is transferred, when they take more
   * @throws HotlaneError NOT_CLONEABLE, TOO_LARGE; and whatever a getter of the arguments throws
   */
  encode(call: Call, args: readonly unknown[], transfer: readonly object[], mostBytes: number): boolean;
  /** Gives up the arguments of a call that no lane will run any more. */
  discard(call: Call): void;
  /** Starts a lane. A failure to start is told through `events.onEnded`, never thrown. */
  createLane(id: number, events: LaneEvents): TaskLane;
  /** Calls that lanes are running now. */
  running(): number;
  /** Those of them that lanes on their way out run. */
  away(): number;
  /** All calls that were handed over and have not finished. */
  handed(): Call[];
  /**
   * Blocks the thread until a call is settled.
   *
   * @param until when to give up, on the clock
   * @param look to be called now and then
   */
  block(call: Call, until: number, look: () => void): void;
  /** `Demand.holds` may have changed. */
  reviewHold(): void;
  /** Whether the process has room for one more busy thread. */
  hasBudget(): boolean;
  now(): number;
  /** Calls back after other events of the loop had their turn. */
  turn(next: () => void): void;
  /** The pool has ended and its lanes are gone: lets go of everything. */
  dispose(): void;
}

/** What a placement may ask about the calls of its pool. */
export interface Demand {
  /** Whether any call has not finished. */
  live(): boolean;
  /** Whether somebody waits for one, so that the process must stay alive. */
  holds(): boolean;
}

export interface Window extends Outlet {
  /** How many calls the lanes (those that are starting included) can run at once. */
  capacity: number;
  /** How long functions run on the average, in milliseconds, as far as is known; 0 before that. */
  serviceMs: number;
  /** The lane that has claimed a call, or null while none has. */
  laneOf(call: Call): TaskLane | null;
  /** Whether a call's function has begun. */
  begun(call: Call): boolean;
  /** Takes back all calls that no lane has claimed, those bound to a lane left out. */
  recallAll(): Call[];
  /** Takes back the calls that are bound to a lane and that it has not claimed, broadcasts left out. */
  recallFrom(lane: Lane): Call[];
}
