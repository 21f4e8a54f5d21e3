import { Deque } from '../call/deque.ts';
import { type Call, goesBefore } from '../lane/call.ts';
import { Heap } from './heap.ts';

/** Cancelled calls may fill this much of a queue, beyond the live ones, before they are cleared out. */
const MOST_STALE = 1024;

/**
 * Calls that wait, in the order in which they go.
 *
 *   calls without priority, as they are made ──▶ line: a deque, always in order
 *   calls with one, and those that come out of turn ──▶ heap
 *
 * Next is the first of the line or the top of the heap. So calls without priority cost what a plain queue costs, whether
 * or not others have one; and where none was ever seen, calls have no ranks and nothing is compared.
 */
export class CallQueue {
  readonly #line = new Deque<Call>();
  readonly #heap = new Heap<Call>(goesBefore);
  #waiting = 0;

  /** Calls in it that were not cancelled. */
  get waiting(): number {
    return this.#waiting;
  }

  /** How many places it takes, cancelled calls that were not cleared out yet included. */
  get length(): number {
    return this.#line.length + this.#heap.length;
  }

  /** Puts a call where its rank says; one without a rank goes last. */
  push(call: Call): void {
    call.queued = true;
    this.#waiting++;
    if (call.rank === null) this.#line.push(call);
    else this.#insert(call);
  }

  /** Puts a call before all others. Only where calls have no ranks. */
  unshift(call: Call): void {
    call.queued = true;
    this.#waiting++;
    this.#line.unshift(call);
  }

  /** The call that `next` would take out. There must be one. */
  peek(): Call {
    for (;;) {
      const call = this.#heap.length === 0 ? this.#line.peek()! : this.#firstOfBoth();
      if (call.queued) return call;
      this.#takeFirst(); // it was recalled
    }
  }

  /** Takes the next call out. There must be one. */
  next(): Call {
    for (;;) {
      const call = this.#takeFirst();
      if (!call.queued) continue; // it was recalled
      call.queued = false;
      this.#waiting--;
      return call;
    }
  }

  /** Takes out a call that is in it. */
  recall(call: Call): void {
    call.queued = false;
    this.#waiting--;
    if (this.length <= 2 * this.#waiting + MOST_STALE) return;
    this.#line.filter(isQueued);
    this.#heap.filter(isQueued);
  }

  /** Empties it: all calls, in order. */
  takeAll(): Call[] {
    const calls: Call[] = [];
    while (this.#waiting > 0) calls.push(this.next());
    return calls;
  }

  #insert(call: Call): void {
    const line = this.#line;
    const last = line.peekLast();
    if (call.priority !== 0) this.#heap.push(call);
    else if (last === undefined || !goesBefore(call, last)) line.push(call);
    // What comes back from a window or a lane went before all that wait.
    else if (goesBefore(call, line.peek()!)) line.unshift(call);
    else this.#heap.push(call);
  }

  #takeFirst(): Call {
    if (this.#heap.length === 0) return this.#line.shift()!;
    return this.#firstOfBoth() === this.#line.peek() ? this.#line.shift()! : this.#heap.pop()!;
  }

  /** Where the heap is not empty. */
  #firstOfBoth(): Call {
    const first = this.#line.peek();
    const top = this.#heap.peek()!;
    return first !== undefined && goesBefore(first, top) ? first : top;
  }
}

function isQueued(call: Call): boolean {
  return call.queued;
}
