import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { Deque } from '../src/call/deque.ts';
import { Call, goesBefore } from '../src/lane/call.ts';
import type { Lane, Outlet } from '../src/lane/lane.ts';
import { Heap } from '../src/schedule/heap.ts';
import { Scheduler } from '../src/schedule/scheduler.ts';

/** An outlet of a given depth that keeps what it is handed until it is told to finish it. */
class Shelf implements Outlet {
  depth: number;
  readonly held: Call[] = [];
  readonly handed: Call[] = [];
  constructor(depth: number) {
    this.depth = depth;
  }
  room(): number {
    return this.depth - this.held.length;
  }
  wait(_call: Call): number {
    return this.held.length;
  }
  hand(call: Call): void {
    assert.ok(this.room() > 0, 'handed more than there is room for');
    this.held.push(call);
    this.handed.push(call);
  }
  recall(call: Call): boolean {
    const at = this.held.indexOf(call);
    if (at >= 0) this.held.splice(at, 1);
    return at >= 0;
  }
  recallBehind(call: Call): Call[] {
    return this.held.filter(other => goesBefore(call, other)).filter(other => this.recall(other));
  }
  finish(): void {
    this.held.shift();
  }
}

const clock = { now: () => 0, random: Math.random };
const calls = (count: number) => Array.from({ length: count }, (_, i) => new Call(i));

describe('the scheduler', () => {
  it('hands calls over in order, and no more than there is room for', () => {
    const scheduler = new Scheduler(clock);
    const shelf = new Shelf(2);
    scheduler.addOutlet(shelf);
    const all = calls(5);
    for (const call of all) scheduler.submit(call);
    assert.deepEqual(shelf.handed, all.slice(0, 2));
    assert.equal(scheduler.waiting, 3);
    shelf.finish();
    scheduler.pump();
    assert.deepEqual(shelf.handed, all.slice(0, 3));
  });

  it('hands a call to the outlet where that call waits least, and keeps it where every one asks for ever', () => {
    const scheduler = new Scheduler(clock);
    const shelves = [new Shelf(9), new Shelf(9), new Shelf(9)];
    for (const shelf of shelves) scheduler.addOutlet(shelf);
    const [first, second, third] = calls(3);
    shelves[0].wait = () => 3;
    shelves[1].wait = call => (call === second ? 4 : 2);
    shelves[2].wait = () => Number.POSITIVE_INFINITY;
    scheduler.submit(first);
    scheduler.submit(second);
    assert.deepEqual(
      shelves.map(shelf => shelf.held),
      [[second], [first], []],
    );
    for (const shelf of shelves) shelf.wait = call => (call === third ? Number.POSITIVE_INFINITY : 0);
    scheduler.submit(third);
    assert.equal(scheduler.waiting, 1);
    shelves[2].wait = () => 1;
    scheduler.pump();
    assert.deepEqual(shelves[2].held, [third]);
  });

  it('hands a call to its lane although those before it were recalled while they waited', () => {
    const scheduler = new Scheduler(clock);
    const shelf = new Shelf(1);
    const bound = calls(4);
    for (const call of bound) call.lane = shelf as unknown as Lane;
    for (const call of bound.slice(0, 3)) scheduler.submit(call);
    assert.ok(scheduler.recall(bound[1]) && scheduler.recall(bound[2]));
    shelf.finish();
    scheduler.pump(); // nothing waits now
    scheduler.submit(bound[3]);
    assert.deepEqual(shelf.handed, [bound[0], bound[3]]);
  });

  it('hands what waited to an outlet that comes', () => {
    const scheduler = new Scheduler(clock);
    const all = calls(3);
    for (const call of all) scheduler.submit(call);
    const shelf = new Shelf(10);
    scheduler.addOutlet(shelf);
    assert.deepEqual(shelf.handed, all);
  });

  it('prefers the outlet with the fewest calls before it, and starves none of equals', () => {
    const scheduler = new Scheduler(clock);
    const [busy, a, b] = [new Shelf(100), new Shelf(100), new Shelf(100)];
    for (const call of calls(40)) busy.hand(call);
    for (const outlet of [busy, a, b]) scheduler.addOutlet(outlet);
    for (const call of calls(60)) scheduler.submit(call);
    assert.equal(busy.handed.length, 40);
    assert.ok(Math.abs(a.handed.length - b.handed.length) <= 1);
    const firsts = new Set<Outlet>();
    for (let i = 0; i < 100; i++) {
      const fair = new Scheduler(clock);
      const [x, y] = [new Shelf(1), new Shelf(1)];
      fair.addOutlet(x);
      fair.addOutlet(y);
      fair.submit(new Call(0));
      firsts.add(x.handed.length ? x : y);
      if ([...firsts].length > 1) break;
    }
    assert.ok(firsts.size > 1);
  });

  it('takes back what waits and what an outlet still holds, once', () => {
    const scheduler = new Scheduler(clock);
    const shelf = new Shelf(1);
    scheduler.addOutlet(shelf);
    const [held, waiting, last] = calls(3);
    for (const call of [held, waiting, last]) scheduler.submit(call);
    assert.equal(scheduler.recall(waiting), true);
    assert.equal(scheduler.recall(held), true);
    assert.equal(scheduler.recall(held), false);
    scheduler.pump();
    assert.deepEqual(shelf.handed, [held, last]);
    assert.equal(scheduler.waiting, 0);
  });

  it('puts calls of a lost lane before all that wait, in their order', () => {
    const scheduler = new Scheduler(clock);
    const shelf = new Shelf(0);
    scheduler.addOutlet(shelf);
    const [a, b, c] = calls(3);
    scheduler.submit(c);
    scheduler.requeue([a, b]);
    shelf.depth = 3;
    scheduler.pump();
    assert.deepEqual(shelf.handed, [a, b, c]);
  });

  it('keeps calls for one lane for that lane, and gives them up with it', () => {
    const scheduler = new Scheduler(clock);
    const [mine, other] = [new Shelf(1), new Shelf(5)];
    scheduler.addOutlet(other);
    const all = calls(3);
    for (const call of all) {
      call.lane = mine as unknown as Lane;
      scheduler.submit(call);
    }
    assert.deepEqual(mine.handed, [all[0]]);
    assert.equal(other.handed.length, 0);
    mine.finish();
    scheduler.pump();
    assert.deepEqual(mine.handed, all.slice(0, 2));
    assert.deepEqual(scheduler.takeBound(mine as unknown as Lane), [all[2]]);
    assert.equal(scheduler.waiting, 0);
  });

  it('forgets cancelled calls although nothing is handed over', () => {
    const scheduler = new Scheduler(clock);
    scheduler.addOutlet(new Shelf(0));
    for (let i = 0; i < 20_000; i++) {
      const call = new Call(i);
      scheduler.submit(call);
      scheduler.recall(call);
    }
    assert.equal(scheduler.waiting, 0);
    assert.ok(scheduler.queueLength < 5_000, `${scheduler.queueLength} kept`);
  });

  it('loses, doubles and reorders no call, whatever comes in whatever order', () => {
    const step = fc.oneof(
      { weight: 4, arbitrary: fc.constant('submit' as const) },
      fc.record({ finish: fc.nat(2) }),
      fc.record({ recall: fc.nat() }),
      fc.record({ lose: fc.nat(2) }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 300 }), steps => {
        const scheduler = new Scheduler(clock);
        const shelves = [new Shelf(1), new Shelf(2), new Shelf(3)];
        for (const shelf of shelves) scheduler.addOutlet(shelf);
        const live: Call[] = [];
        let submitted = 0;
        let ended = 0;
        for (const what of steps) {
          if (what === 'submit') {
            const call = new Call(submitted++);
            live.push(call);
            scheduler.submit(call);
          } else if ('finish' in what) {
            const done = shelves[what.finish].held.shift();
            if (done !== undefined) {
              live.splice(live.indexOf(done), 1);
              ended++;
            }
            scheduler.pump();
          } else if ('recall' in what && live.length > 0) {
            const [call] = live.splice(what.recall % live.length, 1);
            assert.ok(scheduler.recall(call));
            ended++;
            scheduler.pump();
          } else if ('lose' in what) {
            scheduler.requeue(shelves[what.lose].held.splice(0));
          }
          const held = shelves.flatMap(shelf => shelf.held);
          assert.equal(new Set(held).size, held.length);
          assert.equal(held.length + scheduler.waiting, live.length);
          assert.equal(live.length + ended, submitted);
          if (scheduler.waiting > 0)
            assert.ok(
              shelves.every(shelf => shelf.room() <= 0),
              'a call waits beside room',
            );
        }
      }),
      { numRuns: 500 },
    );
  });
});

describe('the scheduler, with priorities', () => {
  /** A shelf that takes one call at a time, and a clock that the test moves. */
  function world(depth = 1) {
    const time = { now: 0 };
    const scheduler = new Scheduler({ now: () => time.now, random: Math.random });
    const shelf = new Shelf(depth);
    scheduler.addOutlet(shelf);
    let made = 0;
    const submit = (priority = 0, key?: string) => {
      const call = new Call(made++);
      call.priority = priority;
      call.key = key;
      scheduler.submit(call);
      return call;
    };
    /** Finishes what the shelf holds, one after the other, until nothing waits. */
    const drain = () => {
      while (shelf.held.length > 0) finish();
      return shelf.handed;
    };
    const finish = () => {
      const done = shelf.held[0];
      shelf.finish();
      scheduler.onFinished(done, null);
      scheduler.pump();
    };
    /** Fills the shelf with a call that has begun, so that all others wait. */
    const occupy = () => {
      const call = submit();
      shelf.recallBehind = () => [];
      return call;
    };
    return { time, scheduler, shelf, submit, drain, finish, occupy };
  }

  it('hands over the higher first, equals in their order', () => {
    const { submit, drain, occupy } = world();
    const first = occupy();
    const [a, b, c, d, e, f] = [0, 2, -1, 2, 0, 1].map(priority => submit(priority));
    assert.deepEqual(drain(), [first, b, d, f, a, e, c]);
  });

  it('counts a second of waiting as one step', () => {
    const { time, submit, drain, occupy } = world();
    const first = occupy();
    const low = submit(-2);
    const old = submit(0);
    time.now = 1_999;
    const [behind, before] = [submit(1), submit(2)];
    time.now = 2_000;
    const equal = submit(2);
    time.now = 4_000;
    const late = submit(0);
    assert.deepEqual(drain(), [first, before, old, equal, behind, low, late]);
  });

  it('lets nothing starve under a steady stream of urgent calls', () => {
    const { time, shelf, submit, finish, occupy } = world();
    occupy();
    const waits = [0, -3].map(priority => submit(priority));
    const ran = new Map<Call, number>();
    for (; time.now < 10_000; time.now += 10) {
      submit(5); // one for each that finishes
      finish();
      ran.set(shelf.held[0], time.now);
    }
    // After as many seconds as the others are steps ahead; at each moment one of those before them may begin.
    for (const [i, seconds] of [5, 8].entries()) {
      const at = ran.get(waits[i])!;
      assert.ok(at >= 1_000 * seconds && at < 1_000 * seconds + 50, `${at}`);
    }
  });

  it('takes calls in their order from before the first priority, however young they may be', () => {
    const { time, submit, drain, occupy } = world();
    const first = occupy();
    const unknown = submit();
    time.now = 60_000;
    const known = submit();
    known.times = { queuedAt: 50_000, startedAt: 0, endedAt: 0, lane: 0 };
    const last = submit();
    const urgent = submit(20);
    const more = submit(5);
    // `unknown` was made before `known`, so 50 s ago at the least; `last` may just have come.
    assert.deepEqual(drain(), [first, urgent, unknown, known, more, last]);
  });

  it('takes back what an outlet holds unbegun, and only that which goes behind', () => {
    const { shelf, scheduler, submit } = world(3);
    const [high, usual, low] = [submit(9), submit(0), submit(-1)];
    const waiting = submit(-5);
    const urgent = submit(1);
    assert.deepEqual(shelf.held, [high, urgent, usual]);
    assert.equal(scheduler.waiting, 2);
    shelf.depth = 5;
    scheduler.pump();
    assert.deepEqual(shelf.held, [high, urgent, usual, low, waiting]);
  });

  it('goes by the rank of calls that a lost lane gives back: before their equals, behind the urgent', () => {
    const { time, scheduler, shelf, submit, drain } = world(2);
    const [a, b] = [submit(0), submit(-1)];
    time.now = 5;
    shelf.recallBehind = () => [];
    const waiting = [submit(0), submit(1), submit(-1)];
    scheduler.requeue(shelf.held.splice(0));
    assert.deepEqual(drain().slice(-5), [waiting[1], a, waiting[0], b, waiting[2]]);
  });

  it('keeps the calls of a key in their order; the first goes by its own priority and age', () => {
    const { time, submit, drain, occupy } = world();
    const first = occupy();
    const [keyed, behind] = [submit(1, 'k'), submit(9, 'k')];
    time.now = 1;
    const [urgent, usual] = [submit(5), submit(0)];
    const order = drain();
    assert.deepEqual(order, [first, urgent, keyed, behind, usual]);
  });

  it('forgets cancelled calls although nothing is handed over', () => {
    const { scheduler, submit, occupy } = world();
    occupy();
    const kept = submit(3);
    for (let i = 0; i < 20_000; i++) assert.ok(scheduler.recall(submit(i % 7)));
    assert.equal(scheduler.waiting, 1);
    assert.ok(scheduler.queueLength < 5_000, `${scheduler.queueLength} kept`);
    assert.equal(scheduler.recall(kept), true);
    assert.deepEqual(scheduler.takeAll(), []);
  });

  it('reads the clock only from the first priority on', () => {
    let reads = 0;
    const scheduler = new Scheduler({ now: () => ++reads, random: Math.random });
    for (const call of calls(100)) scheduler.submit(call);
    assert.equal(reads, 0);
    const urgent = new Call(0);
    urgent.priority = 1;
    scheduler.submit(urgent);
    assert.equal(scheduler.takeAll()[0], urgent);
    assert.equal(reads, 1);
  });

  it('hands over what a list sorted by age and priority says, whatever is submitted, cancelled and lost', () => {
    const step = fc.oneof(
      { weight: 4, arbitrary: fc.record({ submit: fc.integer({ min: -3, max: 3 }) }) },
      { weight: 2, arbitrary: fc.record({ submit: fc.constant(0) }) },
      fc.record({ wait: fc.nat(3_000) }),
      fc.record({ recall: fc.nat() }),
      { weight: 3, arbitrary: fc.constant('finish' as const) },
      fc.constant('lose' as const),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), steps => {
        const { time, scheduler, shelf, submit } = world(2);
        submit(1); // all that follow have ranks
        const made: { call: Call; due: number; order: number }[] = [];
        shelf.finish();
        const unfinished = () => [...made].sort((a, b) => a.due - b.due || a.order - b.order);
        for (const what of steps) {
          if (what === 'finish') {
            const [done] = shelf.held;
            shelf.finish();
            if (done !== undefined)
              made.splice(
                made.findIndex(({ call }) => call === done),
                1,
              );
            scheduler.pump();
          } else if (what === 'lose') scheduler.requeue(shelf.held.splice(0));
          else if ('wait' in what) time.now += what.wait;
          else if ('submit' in what) {
            const due = time.now - 1_000 * what.submit;
            const order = made.length === 0 ? 0 : made[made.length - 1].order + 1;
            made.push({ call: submit(what.submit), due, order });
          } else if (made.length > 0) {
            const [{ call }] = made.splice(what.recall % made.length, 1);
            assert.ok(scheduler.recall(call));
            scheduler.pump();
          }
          // Nothing begins here, so that what the shelf holds are the first two of all.
          const first = unfinished().slice(0, 2);
          assert.deepEqual(
            shelf.held,
            first.map(({ call }) => call),
          );
          assert.equal(scheduler.waiting, made.length - first.length);
        }
      }),
      { numRuns: 500 },
    );
  });
});

describe('the heap', () => {
  it('is a list that is always sorted', () => {
    const step = fc.oneof(
      { weight: 3, arbitrary: fc.record({ push: fc.nat(50) }) },
      { weight: 2, arbitrary: fc.constant('pop' as const) },
      fc.record({ drop: fc.nat(6) }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), steps => {
        const heap = new Heap<number>((a, b) => a < b);
        let list: number[] = [];
        for (const what of steps) {
          if (what === 'pop') assert.equal(heap.pop(), list.shift());
          else if ('push' in what) {
            heap.push(what.push);
            list.push(what.push);
            list.sort((a, b) => a - b);
          } else {
            const keep = (item: number) => item % 7 !== what.drop;
            heap.filter(keep);
            list = list.filter(keep);
          }
          assert.equal(heap.length, list.length);
          assert.equal(heap.peek(), list[0]);
        }
        for (const item of list) assert.equal(heap.pop(), item);
        assert.equal(heap.pop(), undefined);
      }),
      { numRuns: 500 },
    );
  });
});

describe('the deque', () => {
  it('is a list that grows at both ends', () => {
    const step = fc.oneof(
      fc.record({ push: fc.nat() }),
      fc.record({ unshift: fc.nat() }),
      fc.constant('shift' as const),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), steps => {
        const deque = new Deque<number>();
        const list: number[] = [];
        for (const what of steps) {
          if (what === 'shift') assert.equal(deque.shift(), list.shift());
          else if ('push' in what) {
            deque.push(what.push);
            list.push(what.push);
          } else {
            deque.unshift(what.unshift);
            list.unshift(what.unshift);
          }
          assert.equal(deque.length, list.length);
          assert.equal(deque.peek(), list[0]);
          assert.equal(deque.peekLast(), list.at(-1));
        }
        deque.filter(item => item % 2 === 0);
        for (const item of list.filter(item => item % 2 === 0)) assert.equal(deque.shift(), item);
      }),
    );
  });
});
