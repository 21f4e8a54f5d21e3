import { HotlaneError } from '../errors.ts';
import { type Call, goesBefore, NOWHERE } from '../lane/call.ts';
import type {
  Demand,
  Lane,
  LaneEvents,
  LaneState,
  Placement,
  TaskLane,
  TaskOutcomes,
  Window,
} from '../lane/lane.ts';
import type { Random } from './random.ts';
import type { SimClock } from './sim-clock.ts';

/** How often simulated lanes do what, and how long it takes them, in milliseconds on the average. */
export interface SimHabits {
  readonly startMs: number;
  readonly failToStart: number;
  /** From a call's publication to a lane's look at it; from its claim to its start. */
  readonly handOverMs: number;
  readonly serviceMs: number;
  /** How often a function never returns, and how often it throws. */
  readonly hang: number;
  readonly fail: number;
  /** How often a lane dies while it has claimed, while it has started, while its answer is on its way. */
  readonly dieClaimed: number;
  readonly dieStarted: number;
  readonly dieDone: number;
  /** How long a lane that was ended goes on before it is gone. */
  readonly exitMs: number;
}

/** How many calls wait in a lane's own inbox at the most; few, so that it overflows. */
const INBOX = 2;

type Status = 'published' | 'claimed' | 'started' | 'done';

/** What the simulation knows of one call. */
interface Held {
  status: Status;
  lane: SimLane | null;
  failed: boolean;
}

/** Told of everything that happens, to check and to trace it. */
export interface SimWitness {
  event(what: string, call: Call | null, lane: number): void;
  started(call: Call): void;
}

/**
 * A placement whose lanes are made of events on a simulated clock. They pull from a window with the states of
 * the real one, and die in every state of a call.
 */
export class SimPlacement implements Placement, Window {
  readonly window = this;
  capacity = 0;
  serviceMs = 0;
  readonly lanes: SimLane[] = [];
  /** How many calls may be published beyond the capacity. */
  readonly ahead: number;
  readonly random: Random;
  readonly clock: SimClock;
  readonly habits: SimHabits;
  readonly outcomes: TaskOutcomes;
  readonly witness: SimWitness;
  /** Accepted calls whose arguments were not given up. */
  readonly accepted = new Set<Call>();
  readonly held = new Map<Call, Held>();
  /** In the order of publication, those bound to a lane left out. */
  readonly published: Call[] = [];
  readonly #names = new Map<string, number>();

  constructor(
    random: Random,
    clock: SimClock,
    habits: SimHabits,
    ahead: number,
    outcomes: TaskOutcomes,
    _demand: Demand,
    witness: SimWitness,
  ) {
    this.random = random;
    this.clock = clock;
    this.habits = habits;
    this.ahead = ahead;
    this.outcomes = outcomes;
    this.witness = witness;
  }

  defineFunction(name: string): number {
    if (!this.#names.has(name)) this.#names.set(name, this.#names.size);
    return this.#names.get(name)!;
  }

  encode(call: Call): boolean {
    call.length = 8;
    this.accepted.add(call);
    this.witness.event('made', call, 0);
    return true;
  }

  discard(call: Call): void {
    if (!this.accepted.delete(call)) throw new Error('the arguments of a call were given up twice');
    if (this.held.has(call))
      throw new Error('the arguments of a call were given up while a lane may read them');
  }

  running(): number {
    let running = 0;
    for (const { status } of this.held.values()) if (status !== 'published') running++;
    return running;
  }

  handed(): Call[] {
    return [...this.held.keys()];
  }

  reviewHold(): void {}

  now(): number {
    return this.clock.now();
  }

  turn(next: () => void): void {
    this.clock.after(0, next);
  }

  block(): never {
    throw new Error('nobody can wait for simulated lanes');
  }

  hasBudget(): boolean {
    return true;
  }

  dispose(): void {}

  createLane(id: number, events: LaneEvents): TaskLane {
    const lane = new SimLane(id, this, events);
    this.lanes.push(lane);
    return lane;
  }

  // ---- the window ---------------------------------------------------------------------------------------

  room(): number {
    let shared = 0;
    for (const call of this.held.keys()) if (call.lane === null) shared++;
    return this.capacity === 0 ? 0 : this.capacity + this.ahead - shared + this.away();
  }

  away(): number {
    let away = 0;
    for (const [call, { lane }] of this.held) if (call.lane === null && lane?.state === 'draining') away++;
    return away;
  }

  wait(): number {
    return 0;
  }

  begun(call: Call): boolean {
    const status = this.held.get(call)?.status;
    return status === 'started' || status === 'done';
  }

  recallFrom(lane: Lane): Call[] {
    return [...this.held.keys()].filter(call => call.lane === lane && !call.only && lane.recall(call));
  }

  hand(call: Call): void {
    if (this.room() <= 0) throw new Error('a call was handed over without room for it');
    this.publish(call, null);
    this.published.push(call);
    for (const lane of this.lanes) if (lane.isFree()) lane.look();
  }

  recall(call: Call): boolean {
    const held = this.held.get(call);
    if (held?.status !== 'published') return false;
    this.withdraw(call);
    this.witness.event('recalled', call, 0);
    return true;
  }

  recallBehind(call: Call): Call[] {
    return this.published.filter(other => goesBefore(call, other)).filter(other => this.recall(other));
  }

  laneOf(call: Call): TaskLane | null {
    return this.held.get(call)?.lane ?? null;
  }

  recallAll(): Call[] {
    return [...this.held.keys()].filter(call => call.lane === null && this.recall(call));
  }

  // ---- for lanes ----------------------------------------------------------------------------------------

  publish(call: Call, lane: SimLane | null): void {
    call.slot = 0;
    this.held.set(call, { status: 'published', lane, failed: false });
    this.witness.event('published', call, lane?.id ?? 0);
  }

  withdraw(call: Call): void {
    this.held.delete(call);
    const at = this.published.indexOf(call);
    if (at >= 0) this.published.splice(at, 1);
    call.slot = NOWHERE;
  }
}

export class SimLane implements TaskLane {
  readonly id: number;
  state: LaneState = 'starting';
  cause: unknown;
  calls = 0;
  wornAt = Number.POSITIVE_INFINITY;
  readonly #placement: SimPlacement;
  readonly #events: LaneEvents;
  readonly #inbox: Call[] = [];
  readonly #mine = new Set<Call>();
  #looking = false;
  #dead = false;
  #gone = false;
  #draining = false;

  constructor(id: number, placement: SimPlacement, events: LaneEvents) {
    this.id = id;
    this.#placement = placement;
    this.#events = events;
    const { clock, random, habits } = placement;
    clock.after(random.around(habits.startMs), () => {
      if (this.#dead) return;
      if (random.chance(habits.failToStart)) this.die(new Error('it fails to start'));
      else {
        this.#note('up', null);
        events.onUp(this);
        this.look();
      }
    });
  }

  /** Up, with nothing to do and no look at the window planned: a call must not wait beside it. */
  isIdle(): boolean {
    return this.isFree() && !this.#looking;
  }

  isFree(): boolean {
    return this.state === 'up' && !this.#dead && !this.#draining && this.#mine.size === 0;
  }

  /** Plans a look at the window. */
  look(): void {
    if (this.#looking || this.#dead) return;
    this.#looking = true;
    const { clock, random, habits } = this.#placement;
    clock.after(random.around(habits.handOverMs), () => {
      this.#looking = false;
      this.#claim();
    });
  }

  room(): number {
    return this.state === 'up' ? INBOX - this.#inbox.length : 0;
  }

  wait(): number {
    return this.#inbox.length;
  }

  hand(call: Call): void {
    this.#placement.publish(call, null);
    this.#inbox.push(call);
    if (this.isFree()) this.look();
  }

  recall(call: Call): boolean {
    const at = this.#inbox.indexOf(call);
    if (at < 0) return false;
    this.#inbox.splice(at, 1);
    this.#placement.withdraw(call);
    return true;
  }

  recallBehind(call: Call): Call[] {
    return this.#inbox.filter(other => goesBefore(call, other)).filter(other => this.recall(other));
  }

  running(): number {
    return this.#mine.size;
  }

  isDead(): boolean {
    return false;
  }

  sweep(): void {}

  abort(): void {}

  say(): number {
    return 0;
  }

  drain(): void {
    this.#draining = true;
    this.#confirmDrained();
  }

  end(cause: unknown): void {
    this.cause ??= cause;
    this.#events.onEnding(this);
    // A thread that is told to end goes on for a while: it may claim, start and finish calls.
    const { clock, random, habits } = this.#placement;
    clock.after(random.around(habits.exitMs), () => this.die(cause));
  }

  /** Stops where it is. That it is gone is seen a little later. */
  die(cause: unknown): void {
    if (this.#dead) return;
    this.#dead = true;
    this.cause ??= cause;
    this.#note('dies', null);
    const { clock, random, habits } = this.#placement;
    clock.after(random.around(habits.exitMs), () => this.#leave());
  }

  #claim(): void {
    if (this.#dead || this.#draining || this.#mine.size > 0 || this.state !== 'up') return;
    const placement = this.#placement;
    const own = this.#inbox.length > 0 && (placement.published.length === 0 || placement.random.chance(0.5));
    const call = (own ? this.#inbox : placement.published).shift();
    if (call === undefined) return;
    this.#mine.add(call);
    this.#move(call, 'claimed');
    this.#diesNow(placement.habits.dieClaimed, 'claimed');
    placement.clock.after(placement.random.around(placement.habits.handOverMs), () => this.#start(call));
  }

  #start(call: Call): void {
    if (this.#dead) return;
    const { clock, random, habits, witness } = this.#placement;
    this.#move(call, 'started');
    if (call.times !== null) call.times.startedAt = clock.now();
    witness.started(call);
    this.#diesNow(habits.dieStarted, 'started');
    if (random.chance(habits.hang)) return;
    clock.after(random.around(habits.serviceMs), () => {
      if (this.#dead) return;
      this.#move(call, 'done');
      if (call.times !== null) call.times.endedAt = clock.now();
      this.#placement.held.get(call)!.failed = random.chance(habits.fail);
      clock.after(random.around(habits.handOverMs), () => this.#answer(call));
      if (random.chance(habits.dieDone)) this.die(new Error('it dies while done'));
    });
  }

  /** The host takes the answer in, be the lane alive or not: it was shown. */
  #answer(call: Call): void {
    if (!this.#mine.delete(call)) return; // swept up already
    const { failed } = this.#placement.held.get(call)!;
    this.#placement.withdraw(call);
    this.#placement.discard(call);
    this.calls++;
    this.#note('answers', call);
    this.#placement.outcomes.settle(call, failed, failed ? new Error('thrown') : 'value');
    this.#placement.outcomes.finished(call, this);
    if (this.#draining) this.#confirmDrained();
    else if (!this.#dead) this.look();
  }

  #leave(): void {
    if (this.#gone) return;
    this.#gone = true;
    const unstarted: Call[] = [];
    const started: Call[] = [];
    for (const call of [...this.#mine]) {
      const { status } = this.#placement.held.get(call)!;
      // An answer that was shown before it died is taken in first.
      if (status === 'done') {
        this.#answer(call);
        continue;
      }
      this.#mine.delete(call);
      this.#placement.withdraw(call);
      if (status === 'claimed') call.losses++;
      (status === 'claimed' ? unstarted : started).push(call);
    }
    for (const call of this.#inbox.splice(0)) {
      this.#placement.withdraw(call);
      unstarted.push(call);
    }
    this.#placement.lanes.splice(this.#placement.lanes.indexOf(this), 1);
    this.#note('gone', null);
    this.#events.onEnded(this, unstarted, started);
    for (const lane of this.#placement.lanes) if (lane.isFree()) lane.look();
  }

  #confirmDrained(): void {
    if (this.#mine.size === 0) this.end(undefined);
  }

  #diesNow(often: number, when: Status): void {
    if (this.#placement.random.chance(often)) {
      this.die(new HotlaneError('LANE_LOST', `Lane ${this.id} dies while a call is ${when}.`));
    }
  }

  #move(call: Call, status: Status): void {
    const held = this.#placement.held.get(call)!;
    held.status = status;
    held.lane = this;
    this.#note(status, call);
  }

  #note(what: string, call: Call | null): void {
    this.#placement.witness.event(what, call, this.id);
  }
}
