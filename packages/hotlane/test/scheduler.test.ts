import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { Deque } from '../src/call/deque.ts';
import { Call } from '../src/lane/call.ts';
import type { Lane, Outlet } from '../src/lane/lane.ts';
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
  finish(): void {
    this.held.shift();
  }
}

const calls = (count: number) => Array.from({ length: count }, (_, i) => new Call(i));

describe('the scheduler', () => {
  it('hands calls over in order, and no more than there is room for', () => {
    const scheduler = new Scheduler(Math);
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

  it('hands a call to its lane although those before it were recalled while they waited', () => {
    const scheduler = new Scheduler(Math);
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
    const scheduler = new Scheduler(Math);
    const all = calls(3);
    for (const call of all) scheduler.submit(call);
    const shelf = new Shelf(10);
    scheduler.addOutlet(shelf);
    assert.deepEqual(shelf.handed, all);
  });

  it('prefers the outlet with the most room, and starves none of equals', () => {
    const scheduler = new Scheduler(Math);
    const [busy, a, b] = [new Shelf(1), new Shelf(100), new Shelf(100)];
    for (const outlet of [busy, a, b]) scheduler.addOutlet(outlet);
    for (const call of calls(60)) scheduler.submit(call);
    assert.equal(busy.handed.length, 0);
    assert.ok(Math.abs(a.handed.length - b.handed.length) <= 1);
    const firsts = new Set<Outlet>();
    for (let i = 0; i < 100; i++) {
      const fair = new Scheduler(Math);
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
    const scheduler = new Scheduler(Math);
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
    const scheduler = new Scheduler(Math);
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
    const scheduler = new Scheduler(Math);
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
    const scheduler = new Scheduler(Math);
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
        const scheduler = new Scheduler(Math);
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
        }
        deque.filter(item => item % 2 === 0);
        for (const item of list.filter(item => item % 2 === 0)) assert.equal(deque.shift(), item);
      }),
    );
  });
});
