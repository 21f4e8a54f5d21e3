import type { Memory } from '../call/memory.ts';
import type { Key } from '../options.ts';
import type { Lane, Outlet } from './lane.ts';

export const NOWHERE = -1;

/**
 * One call on the host, from `pool.call.f(…)` until its promise is settled and its lane is free of it.
 * The scheduler and the transports keep their own notes in it, so that no map of live calls is needed.
 */
export class Call {
  /** The function's index in the host's numbering. */
  readonly fn: number;
  resolve!: (value: unknown) => void;
  reject!: (reason: unknown) => void;
  /** The promise is settled. A cancelled call can be settled and still occupy its lane. */
  settled = false;

  /** Where the encoded arguments are: a segment of shared memory, or `NOWHERE` and then in `memory`. */
  segment = NOWHERE;
  memory: Memory | null = null;
  /** First byte and number of bytes in that segment or memory. */
  start = 0;
  length = 0;
  /** Values that travel beside the bytes, by structured clone; null for nearly every call. */
  side: SideValues | null = null;

  /** It is in the scheduler's queue. */
  queued = false;
  /** What it was handed to last. */
  outlet: Outlet | null = null;
  /** The outlet's slot that it has, or `NOWHERE`. */
  slot = NOWHERE;
  /** The lane that it must run on, or null: a broadcast's, or for the time being its key's. */
  lane: Lane | null = null;
  /** It may run on that lane only, and on no other should that be lost: a broadcast. */
  only = false;
  key: Key | undefined = undefined;
  priority = 0;
  /** Where it stands among calls that wait; null in a pool that has not seen a priority. */
  rank: Rank | null = null;
  /** Its last argument is what it carries along (worker/carried.ts), not one of its own. */
  carries = false;
  /** When its time is up, on the pool's clock in milliseconds; 0 for never. */
  deadlineAt = 0;
  /** How many lanes were lost while they held it without having started it. */
  losses = 0;
  /** How many times it may run again after its lane was lost while it ran. */
  retries = 0;
  /** How many times it has waited to run again. */
  rests = 0;
  /** What cancelling needs; null when the call has no signal, no deadline and was not cancelled. */
  watch: CallWatch | null = null;
  /** When it was made, began and ended; null for calls that are not timed, which are most. */
  times: CallTimes | null = null;
  /** Its caller is blocked until it settles. */
  sync = false;
  /** What it says while it runs, and is told: streams and callbacks; null for nearly every call. */
  talk: Talk | null = null;
  /** Of a call whose results are a stream: how many of them may be on the way. 0: it has one result. */
  window = 0;

  constructor(fn: number) {
    this.fn = fn;
  }
}

/** The host's side of what a call says while it runs: see call/talk.ts. */
export interface Talk {
  /** Takes in what a value among the arguments is: what the lane is told of it, or −1 for what is no part of a talk. */
  refer(value: object): number;
  /** The lane says something. A value that could not be decoded comes as the error that says why. */
  receive(op: number, id: number, number: number, value: unknown): void;
  /** Whether a stream among the arguments would be read: what was read is gone, so the call cannot run again. */
  readonly readsInputs: boolean;
  /** The call was cancelled: nobody wants what it still says. */
  drop(): void;
  /** The call has finished, on a lane or on none: nothing more is said. */
  end(lane: Lane | null): void;
}

export interface SideValues {
  readonly values: readonly unknown[];
  /** Those of the values (and what they hold) that are moved, not copied. */
  readonly transfer: readonly object[];
}

/** On the pool's clock, in milliseconds; 0 for what has not happened. */
export interface CallTimes {
  queuedAt: number;
  startedAt: number;
  endedAt: number;
  /** The id of the lane that ran it; 0 as long as none is known. */
  lane: number;
}

/**
 * One second of waiting counts as much as one step of priority. So of two calls the same goes first however long both
 * wait, and what a call is compared by never changes.
 */
export interface Rank {
  /** When it was queued, on the pool's clock in milliseconds, less `MS_PER_STEP` for each step of priority. */
  readonly at: number;
  /** Of equals the one with less of this goes first. */
  readonly order: number;
}

/** The head start that one step of priority gives, in milliseconds. */
export const MS_PER_STEP = 1_000;

/** Whether one call goes first. One without a rank is older than all ranks, and yields to calls with one until it has its own. */
export function goesBefore(call: Call, other: Call): boolean {
  const [a, b] = [call.rank, other.rank];
  if (a === null || b === null) return a !== null;
  return a.at < b.at || (a.at === b.at && a.order < b.order);
}

export interface CallWatch {
  readonly graceMs: number;
  deadlineMs: number;
  signal: AbortSignal | null;
  /** Timer of the deadline, then of the grace after cancelling. */
  timer: unknown;
}
