import { atomicNotify, atomicStore, soon } from '../call/intrinsics.ts';
import type { Clock } from '../lane/clock.ts';
import type { Demand } from '../lane/lane.ts';
import { HOST_ASLEEP } from './layout.ts';
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

/** Answers that take longer than this, in milliseconds, are not worth polling for. */
const LONGEST_POLL_MS = 0.2;
const SHORTEST_POLL_MS = 0.02;
/** Longer gaps count as this long, so that one slow call among short ones does not end the polling. */
const LONGEST_GAP_MS = 1;

/**
 * How the host waits for answers: it looks once per turn of its event loop for as long as answers usually
 * take, then sleeps until a lane rings. The usual time is learned from the gaps between calls and answers; a gap
 * that ended in sleep counts with the wake in it, so after a spell of slow calls it is tried again by itself.
 *
 * When a sleeping lane had to be rung, it sleeps at once: the lane may well be woken on this very core, and would wait
 * for as long as the host polls.
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
  /** When the quiet began that we are in; 0 when the clock was not read yet. */
  #quietSince = 0;
  /** How long answers take, in milliseconds: a running mean. */
  #usual = 0.01;
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
      if (this.#usual > LONGEST_POLL_MS || this.#rang) {
        this.#quietSince = this.#clock.now(); // the wait for this call's answer begins here; a lane will ring
        return;
      }
      // Not asleep any more. A ring that is under way already finds the loop polling, which does no harm.
      atomicStore(this.#control, HOST_ASLEEP, 0);
    }
    this.#state = 'polling';
    this.#quietSince = 0;
    soon(this.#begin);
  }

  /** A sleeping lane was rung. */
  onRung(): void {
    this.#rang = true;
  }

  /** While it sleeps, holds the process as long as somebody waits for a call. (Polling holds it by itself.) */
  reviewHold(): void {
    const hold = this.#state === 'asleep' && this.#demand.holds();
    if (hold !== this.#holding) this.#hold(hold);
  }

  /** Lets go of everything. The waiter is rung, since one that is never rung is never forgotten. */
  dispose(): void {
    this.#state = 'idle';
    this.reviewHold();
    atomicStore(this.#control, HOST_ASLEEP, 0);
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
    if (!this.#demand.live()) {
      this.#learn();
      this.#state = 'idle';
      this.reviewHold();
      // The next sleep is made ready now, after the callers had their answers, and not between a call and its answer.
      if (!this.#sleeper.waiting) soon(this.#arm);
      return;
    }
    if (arrived > 0) {
      this.#learn();
      this.#quietSince = 0;
    } else if (this.#quietSince === 0) {
      this.#quietSince = this.#clock.now();
    }
    if (this.#quietSince === 0 || this.#clock.now() - this.#quietSince < this.#budget()) {
      this.#turns.turn(this.#poll);
      return;
    }
    this.#sleep();
  }

  /** How long to poll before it sleeps, in milliseconds. */
  #budget(): number {
    // Answers are far off; or polling would take a core from a lane that wakes, or works, on one.
    if (this.#rang || this.#usual > LONGEST_POLL_MS || this.#lanesAwake() >= this.#turns.cores) return 0;
    return Math.min(LONGEST_POLL_MS, Math.max(SHORTEST_POLL_MS, 4 * this.#usual));
  }

  #sleep(): void {
    this.#state = 'asleep';
    if (this.#quietSince === 0) this.#quietSince = this.#clock.now();
    // The sign first, then another look: see wake.ts.
    atomicStore(this.#control, HOST_ASLEEP, 1);
    const arrived = this.#drain();
    if (arrived > 0 || !this.#demand.live() || !this.#sleeper.sleep(1)) {
      atomicStore(this.#control, HOST_ASLEEP, 0);
      this.#state = 'polling';
      if (arrived > 0) this.#quietSince = 0;
      this.#turns.turn(this.#poll);
      return;
    }
    this.reviewHold();
  }

  #hold(on: boolean): void {
    this.#holding = on;
    this.#turns.keepAlive(on);
  }

  #learn(): void {
    const rang = this.#rang;
    this.#rang = false;
    if (this.#quietSince === 0) {
      this.#usual *= 0.97; // answers were there at once
      return;
    }
    if (rang) return; // what took time was the waking
    const gap = Math.min(this.#clock.now() - this.#quietSince, LONGEST_GAP_MS);
    this.#usual += (gap - this.#usual) / 8;
  }
}
