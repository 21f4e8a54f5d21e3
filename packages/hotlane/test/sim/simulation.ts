import type { Call } from '../../src/lane/call.ts';
import type { Demand, Lane, TaskOutcomes } from '../../src/lane/lane.ts';
import type { Key } from '../../src/options.ts';
import { LanePool } from '../../src/pool.ts';
import { Random } from '../../src/testing/random.ts';
import { SimClock } from '../../src/testing/sim-clock.ts';
import { type SimHabits, type SimLane, SimPlacement, type SimWitness } from '../../src/testing/sim-lanes.ts';

/** What a run found; `problem` is null when all was well. */
export interface SimResult {
  readonly seed: number;
  readonly calls: number;
  readonly steps: number;
  readonly lanesLost: number;
  readonly problem: string | null;
  /** The last events before the problem. */
  readonly trace: readonly string[];
}

const TRACE_LENGTH = 60;
/** Few, so that calls of one key meet. */
const KEYS = ['a', 'b', 'c'];
/** Longer than any deadline, grace or backoff: what has not happened by then never will. */
const LONG_MS = 30_000;

/**
 * Runs a pool (its real scheduler, fleet and pool, unchanged) on simulated lanes and a simulated clock: calls,
 * cancels, deadlines, broadcasts and deaths interleave as the seed says. After each step it checks what must
 * always hold.
 */
export async function simulate(seed: number, steps: number): Promise<SimResult> {
  const run = new Run(seed);
  return await run.go(steps);
}

class Run implements SimWitness {
  readonly #seed: number;
  readonly #random: Random;
  readonly #clock: SimClock;
  readonly #pool: LanePool;
  #placement!: SimPlacement;
  readonly #mostAccepted: number;
  readonly #trace: string[] = [];
  readonly #numbers = new Map<Call, number>();
  /** Half of the pools use priorities, after a while. */
  readonly #prioritizes: boolean;
  /** By call, for those made since the first that had a priority: what it should go by. */
  readonly #dueAt = new Map<Call, number>();
  readonly #starts = new Map<Call, number>();
  readonly #idempotent = new Set<Call>();
  readonly #signals: AbortController[] = [];
  /** Where calls with keys run, and by key where the last one finished. */
  readonly #running = new Map<Call, SimLane>();
  readonly #lastLanes = new Map<unknown, SimLane>();
  /** The call that was made last, and whether one has had a priority. */
  #made: Call | null = null;
  #anyPriority = false;
  #calls = 0;
  #unsettled = 0;
  #settledTwice = 0;
  #lanesLost = 0;
  #lastProgress = 0;
  #problem: string | null = null;

  constructor(seed: number) {
    this.#seed = seed;
    const random = new Random(seed);
    this.#random = random;
    this.#clock = new SimClock(random);
    const maxLanes = 1 + random.below(6);
    const minLanes = random.chance(0.5) ? 0 : random.below(maxLanes + 1);
    const maxQueue = random.chance(0.3) ? random.below(30) : Number.POSITIVE_INFINITY;
    // As many as lanes can run, and what lanes on their way out (twice as many, at the most) still run.
    this.#mostAccepted = maxQueue + 3 * maxLanes;
    this.#prioritizes = random.chance(0.5);
    const deadly = random.chance(0.8);
    const habits: SimHabits = {
      startMs: 20,
      failToStart: deadly && random.chance(0.5) ? random.next() * 0.5 : 0,
      handOverMs: random.chance(0.5) ? 0.01 : 1,
      serviceMs: random.chance(0.5) ? 0.05 : 5,
      hang: random.chance(0.3) ? 0.02 : 0,
      fail: 0.1,
      dieClaimed: deadly ? random.next() * 0.03 : 0,
      dieStarted: deadly ? random.next() * 0.03 : 0,
      dieDone: deadly ? random.next() * 0.03 : 0,
      exitMs: random.chance(0.3) ? 500 : 5,
    };
    const options = {
      placement: 'thread' as const,
      minLanes,
      maxLanes,
      lingerMs: random.chance(0.5) ? 50 : 10_000,
      concurrency: 1,
      startMs: 200,
      heapMb: 0,
      recycle: {
        afterCalls: random.chance(0.5) ? 1 + random.below(20) : Number.POSITIVE_INFINITY,
        afterMs: random.chance(0.3) ? 20 + random.below(500) : Number.POSITIVE_INFINITY,
        idleMs: random.chance(0.3) ? 20 + random.below(500) : Number.POSITIVE_INFINITY,
        heapBytes: Number.POSITIVE_INFINITY,
      },
      setup: undefined,
      teardown: undefined,
      data: undefined,
      carry: [],
      budget: true,
      onError: undefined,
      maxQueue,
      maxQueuedBytes: Number.POSITIVE_INFINITY,
      deadlineMs: random.chance(0.3) ? 5 + random.below(100) : Number.POSITIVE_INFINITY,
      graceMs: random.chance(0.5) ? 10 : 200,
    };
    const place = (outcomes: TaskOutcomes, demand: Demand) => {
      const ahead = random.chance(0.5) ? 0 : random.below(20);
      this.#placement = new SimPlacement(random, this.#clock, habits, ahead, outcomes, demand, this);
      return this.#placement;
    };
    this.#pool = new LanePool(options, this.#clock, place, () => {});
  }

  async go(steps: number): Promise<SimResult> {
    let taken = 0;
    try {
      for (; taken < steps && this.#problem === null; taken++) {
        this.#act();
        this.#check();
        await null; // promises that settled are counted
      }
      if (this.#problem === null) taken += await this.#finish();
    } catch (error) {
      this.#fail(`threw ${(error as Error).stack ?? error}`);
    }
    return {
      seed: this.#seed,
      calls: this.#calls,
      steps: taken,
      lanesLost: this.#lanesLost,
      problem: this.#problem,
      trace: this.#trace,
    };
  }

  // ---- what happens -------------------------------------------------------------------------------------

  #act(): void {
    const random = this.#random;
    const dice = random.next();
    if (dice < 0.3) this.#call();
    else if (dice < 0.32) for (let burst = random.below(20); burst > 0; burst--) this.#call();
    else if (dice < 0.33) for (let burst = 1 + random.below(5); burst > 0; burst--) this.#broadcast();
    else if (dice < 0.34) this.#signals.splice(random.below(this.#signals.length), 1)[0]?.abort('cancelled');
    else if (dice < 0.341) random.pick(this.#placement.lanes)?.die(new Error('struck'));
    else this.#clock.step();
  }

  #call(): void {
    const random = this.#random;
    let call = this.#pool.call as Record<string, () => Promise<unknown>>;
    const dice = random.next();
    const priority = this.#prioritizes && this.#calls > 50 && random.chance(0.3) ? random.below(5) - 2 : 0;
    if (dice < 0.05) {
      const stop = new AbortController();
      this.#signals.push(stop);
      const key = this.#someKey(0.3);
      call = this.#pool.with({
        signal: stop.signal,
        graceMs: random.below(50),
        key,
        priority,
      }) as typeof call;
    } else if (dice < 0.1) {
      const key = this.#someKey(0.3);
      call = this.#pool.with({ deadlineMs: random.below(40), key, priority }) as typeof call;
    } else if (dice < 0.2) {
      const stop = new AbortController();
      if (random.chance(0.3)) this.#signals.push(stop);
      const key = this.#someKey(0.3);
      const { signal } = stop;
      call = this.#pool.with({ idempotent: true, retries: 2, signal, key, priority }) as typeof call;
    } else if (dice < 0.4) {
      call = this.#pool.with({ key: this.#someKey(1), priority }) as typeof call;
    } else if (priority !== 0) {
      call = this.#pool.with({ priority }) as typeof call;
    }
    this.#made = null;
    const madeAt = this.#clock.now();
    this.#watch(call.f());
    if (this.#made === null) return; // it was refused
    this.#anyPriority ||= priority !== 0;
    if (this.#anyPriority) this.#dueAt.set(this.#made, madeAt - 1_000 * priority);
  }

  #someKey(often: number): string | undefined {
    return this.#random.chance(often) ? this.#random.pick(KEYS) : undefined;
  }

  #broadcast(): void {
    this.#watch((this.#pool.broadcast as Record<string, () => Promise<unknown>>).f());
  }

  #watch(promise: Promise<unknown>): void {
    this.#calls++;
    this.#unsettled++;
    let settled = 0;
    const count = () => {
      this.#unsettled--;
      if (++settled > 1) this.#settledTwice++;
    };
    promise.then(count, count);
  }

  /** Ends the pool and lets everything come to rest. */
  async #finish(): Promise<number> {
    const gently = this.#random.chance(0.5);
    this.event(gently ? 'close' : 'destroy', null, 0);
    // Calls whose functions never return end with their signals or deadlines; those without, by force.
    for (const stop of this.#signals) stop.abort('over');
    const ended = gently ? this.#pool.close() : this.#pool.destroy('over');
    let isOver = false;
    void ended.then(() => {
      isOver = true;
    });
    let steps = 0;
    let patience = this.#clock.now() + LONG_MS;
    let forced = !gently;
    for (; !isOver && this.#problem === null; steps++) {
      await null;
      const more = this.#clock.step();
      this.#check();
      // As long as answers come it is getting on.
      if (more && this.#clock.now() < Math.max(patience, this.#lastProgress + LONG_MS)) continue;
      await new Promise(resolve => setImmediate(resolve));
      if (isOver) break;
      if (forced) this.#fail('the pool does not end');
      else if (this.#placement.handed().some(call => call.settled)) {
        this.#fail('a cancelled call still has its lane, long after its grace');
      }
      // Functions that never return, called without a deadline: close() waits for them, as it should.
      else if (this.#placement.running() > 0) {
        this.event('destroy', null, 0);
        void this.#pool.destroy('hung functions');
        forced = true;
        patience = this.#clock.now() + LONG_MS;
      } else this.#fail('close() waits, and no lane runs anything');
    }
    await new Promise(resolve => setImmediate(resolve));
    if (this.#problem !== null) return steps;
    if (this.#unsettled > 0) this.#fail(`${this.#unsettled} calls never settled`);
    if (this.#placement.accepted.size > 0)
      this.#fail(`the arguments of ${this.#placement.accepted.size} calls were never given up`);
    if (this.#placement.lanes.length > 0) this.#fail(`${this.#placement.lanes.length} lanes are left`);
    const { queued, running } = this.#pool.stats();
    if (queued + running > 0) this.#fail(`stats still count ${queued} queued and ${running} running`);
    while (this.#clock.step());
    return steps;
  }

  // ---- what must hold -----------------------------------------------------------------------------------

  #check(): void {
    const { accepted, lanes, published } = this.#placement;
    if (this.#settledTwice > 0) this.#fail('a call settled twice');
    const room = this.#placement.room();
    const idle = lanes.filter(lane => lane.isIdle());
    if (room > 0 || idle.length > 0) this.#checkWaiting(room, idle);
    if (published.length > 0 && idle.length > 0) {
      this.#fail('a lane is free and looks for nothing, and a call is published');
    }
    if (accepted.size > this.#mostAccepted)
      this.#fail(`${accepted.size} calls accepted, the bound is ${this.#mostAccepted}`);
  }

  #checkWaiting(room: number, idle: readonly Lane[]): void {
    const { accepted, held } = this.#placement;
    if (accepted.size === held.size) return;
    const keys = new Set<Key>();
    let waiting = 0;
    for (const call of accepted) {
      if (call.key !== undefined) {
        if (keys.has(call.key)) continue; // behind another of its key
        keys.add(call.key);
      }
      // Calls that rest before they run again are accepted, and in nobody's hands.
      if (held.has(call) || (call.rests > 0 && !call.queued)) continue;
      if (call.lane === null) waiting++;
      else if (idle.includes(call.lane)) this.#fail(`a call waits for lane ${call.lane.id}, which is idle`);
    }
    if (waiting > 0 && (room > 0 || idle.length > 0)) {
      this.#fail(
        `${waiting} calls wait in the queue, the window has room for ${room}, and ${idle.length} lanes are idle`,
      );
    }
  }

  started(call: Call): void {
    const starts = (this.#starts.get(call) ?? 0) + 1;
    this.#starts.set(call, starts);
    if (starts === 1 && call.retries > 0) this.#idempotent.add(call);
    // An idempotent call has a rest before each time that it runs again.
    if (starts > (this.#idempotent.has(call) ? Math.min(3, 1 + call.rests) : 1))
      this.#fail(`call ${this.#numbers.get(call)} started ${starts} times`);
    if (call.key !== undefined) this.#checkKey(call);
  }

  /** A call with a key starts: all before it must be over, none after it begun, and its lane the one of the last. */
  #checkKey(call: Call): void {
    const { accepted, held, lanes } = this.#placement;
    let isLater = false;
    for (const other of accepted) {
      if (other === call) isLater = true;
      else if (other.key === call.key && (!isLater || held.has(other))) {
        this.#fail(
          `call ${this.#numbers.get(call)} starts, and call ${this.#numbers.get(other)} of its key ${isLater ? 'was handed over' : 'is not over'}`,
        );
      }
    }
    const { lane } = held.get(call)!;
    const last = this.#lastLanes.get(call.key);
    if (last !== undefined && last !== lane && last.state === 'up' && lanes.includes(last)) {
      this.#fail(`a call of key ${call.key} starts on lane ${lane?.id}, its key's lane is ${last.id}`);
    }
    this.#running.set(call, lane!);
  }

  /**
   * A lane claims a call from the window: none that could run as well, waiting or published, may go before it. Priorities
   * are steps of a second and the whole run takes some, so that both orders come up between calls of any two priorities.
   */
  #checkOrder(call: Call): void {
    const due = this.#dueAt.get(call);
    if (due === undefined) return;
    for (const other of this.#placement.accepted) {
      const status = this.#placement.held.get(other)?.status;
      if (other.lane !== null || other.key !== undefined || !(other.queued || status === 'published'))
        continue;
      const otherDue = this.#dueAt.get(other) ?? Number.POSITIVE_INFINITY;
      if (otherDue < due) {
        this.#fail(
          `call ${this.#numbers.get(call)} is claimed, and call ${this.#numbers.get(other)} goes before it by ${due - otherDue} ms`,
        );
      }
    }
  }

  event(what: string, call: Call | null, lane: number): void {
    if (call !== null && what === 'made') this.#made = call;
    if (call !== null && what === 'claimed' && call.lane === null) this.#checkOrder(call);
    if (what === 'answers') this.#lastProgress = this.#clock.now();
    if (what === 'dies') this.#lanesLost++;
    if (what === 'answers' && call?.key !== undefined)
      this.#lastLanes.set(call.key, this.#running.get(call)!);
    if (call !== null && !this.#numbers.has(call)) this.#numbers.set(call, this.#numbers.size + 1);
    const subject = call === null ? '' : ` call ${this.#numbers.get(call)}`;
    this.#trace.push(
      `${this.#clock.now().toFixed(3)} ms${lane > 0 ? ` lane ${lane}` : ''}${subject} ${what}`,
    );
    if (this.#trace.length > TRACE_LENGTH) this.#trace.shift();
  }

  #fail(problem: string): void {
    this.#problem ??= problem;
  }
}
