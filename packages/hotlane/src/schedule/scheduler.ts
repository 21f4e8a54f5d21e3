import { Deque } from '../call/deque.ts';
import type { Call } from '../lane/call.ts';
import type { Clock } from '../lane/clock.ts';
import type { Lane, Outlet } from '../lane/lane.ts';
import { Keys } from './keys.ts';

/** Cancelled calls may fill this much of the queue, beyond the live ones, before they are cleared out. */
const MOST_STALE = 1024;

/**
 * Decides which outlet takes the next call. The queue is the authority: a call is handed over only while an
 * outlet has room, in order, and can be taken back until it was started.
 *
 * An outlet is a lane that is pushed to, or a window that several lanes pull from; the scheduler knows no other
 * difference. It has no clock, no timers, and does nothing by itself.
 */
export class Scheduler {
  readonly #chance: Pick<Clock, 'random'>;
  readonly #outlets: Outlet[] = [];
  readonly #queue = new Deque<Call>();
  /** Calls in the queue that were not cancelled. */
  #waiting = 0;
  /** Calls for one lane only, while it has no room. */
  readonly #bound = new Map<Lane, Deque<Call>>();
  #boundWaiting = 0;
  #boundFirst = false;
  readonly #keys = new Keys();

  /** @param chance breaks ties between outlets */
  constructor(chance: Pick<Clock, 'random'>) {
    this.#chance = chance;
  }

  /** How many calls wait in the queue. */
  get waiting(): number {
    return this.#waiting + this.#boundWaiting;
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
    if (call.lane !== null) {
      this.#submitTo(call.lane, call);
      return;
    }
    const outlet = this.#waiting === 0 ? this.#choose() : null;
    if (outlet !== null) {
      handOver(call, outlet);
      return;
    }
    call.queued = true;
    this.#waiting++;
    this.#queue.push(call);
  }

  /** Takes calls back from a lane that was lost; any other may run them, and they come before all that wait. */
  requeue(calls: readonly Call[]): void {
    for (let i = calls.length - 1; i >= 0; i--) {
      calls[i].lane = null;
      calls[i].queued = true;
      this.#waiting++;
      this.#queue.unshift(calls[i]);
    }
    this.pump();
  }

  /** Hands over what waits, as far as there is room. To be called whenever there may be more. */
  pump(): void {
    // Calls for one lane and calls for any want the same room: they go first in turn, so that neither starves.
    this.#boundFirst = !this.#boundFirst;
    if (this.#boundFirst) this.#pumpBound();
    while (this.#waiting > 0) {
      const outlet = this.#choose();
      if (outlet === null) break;
      handOver(this.#next(), outlet);
    }
    if (!this.#boundFirst) this.#pumpBound();
  }

  /** Takes a call back that has not started: true, and it never will. False: a lane has it. */
  recall(call: Call): boolean {
    if (!call.queued) return call.outlet?.recall(call) ?? false;
    if (call.key !== undefined && this.#keys.holds(call)) {
      this.#keys.recall(call);
      return true;
    }
    call.queued = false;
    if (call.lane !== null) {
      this.#boundWaiting--;
      const queue = this.#bound.get(call.lane);
      if (queue !== undefined && queue.length > 2 * this.#boundWaiting + MOST_STALE) queue.filter(isQueued);
      return true;
    }
    this.#waiting--;
    if (this.#queue.length > 2 * this.#waiting + MOST_STALE) this.#queue.filter(isQueued);
    return true;
  }

  /** Empties the queue: all calls that wait in it, in order. */
  takeAll(): Call[] {
    const calls: Call[] = [];
    while (this.#waiting > 0) calls.push(this.#next());
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
    const calls: Call[] = [];
    for (let call = queue.shift(); call !== undefined; call = queue.shift()) {
      if (!call.queued) continue;
      call.queued = false;
      this.#boundWaiting--;
      calls.push(call);
    }
    return calls;
  }

  #next(): Call {
    for (;;) {
      const call = this.#queue.shift()!;
      if (!call.queued) continue; // it was recalled
      call.queued = false;
      this.#waiting--;
      return call;
    }
  }

  /** The outlet with the most room; among equals one at random, so that none is starved by its index. */
  #choose(): Outlet | null {
    const outlets = this.#outlets;
    if (outlets.length === 1) return outlets[0].room() > 0 ? outlets[0] : null;
    let best: Outlet | null = null;
    let most = 0;
    let equals = 0;
    for (const outlet of outlets) {
      const room = outlet.room();
      if (room <= 0 || room < most) continue;
      equals = room > most ? 1 : equals + 1;
      if (room > most || this.#chance.random() * equals < 1) best = outlet;
      most = room;
    }
    return best;
  }

  #submitTo(lane: Lane, call: Call): void {
    let queue = this.#bound.get(lane);
    if (queue === undefined) {
      if (lane.room() > 0) {
        handOver(call, lane);
        return;
      }
      queue = new Deque();
      this.#bound.set(lane, queue);
    }
    call.queued = true;
    this.#boundWaiting++;
    queue.push(call);
    // Those before it may all have been recalled: then nothing else would ever look at this queue.
    if (lane.room() > 0) this.#pumpTo(lane);
  }

  #pumpBound(): void {
    if (this.#boundWaiting > 0) for (const lane of this.#bound.keys()) this.#pumpTo(lane);
  }

  #pumpTo(lane: Lane): void {
    const queue = this.#bound.get(lane)!;
    while (queue.length > 0 && lane.room() > 0) {
      const call = queue.shift()!;
      if (!call.queued) continue;
      call.queued = false;
      this.#boundWaiting--;
      handOver(call, lane);
    }
    if (queue.length === 0) this.#bound.delete(lane);
  }
}

function handOver(call: Call, outlet: Outlet): void {
  call.outlet = outlet;
  outlet.hand(call);
}

function isQueued(call: Call): boolean {
  return call.queued;
}
