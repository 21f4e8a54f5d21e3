import { Deque } from '../call/deque.ts';
import type { Call } from '../lane/call.ts';
import type { Lane } from '../lane/lane.ts';
import type { Key } from '../options.ts';

/** Keys with nothing in flight whose lanes are remembered; of more than these the longest idle are forgotten. */
export const MOST_IDLE_KEYS = 65_536;
/** Cancelled calls may fill this much of a key's queue, beyond the live ones, before they are cleared out. */
const MOST_STALE = 64;

interface Line {
  readonly key: Key;
  /** Where its calls run; null until one has run. */
  lane: Lane | null;
  /** The call that all others of the line wait for: it was let through and has not finished. */
  first: Call | null;
  readonly queue: Deque<Call>;
  /** Calls in the queue that were not cancelled. */
  waiting: number;
}

/**
 * Calls that bear a key: those of one key go one at a time and in order, on one lane while that lane takes calls.
 *
 *   queue of the key ──the one before has finished──▶ first ──▶ where any call goes, or to the key's lane
 *
 * The first call of a key goes where any call goes, so that whichever lane is free takes it. From then on the key's
 * calls go to the lane that ran it, even while another is free. When that lane takes no more calls, the key's next
 * call goes where any call goes again.
 */
export class Keys {
  readonly #lines = new Map<Key, Line>();
  /** Those of the lines with nothing in flight, the longest idle first. */
  readonly #idle = new Map<Key, Line>();
  #behind = 0;

  /** Calls that wait for another of their key: no lane may run them yet. */
  get behind(): number {
    return this.#behind;
  }

  /** Takes a new call: true when it may go now, to `call.lane` if that is set. */
  admit(call: Call): boolean {
    const key = call.key!;
    let line = this.#lines.get(key);
    if (line === undefined) {
      line = { key, lane: null, first: null, queue: new Deque(), waiting: 0 };
      this.#lines.set(key, line);
    }
    if (line.first === null) {
      this.#idle.delete(key);
      letThrough(line, call);
      return true;
    }
    call.queued = true;
    line.queue.push(call);
    line.waiting++;
    this.#behind++;
    return false;
  }

  /** Whether a call waits for another of its key. */
  holds(call: Call): boolean {
    return this.#lines.get(call.key!)!.first !== call;
  }

  /**
   * A call has finished, or will never run.
   *
   * @param lane that ran it, if one did
   * @returns the next of its key, which may go now
   */
  onFinished(call: Call, lane: Lane | null): Call | null {
    const line = this.#lines.get(call.key!)!;
    if (line.first !== call) return null; // cancelled behind another
    line.first = null;
    if (lane !== null) line.lane = lane;
    if (!takesCalls(line.lane)) line.lane = null; // and nothing should hold on to it
    if (line.waiting > 0) {
      const next = this.#next(line);
      letThrough(line, next);
      return next;
    }
    this.#idle.set(line.key, line);
    if (this.#idle.size > MOST_IDLE_KEYS) {
      const [oldest] = this.#idle.keys();
      this.#idle.delete(oldest);
      this.#lines.delete(oldest);
    }
    return null;
  }

  /** Takes out a call that waits for another of its key. */
  recall(call: Call): void {
    const line = this.#lines.get(call.key!)!;
    call.queued = false;
    line.waiting--;
    this.#behind--;
    if (line.queue.length > 2 * line.waiting + MOST_STALE) line.queue.filter(isQueued);
  }

  /** Takes out all calls that wait for another of their key, each key's in order. */
  takeAll(): Call[] {
    const calls: Call[] = [];
    for (const line of this.#lines.values()) while (line.waiting > 0) calls.push(this.#next(line));
    return calls;
  }

  #next(line: Line): Call {
    for (;;) {
      const call = line.queue.shift()!;
      if (!call.queued) continue; // it was recalled
      call.queued = false;
      line.waiting--;
      this.#behind--;
      return call;
    }
  }
}

function letThrough(line: Line, call: Call): void {
  line.first = call;
  if (!takesCalls(line.lane)) line.lane = null;
  call.lane = line.lane;
}

/** One that is starting may have answered a call already: its answer can be here before its word that it is up. */
function takesCalls(lane: Lane | null): boolean {
  return lane !== null && (lane.state === 'up' || lane.state === 'starting');
}

function isQueued(call: Call): boolean {
  return call.queued;
}
