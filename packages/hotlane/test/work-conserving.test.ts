import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { counters, leavesNothingBehind, tasksPool, until } from './support.ts';

leavesNothingBehind();

function release(shared: Int32Array, gate: number): void {
  Atomics.store(shared, gate, 1);
  Atomics.notify(shared, gate);
}

describe('a free lane', () => {
  it('finishes short calls beside a lane that is blocked', async () => {
    await using pool = tasksPool({ lanes: 2 });
    const shared = counters();
    const blocked = pool.call.markAndBlock(shared, 0, 1);
    await until(() => Atomics.load(shared, 0) === 1);
    const short = await Promise.all(Array.from({ length: 5_000 }, (_, i) => pool.call.add(i, 1)));
    assert.equal(short[4_999], 5_000);
    assert.equal(pool.stats().running, 1);
    release(shared, 1);
    await blocked;
  });

  it('never idles beside a waiting call: as many blocking calls as lanes all begin', async () => {
    const lanes = 4;
    await using pool = tasksPool({ lanes });
    await until(() => pool.stats().lanes.every(lane => lane.state === 'up'));
    const wide = new Int32Array(new SharedArrayBuffer(256 * 4));
    await pool.broadcast.keep(wide);
    for (let round = 0; round < 60; round++) {
      const [begun, gate] = [2 * round, 2 * round + 1];
      // Sometimes the lanes sleep, sometimes they just ran something, sometimes the calls come in one burst.
      if (round % 3 === 0) await sleep(3);
      else await Promise.all([pool.call.add(1, 1), pool.call.add(2, 2)]);
      const calls: Promise<unknown>[] = [];
      for (let i = 0; i < lanes; i++) {
        calls.push(pool.call.blockKept(begun, gate));
        if (round % 2 === 0) await null;
      }
      await until(() => Atomics.load(wide, begun) === lanes);
      release(wide, gate);
      await Promise.all(calls);
    }
  });

  it('never idles beside calls of different priorities, those included that are taken back for others', async () => {
    const lanes = 3;
    await using pool = tasksPool({ lanes });
    await until(() => pool.stats().lanes.every(lane => lane.state === 'up'));
    const wide = new Int32Array(new SharedArrayBuffer(256 * 4));
    await pool.broadcast.keep(wide);
    for (let round = 0; round < 60; round++) {
      const [begun, gate] = [2 * round, 2 * round + 1];
      if (round % 3 === 0) await sleep(3);
      const short = Array.from({ length: 50 }, (_, i) => pool.call.add(i, 1));
      if (round % 2 === 0) await null;
      const calls = Array.from({ length: lanes }, (_, i) =>
        pool.with({ priority: (i * round) % 5 }).blockKept(begun, gate),
      );
      await until(() => Atomics.load(wide, begun) === lanes);
      release(wide, gate);
      await Promise.all([...calls, ...short]);
    }
  });

  it('takes a single call although the lane that looked for work took another just before', async () => {
    await using pool = tasksPool({ lanes: 2 });
    await until(() => pool.stats().lanes.every(lane => lane.state === 'up'));
    const wide = new Int32Array(new SharedArrayBuffer(1024 * 4));
    await pool.broadcast.keep(wide);
    for (let round = 0; round < 300; round++) {
      await pool.call.add(round, 1); // now one lane spins, the other sleeps
      const [begun, gate] = [2 * round, 2 * round + 1];
      const first = pool.call.blockKept(begun, gate);
      await null;
      const second = pool.call.blockKept(begun, gate);
      await until(() => Atomics.load(wide, begun) === 2);
      release(wide, gate);
      await Promise.all([first, second]);
    }
  });
});

describe('a fleet', () => {
  it('starts no lane before the first call, one for one call at a time, more for more', async () => {
    await using pool = tasksPool({ lanes: { max: 3 } });
    assert.equal(pool.stats().lanes.length, 0);
    for (let i = 0; i < 20; i++) await pool.call.add(i, 1);
    assert.equal(pool.stats().lanes.length, 1);
    const shared = counters();
    const held = [0, 0, 0, 0].map(index => pool.call.markAndBlock(shared, index, 1));
    await until(() => Atomics.load(shared, 0) === 3);
    assert.equal(pool.stats().lanes.length, 3);
    release(shared, 1);
    await Promise.all(held);
  });

  it('lets lanes beyond min go when they have nothing to do for lingerMs, and starts them again', async () => {
    await using pool = tasksPool({ lanes: { min: 1, max: 3, lingerMs: 30 } });
    const work = Array.from({ length: 100 }); // more than lanes do while another starts
    await Promise.all(work.map(() => pool.call.block(10)));
    assert.equal(pool.stats().lanes.length, 3);
    await until(() => pool.stats().lanes.length === 1);
    await Promise.all(work.map(() => pool.call.block(10)));
    assert.equal(pool.stats().lanes.length, 3);
  });
});
