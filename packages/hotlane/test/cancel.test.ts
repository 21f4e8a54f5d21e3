import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { describe, it } from 'node:test';
import { code, counters, leavesNothingBehind, PLACEMENTS, tasksPool, until } from './support.ts';

leavesNothingBehind();

for (const placement of PLACEMENTS) {
  describe(`cancelling, ${placement}`, () => {
    it('one listener serves all calls of one signal, and none is left', async () => {
      await using pool = tasksPool({ placement, lanes: 1 });
      const stop = new AbortController();
      const call = pool.with({ signal: stop.signal });
      const calls = Array.from({ length: 100 }, () => call.add(1, 1));
      assert.equal(getEventListeners(stop.signal, 'abort').length, 1);
      await Promise.all(calls);
      assert.equal(getEventListeners(stop.signal, 'abort').length, 0);
    });

    it('a function that stops since its deadline passed does not pass for done', async () => {
      await using pool = tasksPool({ placement, lanes: 1, graceMs: 60_000 });
      await pool.call.add(1, 1);
      for (let i = 0; i < 10; i++) {
        await assert.rejects(
          pool.with({ deadlineMs: 10 }).blockUntilAborted(),
          code('DEADLINE', /`blockUntilAborted`.*10 ms/),
        );
      }
      const outcomes: unknown[] = [];
      const inputs = [1, 2, 3] as unknown[] as never[];
      const results = pool.map('blockUntilAborted', inputs, { deadlineMs: 10, errors: 'return' });
      for await (const { status } of results) outcomes.push(status);
      assert.deepEqual(outcomes, ['rejected', 'rejected', 'rejected']);
    });

    it('a deadline longer than a timer can count is none', async () => {
      await using pool = tasksPool({ placement, lanes: 1, deadlineMs: 2 ** 40 });
      assert.equal(await pool.with({ deadlineMs: 3e9, graceMs: 3e9 }).later('x', 20), 'x');
      assert.equal(await pool.call.later('y', 20), 'y');
    });

    it('a pool’s deadlineMs holds for every call', async () => {
      await using pool = tasksPool({ placement, lanes: 1, deadlineMs: 10, graceMs: 60_000 });
      await assert.rejects(pool.call.later('late', 100), code('DEADLINE'));
    });
  });
}

describe('a call that goes on although it was cancelled', () => {
  it('sees aborted() in a synchronous loop when it is cancelled', async () => {
    await using pool = tasksPool({ lanes: 1, graceMs: 60_000 });
    const stop = new AbortController();
    const call = pool.with({ signal: stop.signal }).blockUntilAborted();
    await until(() => pool.stats().running === 1);
    stop.abort('now');
    await assert.rejects(call, error => error === 'now');
    assert.equal(await pool.call.laneId(), 1, 'the loop ended and its lane took the next call');
  });

  it('sees aborted() when its deadline passes while the host is busy', async () => {
    await using pool = tasksPool({ lanes: 1, graceMs: 60_000 });
    const shared = counters();
    await pool.call.keep(shared);
    const call = pool.with({ deadlineMs: 30 }).blockUntilAborted();
    const after = pool.call.markKept(0);
    await null; // published
    const end = performance.now() + 10_000;
    while (Atomics.load(shared, 0) === 0 && performance.now() < end); // the host's loop does not turn
    assert.equal(Atomics.load(shared, 0), 1, 'the lane ended the loop by itself and went on');
    await Promise.allSettled([call, after]); // whichever the host sees first: the answer, or the deadline
  });

  it('keeps its lane when graceMs is Infinity', async () => {
    await using pool = tasksPool({ lanes: 1, graceMs: Number.POSITIVE_INFINITY });
    const shared = counters();
    await pool.call.add(0, 0);
    const call = assert.rejects(pool.with({ deadlineMs: 50 }).markAndBlock(shared, 0, 1), code('DEADLINE'));
    await until(() => Atomics.load(shared, 0) === 1);
    await call;
    const next = pool.call.laneId();
    Atomics.store(shared, 1, 1);
    Atomics.notify(shared, 1);
    assert.equal(await next, 1);
  });
});

describe('a call that shares its lane with one that goes on although it was cancelled', () => {
  it('may finish while the lane’s loop answers; then the lane is replaced', async () => {
    await using pool = tasksPool({ lanes: 1, concurrency: 2, graceMs: 100 });
    await pool.call.add(1, 1);
    const stop = new AbortController();
    const stubborn = assert.rejects(pool.with({ signal: stop.signal }).never(), reason => reason === 'stop');
    const innocent = pool.call.later('done', 150);
    await until(() => pool.stats().running === 2);
    stop.abort('stop');
    await stubborn;
    assert.equal(await innocent, 'done');
    await until(() => pool.stats().lanes.every(lane => lane.id !== 1));
  });
});

describe('a signal whose reason cannot be looked at', () => {
  it('cancels all its calls all the same', async () => {
    await using pool = tasksPool({ lanes: 1, concurrency: 4, graceMs: 60_000 });
    await pool.call.add(1, 1);
    const stop = new AbortController();
    const call = pool.with({ signal: stop.signal });
    const calls = [1, 2, 3].map(() =>
      assert.rejects(call.untilSignal(), reason => reason === stop.signal.reason),
    );
    await until(() => pool.stats().running === 3);
    stop.abort({ message: Object.create(null), f() {} });
    await Promise.all(calls);
    await until(() => pool.stats().running === 0);
  });
});

describe('an inline lane that is given up', () => {
  it('takes no further call, and its late answer resolves no other', async () => {
    await using pool = tasksPool({ placement: 'inline', lanes: 1, graceMs: 10 });
    await pool.call.add(1, 1);
    const late = pool.with({ deadlineMs: 10 }).later('late', 60);
    const next = pool.call.later('next', 80);
    await assert.rejects(late, code('DEADLINE'));
    assert.equal(await next, 'next');
    assert.equal(await pool.call.laneId(), 2);
  });
});
