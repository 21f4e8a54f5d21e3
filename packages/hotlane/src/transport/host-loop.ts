import { atomicNotify, atomicStore, atomicWait, soon } from '../call/intrinsics.ts';
import type { Clock } from '../lane/clock.ts';
import type { Demand } from '../lane/lane.ts';
import { ASLEEP, AWAKE, BLOCKED, HOST_ASLEEP } from './layout.ts';
import { Patience } from './patience.ts';
import { Sleeper } from './wake.ts';

/** What the loop needs from the platform beside a clock. */
export interface Turns {
  /** Calls back after other events of the loop had their turn (`setImmediate`). Keeps the process alive. */
  turn(next: () => void): void;
  /** How many cores the process may use. */
  readonly cores: number;
  /** Whether the process must stay alive although the loop is asleep. */
  keepAlive(on: boolean): void;
}

/** How long it polls before it sleeps, in milliseconds. */
const POLL_MS = 0.2;
/** How long a blocked thread spins before it sleeps, in milliseconds; and how often it looks up from its sleep. */
const SPIN_MS = 0.1;
const SPINS_PER_LOOK = 64;
const LOOK_MS = 20;

/**
 * How the host waits for answers: it looks once per turn of its event loop for a while, if that has paid lately
 * (`Patience`), then sleeps until a lane rings. It polls only while a core is left for it. When a sleeping lane had to be
 * rung it sleeps at once: the lane may well be woken on this very core, and would wait for as long as the host polls.
 *
 *   idle ──kick──▶ polling ──quiet for too long──▶ asleep
 *    ▲                │ ▲                             │
 *    └──nothing live──┘ └───────────ring, kick────────┘
 */
export class HostLoop {
  readonly #control: Int32Array;
  readonly #clock: Clock;
  readonly #turns: Turns;
  readonly #drain: () => number;
  readonly #lanesAwake: () => number;
  readonly #demand: Demand;
  readonly #sleeper: Sleeper;
  readonly #poll: () => void;
  readonly #begin: () => void;
  readonly #arm: () => void;
  #state: 'idle' | 'polling' | 'asleep' = 'idle';
  readonly #patience = new Patience();
  readonly #blockedPatience = new Patience();
  /** Until when it polls, should nothing arrive; 0 while nothing has been waited for. */
  #pollUntil = 0;
  /** A sleeping lane was rung since the last answer. */
  #rang = false;
  #holding = false;

  /**
   * @param drain takes in what has arrived and says how much that was
   * @param lanesAwake how many lanes use a core now
   * @param demand whether there is anything to wait for
   */
  constructor(
    control: Int32Array,
    clock: Clock,
    turns: Turns,
    drain: () => number,
    lanesAwake: () => number,
    demand: Demand,
  ) {
    this.#control = control;
    this.#clock = clock;
    this.#turns = turns;
    this.#drain = drain;
    this.#lanesAwake = lanesAwake;
    this.#demand = demand;
    this.#poll = () => this.#look();
    this.#begin = () => {
      if (this.#state !== 'polling') return;
      if (this.#rang) this.#sleep();
      else this.#turns.turn(this.#poll);
    };
    this.#arm = () => void this.#sleeper.sleep();
    this.#sleeper = new Sleeper(control, HOST_ASLEEP, () => this.#onRing());
  }

  /** There is a new call: answers are to be expected. */
  kick(): void {
    if (this.#state === 'polling') return;
    if (this.#state === 'asleep') {
      if (this.#rang || !this.#patience.ready) return; // a lane will ring
      // Not asleep any more. A ring that is under way already finds the loop polling, which does no harm.
      atomicStore(this.#control, HOST_ASLEEP, AWAKE);
    }
    this.#state = 'polling';
    this.#pollUntil = 0;
    soon(this.#begin);
  }

  /**
   * Blocks the thread until something is so. What arrives meanwhile is taken in, for other calls too.
   *
   * @param isDone asked after each look at what has arrived
   * @param until when to give up, on the clock
   * @param show shows lanes what they have not been shown
   * @param look takes in messages, and looks whether lanes are well; at least every `LOOK_MS` of sleep
   */
  block(isDone: () => boolean, until: number, show: () => void, look: () => void): void {
    show();
    if (this.#spin(isDone)) return;
    while (!isDone()) {
      // The sign first, then another look: see wake.ts.
      atomicStore(this.#control, HOST_ASLEEP, BLOCKED);
      this.#drain();
      look();
      show();
      const left = until - this.#clock.now();
      if (isDone() || left <= 0) break;
      atomicWait(this.#control, HOST_ASLEEP, BLOCKED, Math.min(left, LOOK_MS));
      this.#drain();
    }
    atomicStore(this.#control, HOST_ASLEEP, AWAKE);
    if (this.#state !== 'asleep') return;
    // Its sign of sleeping was taken back: others may wait for what comes.
    this.#state = 'polling';
    this.#pollUntil = 0;
    this.reviewHold();
    this.#turns.turn(this.#poll);
  }

  /** Looks for a while without sleeping, if a core is left for that and it has paid lately. */
  #spin(isDone: () => boolean): boolean {
    if (this.#lanesAwake() >= this.#turns.cores || !this.#blockedPatience.take()) return isDone();
    const until = this.#clock.now() + SPIN_MS;
    do {
      for (let i = 0; i < SPINS_PER_LOOK; i++) {
        if (this.#drain() > 0 && isDone()) {
          this.#blockedPatience.rewarded();
          return true;
        }
      }
    } while (this.#clock.now() < until);
    this.#blockedPatience.wasInVain();
    return isDone();
  }

  /** A sleeping lane was rung. */
  onRung(): void {
    this.#rang = true;
  }

  /** While it does not poll, holds the process as long as somebody waits for something. (Polling holds it by itself.) */
  reviewHold(): void {
    const hold = this.#state !== 'polling' && this.#demand.holds();
    if (hold !== this.#holding) this.#hold(hold);
  }

  /** Lets go of everything. The waiter is rung, since one that is never rung is never forgotten. */
  dispose(): void {
    this.#state = 'idle';
    this.reviewHold();
    atomicStore(this.#control, HOST_ASLEEP, AWAKE);
    atomicNotify(this.#control, HOST_ASLEEP);
  }

  #onRing(): void {
    if (this.#state !== 'asleep') return; // a late ring
    this.#state = 'polling';
    this.#look();
  }

  #look(): void {
    if (this.#state !== 'polling') return;
    const arrived = this.#drain();
    if (arrived > 0) {
      this.#rang = false;
      if (this.#pollUntil > 0) this.#patience.rewarded();
      this.#pollUntil = 0;
    }
    if (!this.#demand.live()) {
      this.#rang = false;
      this.#state = 'idle';
      this.reviewHold();
      // The next sleep is made ready now, after the callers had their answers, and not between a call and its answer.
      if (!this.#sleeper.waiting) soon(this.#arm);
    } else if (arrived > 0 || this.#mayPoll()) {
      this.#turns.turn(this.#poll);
    } else {
      this.#sleep();
    }
  }

  /** Nothing has arrived: whether to look again. */
  #mayPoll(): boolean {
    // Polling would take a core from a lane that wakes, or works, on it.
    if (this.#rang || this.#lanesAwake() >= this.#turns.cores) return false;
    const now = this.#clock.now();
    if (this.#pollUntil === 0) {
      if (!this.#patience.take()) return false;
      this.#pollUntil = now + POLL_MS;
    } else if (now >= this.#pollUntil) {
      this.#patience.wasInVain();
      return false;
    }
    return true;
  }

  #sleep(): void {
    this.#state = 'asleep';
    this.#pollUntil = 0;
    // The sign first, then another look: see wake.ts.
    atomicStore(this.#control, HOST_ASLEEP, ASLEEP);
    const arrived = this.#drain();
    if (arrived > 0 || !this.#demand.live() || !this.#sleeper.sleep(ASLEEP)) {
      atomicStore(this.#control, HOST_ASLEEP, AWAKE);
      this.#state = 'polling';
      if (arrived > 0) this.#rang = false;
      this.#turns.turn(this.#poll);
      return;
    }
    this.reviewHold();
  }

  #hold(on: boolean): void {
    this.#holding = on;
    this.#turns.keepAlive(on);
  }
}
