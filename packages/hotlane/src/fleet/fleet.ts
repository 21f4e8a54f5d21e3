import { HotlaneError } from '../errors.ts';
import type { Call } from '../lane/call.ts';
import type { Clock } from '../lane/clock.ts';
import type { Lane, LaneEvents } from '../lane/lane.ts';
import { backoffMs } from './backoff.ts';

export interface FleetOptions {
  readonly minLanes: number;
  readonly maxLanes: number;
  readonly lingerMs: number;
  readonly concurrency: number;
  readonly startMs: number;
}

/** What the fleet asks of, and tells, the pool. */
export interface FleetOwner {
  createLane(id: number, events: LaneEvents): Lane;
  /** Calls that were accepted and have not finished. */
  demand(): number;
  /** How many calls the lanes, those that are starting included, can run at once; whenever that changes. */
  onCapacity(calls: number): void;
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

/**
 * How many lanes there are: started on demand, kept while useful, replaced when lost.
 *
 * Growth: a lane is started when there are more calls than the lanes can run, up to `maxLanes`.
 * Shrinking: a lane beyond `minLanes` that answered nothing for `lingerMs` and runs nothing is let go.
 * Failure: after n failed starts in a row the next attempt waits 100 ms × 2ⁿ⁻¹, at most 5 s. Demand does not
 * hasten it.
 */
export class Fleet implements LaneEvents {
  readonly lanes: Lane[] = [];
  /** More calls than this and a lane should be started; Infinity while none may be. Read for each call. */
  growAbove = 0;
  readonly #options: FleetOptions;
  readonly #owner: FleetOwner;
  readonly #clock: Clock;
  readonly #upSince = new Map<Lane, number>();
  readonly #idleSince = new Map<Lane, number>();
  /** Lanes that failed to start and are not gone yet. */
  readonly #failed = new Set<Lane>();
  /** Timers of lanes that start. */
  readonly #starting = new Map<Lane, unknown>();
  #lastId = 0;
  #failures = 0;
  #backoff: unknown = null;
  #linger: unknown = null;
  #closed = false;
  #onEmpty: (() => void) | null = null;

  constructor(options: FleetOptions, owner: FleetOwner, clock: Clock) {
    this.#options = options;
    this.#owner = owner;
    this.#clock = clock;
  }

  /** Starts lanes: up to `minLanes`, and as many as demand asks for. */
  grow(): void {
    this.#review();
  }

  onUp(lane: Lane): void {
    if (lane.state !== 'starting') return;
    lane.state = 'up';
    this.#clock.clearTimer(this.#starting.get(lane));
    this.#starting.delete(lane);
    this.#upSince.set(lane, this.#clock.now());
    this.#idleSince.set(lane, this.#clock.now());
    this.#owner.onUp(lane);
    this.#watchLinger();
  }

  onEnding(lane: Lane): void {
    if (lane.state === 'starting') this.#onFailedStart(lane);
    if (lane.state !== 'up') return;
    lane.state = 'draining';
    this.#owner.onLeaving(lane);
    this.#review();
  }

  /** It is given up; its thread may take a while to go, in which nobody waits for it. */
  #onFailedStart(lane: Lane): void {
    lane.state = 'draining';
    this.#clock.clearTimer(this.#starting.get(lane));
    this.#starting.delete(lane);
    if (this.#closed || lane.cause === undefined) return;
    this.#failed.add(lane);
    this.#backOff();
    this.#tellCapacity();
    if (this.#strength() === 0) this.#owner.onCannotStart(lane.cause);
  }

  onEnded(lane: Lane, unstarted: readonly Call[], started: readonly Call[]): void {
    if (lane.state === 'ended') return;
    const since = this.#upSince.get(lane);
    const idle = !lane.active && started.length === 0;
    const young = since === undefined || (idle && this.#clock.now() - since < YOUNG_MS);
    // One that failed to start was counted when it was ended.
    const failed = lane.cause !== undefined && young && !this.#closed && !this.#failed.delete(lane);
    lane.state = 'ended';
    this.lanes.splice(this.lanes.indexOf(lane), 1);
    this.#upSince.delete(lane);
    this.#idleSince.delete(lane);
    this.#clock.clearTimer(this.#starting.get(lane));
    this.#starting.delete(lane);
    if (failed) this.#backOff();
    else if (since !== undefined) this.#failures = 0;
    this.#tellCapacity();
    this.#owner.onGone(lane, unstarted, started);
    const hopeless = since === undefined || this.#failures >= MOST_STILLBORN;
    if (failed && hopeless && this.#strength() === 0) this.#owner.onCannotStart(lane.cause);
    if (this.lanes.length === 0) this.#onEmpty?.();
    this.#review();
  }

  /**
   * Ends all lanes, for good.
   *
   * @param cause why, for those that run something; undefined when they are idle
   * @returns when the last of them is gone
   */
  async close(cause: unknown): Promise<void> {
    this.#closed = true;
    this.growAbove = Number.POSITIVE_INFINITY;
    this.#clock.clearTimer(this.#backoff);
    this.#clock.clearTimer(this.#linger);
    if (this.lanes.length === 0) return;
    const empty = new Promise<void>(resolve => {
      const before = this.#onEmpty;
      this.#onEmpty = () => {
        before?.();
        resolve();
      };
    });
    for (const timer of this.#starting.values()) this.#clock.clearTimer(timer);
    for (const lane of [...this.lanes]) lane.end(cause);
    await empty;
  }

  /** Lanes that take calls, now or soon. */
  #strength(): number {
    let count = 0;
    for (const lane of this.lanes) if (lane.state === 'starting' || lane.state === 'up') count++;
    return count;
  }

  #review(): void {
    if (this.#closed || this.#backoff !== null) return;
    const { minLanes, maxLanes, concurrency } = this.#options;
    for (;;) {
      const strength = this.#strength();
      // Lanes on their way out still have a seat each; there is one for every lane and its replacement.
      if (strength >= maxLanes || this.lanes.length >= 2 * maxLanes) break;
      if (strength >= minLanes && this.#owner.demand() <= strength * concurrency) break;
      this.#start(++this.#lastId);
    }
    this.#tellCapacity();
  }

  #start(id: number): void {
    const lane = this.#owner.createLane(id, this);
    this.lanes.push(lane);
    const { startMs } = this.#options;
    const timer = this.#clock.setTimer(startMs, () => {
      const what = `Lane ${id} was not up within \`startMs\`, ${startMs} ms: its module is still loading. Does a top-level await in it never settle?`;
      lane.end(new HotlaneError('LANE_START', what));
    });
    this.#starting.set(lane, timer);
  }

  /** Takes a lane out of those that take calls; what it runs may finish. Another takes its place. */
  retire(lane: Lane): void {
    if (lane.state !== 'up') return;
    lane.state = 'draining';
    this.#owner.onLeaving(lane);
    this.#review();
    lane.drain();
  }

  #tellCapacity(): void {
    if (this.#closed) return;
    const strength = this.#strength();
    const capacity = strength * this.#options.concurrency;
    this.growAbove =
      this.#backoff !== null || strength >= this.#options.maxLanes ? Number.POSITIVE_INFINITY : capacity;
    this.#owner.onCapacity(capacity);
  }

  #backOff(): void {
    const wait = backoffMs(FIRST_BACKOFF_MS, LONGEST_BACKOFF_MS, this.#failures++);
    this.#clock.clearTimer(this.#backoff);
    this.#backoff = this.#clock.setTimer(wait, () => {
      this.#backoff = null;
      this.#review();
    });
  }

  /** While there are lanes beyond `minLanes`, looks from time to time whether they are idle. */
  #watchLinger(): void {
    const { minLanes, lingerMs } = this.#options;
    if (this.#linger !== null || this.#closed || lingerMs === Number.POSITIVE_INFINITY) return;
    if (this.#strength() <= minLanes) return;
    this.#linger = this.#clock.setTimer(Math.max(10, lingerMs / 2), () => {
      this.#linger = null;
      this.#letGo();
      this.#watchLinger();
    });
  }

  #letGo(): void {
    const now = this.#clock.now();
    let spare = this.#strength() - this.#options.minLanes;
    // The youngest first: the oldest have the warmest code.
    for (const lane of [...this.lanes].reverse()) {
      if (lane.state !== 'up') continue;
      if (lane.active || lane.running() > 0) {
        lane.active = false;
        this.#idleSince.set(lane, now);
      } else if (spare > 0 && now - (this.#idleSince.get(lane) ?? now) >= this.#options.lingerMs) {
        spare--;
        this.retire(lane);
        // An idle lane drains at once. One that does not answer is broken, and would keep its place for ever.
        this.#clock.setTimer(LONGEST_DRAIN_MS, () => {
          if (lane.state === 'draining') lane.end(undefined);
        });
      }
    }
  }
}
