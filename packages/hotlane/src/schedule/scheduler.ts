import type { Call } from '../lane/call.ts';
import type { Clock } from '../lane/clock.ts';
import type { Lane, Outlet } from '../lane/lane.ts';
import { CallQueue } from './call-queue.ts';
import { Keys } from './keys.ts';
import { Ranks } from './ranks.ts';

/**
 * Decides which outlet takes the next call. The queue is the authority: a call is handed over only while an
 * outlet has room, in order, and can be taken back until it was started.
 *
 * An outlet is a lane that is pushed to, or a window that several lanes pull from; the scheduler knows no other
 * difference. It has no timers, and does nothing by itself.
 *
 * Until a call has a priority, none has a rank: calls go in the order in which they come, and the clock is not read.
 * From then on each call has one, and one that goes before calls which were handed over and have not begun takes
 * their place.
 */
export class Scheduler {
  readonly #clock: Pick<Clock, 'now' | 'random'>;
  readonly #outlets: Outlet[] = [];
  readonly #queue = new CallQueue();
  /** Calls for one lane only, while it has no room. */
  readonly #bound = new Map<Lane, CallQueue>();
  #boundWaiting = 0;
  #boundFirst = false;
  readonly #keys = new Keys();
  /** Null until a call has a priority. */
  #ranks: Ranks | null = null;

  /** @param clock says when calls with priorities were queued, and breaks ties between outlets */
  constructor(clock: Pick<Clock, 'now' | 'random'>) {
    this.#clock = clock;
  }

  /** How many calls wait in the queue. */
  get waiting(): number {
    return this.#queue.waiting + this.#boundWaiting;
  }

  /** Calls that wait for another of their key: more lanes would not help them. */
  get behindKeys(): number {
    return this.#keys.behind;
  }

  /** How many places the queue takes, cancelled calls that were not cleared out yet included. */
  get queueLength(): number {
    return this.#queue.length;
  }

  addOutlet(outlet: Outlet): void {
    this.#outlets.push(outlet);
    this.pump();
  }

  removeOutlet(outlet: Outlet): void {
    const at = this.#outlets.indexOf(outlet);
    if (at >= 0) this.#outlets.splice(at, 1);
  }

  /** Takes a new call, and hands it over at once if it may. */
  submit(call: Call): void {
    if (this.#ranks !== null) call.rank = this.#ranks.ofNew(call, this.#clock.now());
    else if (call.priority !== 0) {
      this.#startRanking(call);
      this.#take(call);
      this.#pumpQueue();
      return;
    }
    this.#take(call);
  }

  #take(call: Call): void {
    if (call.key === undefined || this.#keys.admit(call)) this.#letGo(call);
  }

  /**
   * A call has finished, or was recalled for good: the next of its key may go.
   *
   * @param lane that ran it, or null
   */
  onFinished(call: Call, lane: Lane | null): void {
    if (call.key === undefined) return;
    const next = this.#keys.onFinished(call, lane);
    if (next !== null) this.#letGo(next);
  }

  #letGo(call: Call): void {
    // It may have waited for another of its key since before there were ranks.
    if (call.rank === null) this.#ranks?.rankOld([call]);
    if (call.lane !== null) {
      this.#submitTo(call.lane, call);
      return;
    }
    if (this.#ranks !== null) {
      this.#makeWay(call);
      this.#queue.push(call);
      this.#pumpQueue();
      return;
    }
    const outlet = this.#queue.waiting === 0 ? this.#choose(call) : null;
    if (outlet !== null) handOver(call, outlet);
    else this.#queue.push(call);
  }

  /**
   * Takes calls back from a lane that was lost; any other may run them. They go before all that wait; where calls have
   * ranks, where theirs say, which is before all that were made after them and are no more urgent.
   */
  requeue(calls: readonly Call[]): void {
    for (let i = calls.length - 1; i >= 0; i--) {
      const call = calls[i];
      call.lane = null;
      if (this.#ranks === null) {
        this.#queue.unshift(call);
        continue;
      }
      this.#ranks.rankOld([call]);
      this.#makeWay(call);
      this.#queue.push(call);
    }
    this.pump();
  }

  /** Hands over what waits, as far as there is room. To be called whenever there may be more. */
  pump(): void {
    // Calls for one lane and calls for any want the same room: they go first in turn, so that neither starves.
    this.#boundFirst = !this.#boundFirst;
    if (this.#boundFirst) this.#pumpBound();
    this.#pumpQueue();
    if (!this.#boundFirst) this.#pumpBound();
  }

  #pumpQueue(): void {
    while (this.#queue.waiting > 0) {
      const outlet = this.#choose(this.#queue.peek());
      if (outlet === null) break;
      handOver(this.#queue.next(), outlet);
    }
  }

  /** Takes a call back that has not started: true, and it never will. False: a lane has it. */
  recall(call: Call): boolean {
    if (!call.queued) return call.outlet?.recall(call) ?? false;
    if (call.key !== undefined && this.#keys.holds(call)) {
      this.#keys.recall(call);
      return true;
    }
    if (call.lane === null) this.#queue.recall(call);
    else {
      this.#boundWaiting--;
      this.#bound.get(call.lane)!.recall(call);
    }
    return true;
  }

  /** Empties the queue: all calls that wait in it, in order. */
  takeAll(): Call[] {
    const calls = this.#queue.takeAll();
    for (const lane of [...this.#bound.keys()]) calls.push(...this.takeBound(lane));
    calls.push(...this.#keys.takeAll());
    return calls;
  }

  /** Takes out the calls that wait for a lane which takes no more, but could run on another. */
  unbind(lane: Lane): Call[] {
    const calls = this.takeBound(lane);
    for (const call of calls) if (call.only) this.#submitTo(lane, call);
    return calls.filter(call => !call.only);
  }

  /** Takes out the calls that wait for a lane which is gone. */
  takeBound(lane: Lane): Call[] {
    const queue = this.#bound.get(lane);
    if (queue === undefined) return [];
    this.#bound.delete(lane);
    this.#boundWaiting -= queue.waiting;
    return queue.takeAll();
  }

  /** The first call with a priority has come: gives ranks to it, to all that wait, and to what can be taken back. */
  #startRanking(first: Call): void {
    const now = this.#clock.now();
    const ranks = new Ranks(now);
    this.#ranks = ranks;
    first.rank = ranks.ofNew(first, now);
    const published = this.#outlets.flatMap(outlet => outlet.recallBehind(first));
    for (const queue of [this.#queue, ...this.#bound.values()]) {
      const calls = queue === this.#queue ? [...published, ...queue.takeAll()] : queue.takeAll();
      ranks.rankOld(calls);
      for (const call of calls) queue.push(call);
    }
  }

  /** Takes back what was handed over and has not begun, as far as `call` goes before it. */
  #makeWay(call: Call): void {
    for (const outlet of this.#outlets) this.#putBack(outlet.recallBehind(call), this.#queue);
  }

  #putBack(calls: readonly Call[], queue: CallQueue): void {
    if (calls.length > 0) this.#ranks!.rankOld(calls);
    for (let i = calls.length - 1; i >= 0; i--) queue.push(calls[i]);
  }

  /** The outlet where the call waits least; among equals one at random, so that none is starved by its index. */
  #choose(call: Call): Outlet | null {
    if (this.#outlets.length === 1) {
      const [only] = this.#outlets;
      return only.room() > 0 && only.wait(call) < Number.POSITIVE_INFINITY ? only : null;
    }
    let best: Outlet | null = null;
    let least = Number.POSITIVE_INFINITY;
    let equals = 0;
    for (const outlet of this.#outlets) {
      if (outlet.room() <= 0) continue;
      const wait = outlet.wait(call);
      if (wait > least || wait === Number.POSITIVE_INFINITY) continue;
      equals = wait < least ? 1 : equals + 1;
      if (wait < least || this.#clock.random() * equals < 1) best = outlet;
      least = wait;
    }
    return best;
  }

  #submitTo(lane: Lane, call: Call): void {
    const back = this.#ranks === null ? NONE : lane.recallBehind(call);
    let queue = this.#bound.get(lane);
    if (queue === undefined) {
      if (back.length === 0 && lane.room() > 0) {
        handOver(call, lane);
        return;
      }
      queue = new CallQueue();
      this.#bound.set(lane, queue);
    }
    this.#putBack(back, queue);
    queue.push(call);
    this.#boundWaiting += back.length + 1;
    // Those before it may all have been recalled: then nothing else would ever look at this queue.
    if (lane.room() > 0) this.#pumpTo(lane);
  }

  #pumpBound(): void {
    if (this.#boundWaiting > 0) for (const lane of this.#bound.keys()) this.#pumpTo(lane);
  }

  #pumpTo(lane: Lane): void {
    const queue = this.#bound.get(lane)!;
    while (queue.waiting > 0 && lane.room() > 0) {
      this.#boundWaiting--;
      handOver(queue.next(), lane);
    }
    if (queue.waiting === 0) this.#bound.delete(lane);
  }
}

const NONE: readonly Call[] = [];

function handOver(call: Call, outlet: Outlet): void {
  call.outlet = outlet;
  outlet.hand(call);
}
