import { HotlaneError } from '../errors.ts';
import type { Call } from '../lane/call.ts';
import type { Clock } from '../lane/clock.ts';
import type { Lane, LaneEvents, LaneState } from '../lane/lane.ts';
import type { LaneNews } from '../lane/watch.ts';
import { backoffMs } from './backoff.ts';

export interface FleetOptions {
  readonly minLanes: number;
  readonly maxLanes: number;
  readonly lingerMs: number;
  readonly concurrency: number;
  readonly startMs: number;
  readonly recycle: Recycling;
  /** How long a lane may take to leave once it runs nothing, in milliseconds; 0 ends it at once where nothing waits for it. */
  readonly drainMs: number;
}

/** When a lane is replaced by a fresh one; Infinity for never. Each lane takes up to a tenth less, at random. */
export interface Recycling {
  readonly afterCalls: number;
  readonly afterMs: number;
  /** A lane that has run calls, and none for so long. */
  readonly idleMs: number;
}

/** What the fleet asks of, and tells, the pool. */
export interface FleetOwner {
  createLane(id: number, events: LaneEvents): Lane;
  /** Calls that were accepted and have not finished. */
  demand(): number;
  /**
   * Of these, calls that no lane has begun. Left out where lanes begin whatever they have room for: a lane whose function
   * computes begins nothing, though it has room for calls that await.
   */
  waiting?(): number;
  /** Calls that have finished so far. */
  finishedCalls(): number;
  /** How long functions run on the average, in milliseconds; 0 while nothing is known. */
  serviceMs(): number;
  /** Whether the process has room for one more busy thread. */
  hasBudget(): boolean;
  /** How many calls the lanes, those that are starting included, can run at once; whenever that changes. */
  onCapacity(calls: number): void;
  /** A lane has come to another state. To be told of only: what follows from it comes through the others of these. */
  onMoved(news: LaneNews): void;
  /** A lane could not start, or was lost at once; none is started for so long. */
  onBackOff(cause: unknown, waitMs: number): void;
  onUp(lane: Lane): void;
  /** A lane takes no more calls, and may run those that it has for a while. */
  onLeaving(lane: Lane): void;
  /** A lane is gone. `lane.cause` says why, unless it was let go. */
  onGone(lane: Lane, unstarted: readonly Call[], started: readonly Call[]): void;
  /** No lane is up or starting, and the last attempt failed: calls that wait have nobody to wait for. */
  onCannotStart(cause: unknown): void;
}

const FIRST_BACKOFF_MS = 100;
const LONGEST_BACKOFF_MS = 5_000;
/** A lane that is lost by itself, before it has lived so long or run anything, counts as one that failed to start. */
const YOUNG_MS = 1_000;
/** How long a lane that runs nothing may take to confirm that it drained. */
const LONGEST_DRAIN_MS = 5_000;
/** So many of those in a row, and calls are no longer kept waiting for the next. */
const MOST_STILLBORN = 3;
/** How long a start is taken to last before one was seen; and the bounds of what is believed of those that were. */
const USUAL_START_MS = 30;
const SHORTEST_START_MS = 5;
const LONGEST_START_MS = 1_000;
/** One lane in so many is replaced at a time, and at least one. */
const REPLACED_ONE_IN = 4;
const LEAST_LOOK_MS = 10;

/** What the fleet knows of a lane. */
interface Tenure {
  readonly createdAt: number;
  /** When it came up; 0 before that. */
  upAt: number;
  idleSince: number;
  /** `lane.calls` at the last look at who is idle. */
  seenCalls: number;
  /** Of a lane that starts: how long it may. Of one that is up: how long it may stay. */
  timer: unknown;
  /** It failed to start, and is not gone yet. */
  failed: boolean;
  /** The lane that it is to replace as soon as it is up. */
  replaces: Lane | null;
}

/**
 * How many lanes there are: started on demand, kept while useful, replaced when lost or worn.
 *
 * Growth: a lane is started when calls would wait longer for the present lanes than a start takes, judged from how long
 * functions run; as many at once as it takes to clear the queue within that time, up to `maxLanes`. While more calls are
 * there than lanes, and the lanes are expected to clear them sooner, the fleet looks again after such a time: if they have
 * not, it goes by how fast they were in truth. The first lanes are started for as many calls as there are.
 * Where a lane runs several calls at once, those that compute keep it from the others: calls that wait although lanes have room
 * for them, and for longer than a start takes, start lanes too.
 * Shrinking: a lane beyond `minLanes` that answered nothing for `lingerMs` and runs nothing is let go.
 * Recycling: a worn lane goes on until its replacement is up.
 * Failure: after n failed starts in a row the next attempt waits 100 ms × 2ⁿ⁻¹, at most 5 s. Demand does not
 * hasten it.
 */
export class Fleet implements LaneEvents {
  readonly lanes: Lane[] = [];
  /** More calls than this and the fleet wants to look at it; Infinity while it does not. Read for each call. */
  growAbove = 0;
  readonly #options: FleetOptions;
  readonly #owner: FleetOwner;
  readonly #clock: Clock;
  readonly #tenures = new Map<Lane, Tenure>();
  /** Lanes that are due to be replaced and wait for their turn. */
  readonly #worn = new Set<Lane>();
  /** How many lanes start that are to replace another. */
  #replacing = 0;
  #lastId = 0;
  #failures = 0;
  #startTakesMs = USUAL_START_MS;
  #backoff: unknown = null;
  #backoffUntil = 0;
  /** The next look at who is idle. */
  #linger: unknown = null;
  /** The next look at whether the lanes keep up, and how many calls had finished when it was planned. */
  #watch: unknown = null;
  #finishedBefore = 0;
  /** The last wish for a lane was refused: the process has no room for a busy thread more. */
  #overBudget = false;
  #closed = false;
  #onEmpty: (() => void) | null = null;

  constructor(options: FleetOptions, owner: FleetOwner, clock: Clock) {
    this.#options = options;
    this.#owner = owner;
    this.#clock = clock;
  }

  /** Starts lanes: up to `minLanes`, and as many as demand asks for. */
  grow(): void {
    this.#review(this.#owner.serviceMs());
  }

  // ---- what lanes tell ----------------------------------------------------------------------------------

  onUp(lane: Lane): void {
    if (lane.state !== 'starting') return;
    const tenure = this.#tenures.get(lane)!;
    const now = this.#clock.now();
    this.#clock.clearTimer(tenure.timer);
    tenure.timer = null;
    tenure.upAt = tenure.idleSince = now;
    this.#startTakesMs += (clamp(now - tenure.createdAt) - this.#startTakesMs) / 4;
    this.#limitTenure(lane, tenure);
    const old = tenure.replaces;
    this.#unpair(tenure);
    this.#move(lane, tenure, 'up');
    this.#owner.onUp(lane);
    if (old !== null) this.retire(old);
    this.#replaceWorn();
    if (this.#mayBeKept()) this.#tellCapacity(); // from now on it looks at calls that wait
    if (lane.calls >= lane.wornAt) this.onWorn(lane); // its answers may be seen before the message that it is up
    this.#watchIdle();
  }

  onWorn(lane: Lane): void {
    if (lane.state !== 'up' || this.#closed) return;
    lane.wornAt = Number.POSITIVE_INFINITY;
    this.#worn.add(lane);
    this.#replaceWorn();
  }

  onEnding(lane: Lane): void {
    if (lane.state === 'starting') this.#onFailedStart(lane);
    if (lane.state !== 'up') return;
    this.#move(lane, this.#tenures.get(lane)!, 'draining');
    this.#owner.onLeaving(lane);
    this.grow();
  }

  /** It is given up; its thread may take a while to go, in which nobody waits for it. */
  #onFailedStart(lane: Lane): void {
    const tenure = this.#tenures.get(lane)!;
    this.#move(lane, tenure, 'draining');
    this.#clock.clearTimer(tenure.timer);
    this.#unpair(tenure);
    if (this.#closed || lane.cause === undefined) return;
    tenure.failed = true;
    this.#backOff(lane.cause);
    this.#tellCapacity();
    if (this.#strength() === 0) this.#owner.onCannotStart(lane.cause);
  }

  onEnded(lane: Lane, unstarted: readonly Call[], started: readonly Call[]): void {
    if (lane.state === 'ended') return;
    const tenure = this.#tenures.get(lane)!;
    const idle = lane.calls === 0 && started.length === 0;
    const young = tenure.upAt === 0 || (idle && this.#clock.now() - tenure.upAt < YOUNG_MS);
    // One that failed to start was counted when it was ended.
    const failed = lane.cause !== undefined && young && !this.#closed && !tenure.failed;
    this.#move(lane, tenure, 'ended');
    this.lanes.splice(this.lanes.indexOf(lane), 1);
    this.#tenures.delete(lane);
    this.#worn.delete(lane);
    this.#clock.clearTimer(tenure.timer);
    this.#unpair(tenure);
    for (const other of this.#tenures.values()) if (other.replaces === lane) this.#unpair(other);
    if (failed) this.#backOff(lane.cause);
    else if (tenure.upAt > 0) this.#failures = 0;
    this.#tellCapacity();
    this.#owner.onGone(lane, unstarted, started);
    const hopeless = tenure.upAt === 0 || this.#failures >= MOST_STILLBORN;
    if (failed && hopeless && this.#strength() === 0) this.#owner.onCannotStart(lane.cause);
    if (this.lanes.length === 0) this.#onEmpty?.();
    this.grow();
    this.#replaceWorn();
  }

  #move(lane: Lane, { createdAt, replaces }: Tenure, state: LaneState): void {
    lane.state = state;
    const { id, cause, calls } = lane;
    const ageMs = this.#clock.now() - createdAt;
    this.#owner.onMoved({ id, state, cause, ageMs, calls, replaces: replaces?.id });
  }

  // ---- the end ------------------------------------------------------------------------------------------

  /**
   * Ends all lanes, for good.
   *
   * @param cause why, for those that run something; undefined when they are idle, and may go by themselves
   * @returns when the last of them is gone
   */
  async close(cause: unknown): Promise<void> {
    this.#closed = true;
    this.growAbove = Number.POSITIVE_INFINITY;
    for (const timer of [this.#backoff, this.#linger, this.#watch]) this.#clock.clearTimer(timer);
    for (const { timer } of this.#tenures.values()) this.#clock.clearTimer(timer);
    if (this.lanes.length === 0) return;
    const empty = new Promise<void>(resolve => {
      const before = this.#onEmpty;
      this.#onEmpty = () => {
        before?.();
        resolve();
      };
    });
    for (const lane of [...this.lanes]) {
      if (cause === undefined && this.#options.drainMs > 0 && lane.state !== 'starting') this.#drain(lane);
      else lane.end(cause);
    }
    await empty;
  }

  /** Takes a lane out of those that take calls; what it runs may finish. Another takes its place. */
  retire(lane: Lane): void {
    if (lane.state !== 'up') return;
    this.#drain(lane);
  }

  #drain(lane: Lane): void {
    if (lane.state === 'up') {
      this.#move(lane, this.#tenures.get(lane)!, 'draining');
      this.#owner.onLeaving(lane);
      this.grow();
      lane.drain();
    }
    const tenure = this.#tenures.get(lane);
    if (tenure !== undefined) this.#boundLeaving(lane, tenure); // else it is gone already
  }

  /**
   * One that runs nothing drains at once, but for its teardown. One that does not answer is broken, and would keep its
   * place for ever.
   */
  #boundLeaving(lane: Lane, tenure: Tenure): void {
    const withinMs = this.#options.drainMs || LONGEST_DRAIN_MS;
    this.#clock.clearTimer(tenure.timer);
    tenure.timer = this.#clock.setTimer(withinMs, () => {
      if (lane.running() > 0) this.#boundLeaving(lane, tenure);
      else
        lane.end(
          new HotlaneError('LANE_LOST', `Lane ${lane.id} was ended: it did not leave within ${withinMs} ms.`),
        );
    });
  }

  // ---- growing ------------------------------------------------------------------------------------------

  /** Lanes that take calls, now or soon; of one and its replacement, one. */
  #strength(): number {
    let count = 0;
    for (const lane of this.lanes) {
      if (lane.state !== 'starting' && lane.state !== 'up') continue;
      if (this.#tenures.get(lane)?.replaces?.state !== 'up') count++;
    }
    return count;
  }

  /**
   * @param serviceMs how long functions are taken to run; 0 when that is not known
   * @param least how many lanes there should be for another reason
   */
  #review(serviceMs: number, least = 0): void {
    if (this.#closed || this.#backoff !== null) return;
    const { minLanes, maxLanes } = this.#options;
    const wanted = Math.max(minLanes, Math.min(maxLanes, Math.max(least, this.#wanted(serviceMs))));
    for (let strength = this.#strength(); strength < wanted; strength++) {
      // Lanes on their way out still have a seat each; there is one for every lane and its replacement.
      if (this.lanes.length >= 2 * maxLanes) break;
      this.#overBudget = strength >= Math.max(1, minLanes) && !this.#owner.hasBudget();
      if (this.#overBudget) break;
      this.#start(null);
    }
    this.#tellCapacity();
    this.#watchQueue();
  }

  /** How many lanes there should be for the calls that are there. */
  #wanted(serviceMs: number): number {
    const { concurrency } = this.#options;
    const strength = this.#strength();
    const demand = this.#owner.demand();
    const enough = Math.ceil(demand / concurrency);
    if (enough <= strength) return strength;
    if (serviceMs === 0) return this.#anyUp() ? strength : enough;
    const clearMs = (demand * serviceMs) / (concurrency * Math.max(1, strength));
    if (clearMs <= this.#startTakesMs) return Math.max(1, strength);
    return Math.min(enough, Math.max(strength + 1, Math.ceil((clearMs * strength) / this.#startTakesMs)));
  }

  /** Whether a lane is up: if not, none could have shown yet how long functions run. */
  #anyUp(): boolean {
    return this.lanes.some(lane => lane.state === 'up');
  }

  /** While calls wait that the lanes are expected to clear soon, looks later whether they did. */
  #watchQueue(): void {
    const strength = this.#strength();
    const { maxLanes, concurrency } = this.#options;
    if (this.#watch !== null || strength >= maxLanes) return;
    const fits = this.#mayBeKept()
      ? this.#owner.demand() <= strength || this.#owner.waiting!() === 0
      : this.#owner.demand() <= strength * concurrency;
    if (fits) return;
    this.#finishedBefore = this.#owner.finishedCalls();
    this.#watch = this.#clock.setTimer(this.#startTakesMs, () => {
      this.#watch = null;
      const finished = Math.max(0.5, this.#owner.finishedCalls() - this.#finishedBefore);
      const shown = (this.#startTakesMs * this.#strength() * concurrency) / finished;
      if (this.#mayBeKept()) this.#review(this.#owner.serviceMs(), this.#forWaiting(finished));
      else this.#review(Math.max(shown, this.#owner.serviceMs()));
    });
    this.#tellCapacity();
  }

  /** Whether calls may wait for lanes that have room for them and are kept by what they compute. */
  #mayBeKept(): boolean {
    const { concurrency } = this.#options;
    if (concurrency === 1 || this.#owner.waiting === undefined) return false;
    // While one starts, calls wait for it, however little the others compute.
    return this.lanes.length > 0 && this.lanes.every(lane => lane.state !== 'starting');
  }

  /** How many lanes there should be for calls that wait. @param finished how many did in the time of a start */
  #forWaiting(finished: number): number {
    const waiting = this.#owner.waiting!();
    if (waiting <= finished) return 0; // they are begun before another lane would be up
    const strength = this.#strength();
    return Math.min(strength + waiting, Math.ceil((waiting * strength) / finished));
  }

  /** @param replaces the lane that it is to replace */
  #start(replaces: Lane | null): void {
    const id = ++this.#lastId;
    const now = this.#clock.now();
    const lane = this.#owner.createLane(id, this);
    lane.wornAt = Number.POSITIVE_INFINITY;
    this.lanes.push(lane);
    const tenure: Tenure = {
      createdAt: now,
      upAt: 0,
      idleSince: now,
      seenCalls: 0,
      timer: null,
      failed: false,
      replaces,
    };
    if (replaces !== null) this.#replacing++;
    this.#tenures.set(lane, tenure);
    this.#move(lane, tenure, 'starting');
    tenure.timer = this.#clock.setTimer(this.#options.startMs, () => this.#startTookTooLong(lane));
  }

  #startTookTooLong(lane: Lane): void {
    const what = `Lane ${lane.id} was not up within \`startMs\`, ${this.#options.startMs} ms: its module is still loading. Does a top-level await in it, or its \`setup\`, never settle?`;
    lane.end(new HotlaneError('LANE_START', what));
  }

  /**
   * Does what timers and events would do, were the thread not blocked: lanes that are dead or take too long are ended, and
   * starts that were put off are made when it is time.
   */
  lookAtLanes(): void {
    const now = this.#clock.now();
    for (const lane of [...this.lanes]) lane.sweep();
    if (this.#backoff !== null && now >= this.#backoffUntil) this.#tryAgain();
    for (const [lane, { createdAt }] of [...this.#tenures]) {
      if (lane.state === 'starting' && now - createdAt > this.#options.startMs) this.#startTookTooLong(lane);
      else if ((lane.state === 'starting' || lane.state === 'up') && lane.isDead()) {
        lane.end(new HotlaneError('LANE_LOST', `Lane ${lane.id} has ended.`));
      }
    }
  }

  #tellCapacity(): void {
    if (this.#closed) return;
    const strength = this.#strength();
    const capacity = strength * this.#options.concurrency;
    this.growAbove = this.#lookAbove(strength, capacity);
    this.#owner.onCapacity(capacity);
  }

  /** From how many calls on another look at the demand could lead to something. */
  #lookAbove(strength: number, capacity: number): number {
    if (this.#backoff !== null || strength >= this.#options.maxLanes) return Number.POSITIVE_INFINITY;
    if (this.#watch === null) return this.#mayBeKept() ? strength : capacity;
    if (this.#overBudget) return Number.POSITIVE_INFINITY;
    const serviceMs = this.#owner.serviceMs();
    // More than the lanes clear while another starts.
    if (serviceMs > 0) return Math.max(capacity, Math.ceil((capacity * this.#startTakesMs) / serviceMs));
    return this.#anyUp() ? Number.POSITIVE_INFINITY : capacity;
  }

  #backOff(cause: unknown): void {
    // Those that were started together and fail together are one failure.
    if (this.#backoff !== null) return;
    const wait = backoffMs(FIRST_BACKOFF_MS, LONGEST_BACKOFF_MS, this.#failures++);
    this.#owner.onBackOff(cause, wait);
    this.#backoffUntil = this.#clock.now() + wait;
    this.#backoff = this.#clock.setTimer(wait, () => this.#tryAgain());
  }

  #tryAgain(): void {
    this.#clock.clearTimer(this.#backoff);
    this.#backoff = null;
    this.#replaceWorn();
    this.grow();
  }

  // ---- replacing ----------------------------------------------------------------------------------------

  /** From now on: after how many calls and how much time the lane is worn. */
  #limitTenure(lane: Lane, tenure: Tenure): void {
    const { afterCalls, afterMs } = this.#options.recycle;
    lane.wornAt = Math.ceil(afterCalls * this.#jitter());
    if (afterMs === Number.POSITIVE_INFINITY) return;
    tenure.timer = this.#clock.setTimer(afterMs * this.#jitter(), () => this.onWorn(lane));
  }

  /** So that lanes which started together do not all leave together. */
  #jitter(): number {
    return 1 - this.#clock.random() / 10;
  }

  /** Starts replacements for worn lanes, few at a time: the others carry the load. */
  #replaceWorn(): void {
    if (this.#closed || this.#backoff !== null) return;
    const most = Math.max(1, Math.floor(this.#strength() / REPLACED_ONE_IN));
    for (const lane of this.#worn) {
      if (this.#replacing >= most || this.lanes.length >= 2 * this.#options.maxLanes) return;
      this.#worn.delete(lane);
      if (lane.state === 'up') this.#start(lane);
    }
  }

  #unpair(tenure: Tenure): void {
    if (tenure.replaces === null) return;
    const old = tenure.replaces;
    tenure.replaces = null;
    this.#replacing--;
    // Should the replacement be lost, the old one waits for the next; when it is up, it leaves.
    if (tenure.upAt === 0 && old.state === 'up') this.#worn.add(old);
  }

  // ---- shrinking ----------------------------------------------------------------------------------------

  /** While lanes may become idle for too long, looks from time to time whether they are. */
  #watchIdle(): void {
    const { minLanes, lingerMs, recycle } = this.#options;
    if (this.#linger !== null || this.#closed) return;
    const mayLinger = this.#strength() > minLanes ? lingerMs : Number.POSITIVE_INFINITY;
    const next = Math.min(mayLinger, recycle.idleMs);
    if (next === Number.POSITIVE_INFINITY || this.lanes.length === 0) return;
    this.#linger = this.#clock.setTimer(Math.max(LEAST_LOOK_MS, next / 2), () => {
      this.#linger = null;
      this.#letGo();
      this.#watchIdle();
    });
  }

  #letGo(): void {
    const { minLanes, lingerMs, recycle } = this.#options;
    const now = this.#clock.now();
    let spare = this.#strength() - minLanes;
    // The youngest first: the oldest have the warmest code.
    for (const lane of [...this.lanes].reverse()) {
      if (lane.state !== 'up') continue;
      const tenure = this.#tenures.get(lane)!;
      if (lane.calls !== tenure.seenCalls || lane.running() > 0) {
        tenure.seenCalls = lane.calls;
        tenure.idleSince = now;
        continue;
      }
      const idleMs = now - tenure.idleSince;
      if (spare > 0 && idleMs >= lingerMs) {
        spare--;
        this.retire(lane);
      } else if (lane.calls > 0 && idleMs >= recycle.idleMs) {
        this.onWorn(lane);
      }
    }
  }
}

function clamp(startMs: number): number {
  return Math.min(LONGEST_START_MS, Math.max(SHORTEST_START_MS, startMs));
}
