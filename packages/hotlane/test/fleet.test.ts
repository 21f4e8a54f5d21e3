import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { backoffMs } from '../src/fleet/backoff.ts';
import { Fleet, type FleetOptions, type FleetOwner } from '../src/fleet/fleet.ts';
import type { Call } from '../src/lane/call.ts';
import type { Clock } from '../src/lane/clock.ts';
import type { Lane, LaneEvents, LaneState } from '../src/lane/lane.ts';

/** Time that moves only when it is told to. */
class StillClock implements Clock {
  #now = 1_000;
  readonly #timers = new Map<object, { at: number; onTime: () => void }>();
  now = () => this.#now;
  setTimer(ms: number, onTime: () => void): object {
    const timer = {};
    this.#timers.set(timer, { at: this.#now + ms, onTime });
    return timer;
  }
  clearTimer(timer: unknown): void {
    this.#timers.delete(timer as object);
  }
  random = () => 0.5;
  get timers(): number {
    return this.#timers.size;
  }
  advance(ms: number): void {
    const until = this.#now + ms;
    for (;;) {
      const due = [...this.#timers].filter(([, { at }]) => at <= until).sort((a, b) => a[1].at - b[1].at)[0];
      if (due === undefined) break;
      this.#timers.delete(due[0]);
      this.#now = due[1].at;
      due[1].onTime();
    }
    this.#now = until;
  }
}

class FakeLane implements Lane {
  readonly id: number;
  state: LaneState = 'starting';
  cause: unknown;
  calls = 0;
  wornAt = Number.POSITIVE_INFINITY;
  busy = 0;
  readonly events: LaneEvents;
  constructor(id: number, events: LaneEvents) {
    this.id = id;
    this.events = events;
  }
  room = () => 0;
  wait = () => 0;
  hand(): void {}
  recall = () => false;
  recallBehind = () => [];
  running = () => this.busy;
  isDead = () => false;
  sweep(): void {}
  abort(): void {}
  say = () => 0;
  drain(): void {
    this.gone();
  }
  end(cause: unknown): void {
    this.cause ??= cause;
    this.gone();
  }
  up(): void {
    this.events.onUp(this);
  }
  gone(started: Call[] = []): void {
    this.events.onEnded(this, [], started);
  }
}

const NEVER = {
  afterCalls: Number.POSITIVE_INFINITY,
  afterMs: Number.POSITIVE_INFINITY,
  idleMs: Number.POSITIVE_INFINITY,
};

function fleet(options: Partial<FleetOptions> = {}) {
  const clock = new StillClock();
  const started: FakeLane[] = [];
  const cannotStart: unknown[] = [];
  const owner: FleetOwner & {
    wanted: number;
    capacity: number;
    finished: number;
    unbegun: number;
    service: number;
    room: boolean;
  } = {
    wanted: 0,
    capacity: 0,
    finished: 0,
    unbegun: 0,
    service: 0,
    room: true,
    finishedCalls: () => owner.finished,
    serviceMs: () => owner.service,
    hasBudget: () => owner.room,
    createLane(id: number, events: LaneEvents) {
      const lane = new FakeLane(id, events);
      started.push(lane);
      return lane;
    },
    demand: () => owner.wanted,
    waiting: () => owner.unbegun,
    onCapacity: (calls: number) => {
      owner.capacity = calls;
    },
    onMoved() {},
    onBackOff() {},
    onUp() {},
    onGone() {},
    onLeaving(): void {},
    onCannotStart: (cause: unknown) => void cannotStart.push(cause),
  };
  const all = new Fleet(
    {
      minLanes: 0,
      maxLanes: 4,
      lingerMs: 1_000,
      concurrency: 1,
      startMs: 60_000,
      recycle: NEVER,
      drainMs: 0,
      ...options,
    },
    owner,
    clock,
  );
  all.grow();
  return { fleet: all, clock, started, owner, cannotStart };
}

describe('waiting before another try', () => {
  it('doubles, and has an end however many tries failed', () => {
    assert.deepEqual(
      [0, 1, 2, 3].map(times => backoffMs(20, 5_000, times)),
      [20, 40, 80, 160],
    );
    for (const times of [8, 40, 1_000, 5_000]) assert.equal(backoffMs(20, 5_000, times), 5_000);
  });
});

describe('the fleet', () => {
  it('starts min lanes at once, and more only for demand, up to max', () => {
    const { fleet: all, started, owner } = fleet({ minLanes: 1 });
    assert.equal(started.length, 1);
    owner.wanted = 3;
    all.grow();
    assert.equal(started.length, 3);
    owner.wanted = 100;
    all.grow();
    assert.equal(started.length, 4);
    assert.equal(owner.capacity, 4);
    assert.equal(all.growAbove, Number.POSITIVE_INFINITY);
  });

  it('counts concurrency: lanes that can run several calls are enough for as many', () => {
    const { fleet: all, started, owner } = fleet({ concurrency: 10 });
    owner.wanted = 11;
    all.grow();
    assert.equal(started.length, 2);
    assert.equal(all.growAbove, 20);
  });

  it('starts lanes for calls that wait behind one that computes, although lanes have room for them', () => {
    const { fleet: all, clock, started, owner } = fleet({ concurrency: 1_000 });
    owner.wanted = 1;
    all.grow();
    started[0].up();
    owner.wanted = 8;
    owner.unbegun = 7;
    assert.ok(all.growAbove < 8); // the pool's next call lets it look
    all.grow();
    assert.equal(started.length, 1);
    owner.finished = 2;
    clock.advance(30);
    assert.equal(started.length, 4); // seven at two in the time of a start
  });

  it('starts none for calls that await in a lane, nor for those that soon begin', () => {
    const { fleet: all, clock, started, owner } = fleet({ concurrency: 1_000 });
    owner.wanted = 1;
    all.grow();
    started[0].up();
    const idle = clock.timers;
    owner.wanted = 500;
    owner.unbegun = 0;
    all.grow();
    assert.equal(clock.timers, idle); // nothing to look at later
    clock.advance(100);
    assert.equal(started.length, 1);
    owner.unbegun = 20;
    all.grow();
    owner.finished += 100;
    clock.advance(30);
    assert.equal(started.length, 1);
  });

  it('replaces a lane that was lost in a call, at once', () => {
    const { started } = fleet({ minLanes: 2 });
    for (const lane of started) lane.up();
    started[0].cause = new Error('lost');
    started[0].gone([{} as Call]);
    assert.equal(started.length, 3);
  });

  it('waits longer after each failed start, whatever the demand, and says that none can be had', () => {
    const { fleet: all, clock, started, owner, cannotStart } = fleet();
    owner.wanted = 1;
    all.grow();
    const waits: number[] = [];
    for (let i = 0; i < 8; i++) {
      const before = clock.now();
      started.at(-1)!.end(new Error('no'));
      assert.equal(cannotStart.length, i + 1);
      const { length } = started;
      all.grow();
      assert.equal(started.length, length, 'demand does not hasten it');
      while (started.length === length) clock.advance(50);
      waits.push(clock.now() - before);
    }
    assert.deepEqual(waits, [100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000]);
  });

  it('begins anew with short waits once a lane came up and worked', () => {
    const { fleet: all, clock, started, owner } = fleet();
    owner.wanted = 1;
    all.grow();
    for (let i = 0; i < 5; i++) {
      started.at(-1)!.end(new Error('no'));
      clock.advance(5_000);
    }
    const good = started.at(-1)!;
    good.up();
    good.calls = 1;
    good.end(new Error('lost later'));
    const { length } = started;
    started.at(-1)!.end(new Error('no'));
    clock.advance(100);
    assert.equal(started.length, length + 1);
  });

  it('does not spin on a lane that comes up and dies by itself', () => {
    const { clock, started, cannotStart } = fleet({ minLanes: 1 });
    for (let i = 0; i < 3; i++) {
      const lane = started.at(-1)!;
      lane.up();
      lane.end(new Error('stillborn'));
      assert.equal(started.at(-1), lane, 'not at once');
      clock.advance(100 * 2 ** i);
      assert.notEqual(started.at(-1), lane);
    }
    assert.equal(cannotStart.length, 1, 'calls are not kept waiting for it for ever');
  });

  it('lets idle lanes beyond min go after lingerMs, never one that works', () => {
    const { fleet: all, clock, started, owner } = fleet({ minLanes: 1 });
    owner.wanted = 3;
    all.grow();
    for (const lane of started) lane.up();
    started[1].busy = 1;
    owner.wanted = 0;
    clock.advance(900);
    assert.equal(all.lanes.length, 3);
    clock.advance(5_000);
    assert.deepEqual(
      all.lanes.map(lane => lane.id),
      [2],
    );
    started[1].busy = 0;
    clock.advance(5_000);
    assert.deepEqual(
      all.lanes.map(lane => lane.id),
      [2],
      'min lanes stay',
    );
    assert.equal(clock.timers, 0, 'with nothing to watch there is no timer');
  });

  it('starts no lane for a burst that the present lanes clear sooner, however long the queue', () => {
    const { fleet: all, clock, started, owner } = fleet({ minLanes: 1 });
    started[0].up();
    owner.service = 0.01;
    owner.wanted = 500;
    all.grow();
    assert.equal(started.length, 1);
    assert.ok(all.growAbove > 500, 'calls that change nothing are not looked at one by one');
    owner.wanted = 0;
    owner.finished = 500;
    clock.advance(1_000);
    assert.equal(started.length, 1);
    assert.equal(all.growAbove, 1);
  });

  it('starts as many lanes at once as clear the queue within the time of a start', () => {
    const { fleet: all, started, owner } = fleet({ minLanes: 1, maxLanes: 64 });
    started[0].up();
    owner.service = 10;
    owner.wanted = 20; // 200 ms of work, and a start takes less than 30
    all.grow();
    assert.ok(started.length >= 7 && started.length <= 20, `${started.length}`);
    owner.wanted = 10_000;
    all.grow();
    assert.equal(started.length, 64);
  });

  it('looks again when calls that were thought to be short are not done in the time of a start', () => {
    const { fleet: all, clock, started, owner } = fleet({ minLanes: 1 });
    started[0].up();
    owner.service = 0.001;
    owner.wanted = 4;
    all.grow();
    assert.equal(started.length, 1);
    clock.advance(60);
    assert.equal(started.length, 4, 'none of them has finished');
  });

  it('waits with one lane up to see how long functions run, as long as a start takes', () => {
    const { fleet: all, clock, started, owner } = fleet({ minLanes: 1 });
    started[0].up();
    owner.wanted = 100;
    all.grow();
    assert.equal(started.length, 1);
    owner.finished = 3;
    clock.advance(31);
    assert.equal(started.length, 4);
  });

  it('starts no lane beyond its first while the process is busy, and as soon as it is not', () => {
    const { fleet: all, clock, started, owner } = fleet();
    owner.room = false;
    owner.wanted = 100;
    all.grow();
    assert.equal(started.length, 1, 'the first is always granted');
    started[0].up();
    owner.service = 50;
    all.grow();
    assert.equal(started.length, 1);
    owner.room = true;
    clock.advance(100);
    assert.equal(started.length, 4);
  });

  it('lets a worn lane go only when its replacement is up', () => {
    const { fleet: all, started, owner } = fleet({ minLanes: 1, recycle: { ...NEVER, afterCalls: 100 } });
    const old = started[0];
    old.up();
    assert.ok(old.wornAt > 89 && old.wornAt <= 100, `${old.wornAt}`);
    old.calls = old.wornAt;
    all.onWorn(old);
    assert.equal(started.length, 2);
    assert.equal(old.state, 'up');
    assert.equal(owner.capacity, 1, 'the two count as one');
    started[1].up();
    assert.equal(old.state, 'ended');
    assert.deepEqual(all.lanes, [started[1]]);
  });

  it('replaces few worn lanes at a time', () => {
    const { fleet: all, started } = fleet({ minLanes: 8, maxLanes: 8 });
    for (const lane of [...started]) lane.up();
    for (const lane of [...started]) all.onWorn(lane);
    assert.equal(started.length, 8 + 2);
    started[8].up();
    assert.equal(started.length, 8 + 3, 'the next follows');
    for (let i = 9; i < 16; i++) started[i].up();
    assert.equal(all.lanes.length, 8);
    assert.ok(all.lanes.every(lane => lane.id > 8));
  });

  it('goes on with a worn lane when its replacement cannot start, and tries again', () => {
    const { fleet: all, clock, started } = fleet({ minLanes: 1 });
    started[0].up();
    all.onWorn(started[0]);
    started[1].end(new Error('no'));
    assert.equal(started[0].state, 'up');
    assert.equal(started.length, 2);
    clock.advance(100);
    assert.equal(started.length, 3);
    started[2].up();
    assert.deepEqual(all.lanes, [started[2]]);
  });

  it('keeps the replacement when the worn lane is lost before it is up', () => {
    const { fleet: all, started, owner } = fleet({ minLanes: 1 });
    started[0].up();
    all.onWorn(started[0]);
    started[0].gone([{} as Call]);
    assert.equal(started.length, 2, 'it is there already');
    started[1].up();
    assert.deepEqual(all.lanes, [started[1]]);
    assert.equal(owner.capacity, 1);
  });

  it('recycles a lane that answered as many calls before it was known to be up', () => {
    const { started } = fleet({ minLanes: 1, recycle: { ...NEVER, afterCalls: 1 } });
    const [lane] = started;
    lane.calls = 1; // answers are seen in shared memory, and may be earlier than the message
    lane.up();
    assert.equal(started.length, 2);
  });

  it('recycles by age and by idleness, and never a lane that has run nothing for being idle', () => {
    const { clock, started } = fleet({ minLanes: 2, maxLanes: 2, recycle: { ...NEVER, idleMs: 1_000 } });
    for (const lane of [...started]) lane.up();
    started[0].calls = 1;
    clock.advance(3_000);
    assert.equal(started.length, 3);
    started[2].up();
    assert.equal(started[0].state, 'ended');
    clock.advance(10_000);
    assert.equal(started.length, 3);

    const old = fleet({ minLanes: 1, recycle: { ...NEVER, afterMs: 1_000 } });
    old.started[0].up();
    old.clock.advance(899);
    assert.equal(old.started.length, 1);
    old.clock.advance(101);
    assert.equal(old.started.length, 2);
  });

  it('close ends all lanes, waits for the last, starts none again, and leaves no timer', async () => {
    const { fleet: all, clock, started, owner } = fleet({ minLanes: 2, maxLanes: 3 });
    owner.wanted = 3;
    all.grow();
    for (const lane of started) lane.up();
    const { length } = started;
    await Promise.all([all.close(undefined), all.close(undefined)]);
    assert.equal(all.lanes.length, 0);
    clock.advance(60_000);
    all.grow();
    assert.equal(started.length, length);
    assert.equal(clock.timers, 0);
  });
});
