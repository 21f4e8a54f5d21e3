import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { HotlaneError, isHotlaneError } from 'hotlane';
import { code, counters, leavesNothingBehind, PLACEMENTS, tasksPool, until } from './support.ts';

leavesNothingBehind();

describe('a lane that exits in a call', () => {
  it('fails that call with LANE_LOST, runs those that waited elsewhere, and is replaced', async () => {
    await using pool = tasksPool({ lanes: 1 });
    const lost = pool.call.exit(7);
    const others = Array.from({ length: 200 }, (_, i) => pool.call.add(i, 1));
    await assert.rejects(lost, code('LANE_LOST', /Lane 1 was lost while it ran `exit`.*code 7/));
    assert.deepEqual(
      await Promise.all(others),
      Array.from({ length: 200 }, (_, i) => i + 1),
    );
    assert.equal(pool.stats().lanes[0].id, 2);
  });

  it('takes only the calls that it ran with it, not those that run in other lanes', async () => {
    await using pool = tasksPool({ lanes: 2 });
    const shared = counters();
    const held = pool.call.markAndWait(shared, 0, 1);
    await until(() => Atomics.load(shared, 0) === 1);
    await assert.rejects(pool.call.exit(1), code('LANE_LOST'));
    Atomics.store(shared, 1, 1);
    await held;
  });

  it('answers what it had finished before', async () => {
    await using pool = tasksPool({ lanes: 1 });
    await pool.call.add(0, 0);
    for (let round = 0; round < 10; round++) {
      const calls = Array.from({ length: 50 }, (_, i) => pool.call.add(i, 1));
      const lost = assert.rejects(pool.call.exit(1), code('LANE_LOST'));
      assert.deepEqual(
        await Promise.all(calls),
        Array.from({ length: 50 }, (_, i) => i + 1),
      );
      await lost;
    }
  });

  it('fails a broadcast that it had not begun, since no other lane may take it', async () => {
    await using pool = tasksPool({ lanes: 1 });
    await pool.call.add(0, 0);
    const shared = counters();
    const lost = assert.rejects(pool.call.markAndExit(shared, 0, 1), code('LANE_LOST'));
    await until(() => Atomics.load(shared, 0) === 1);
    setTimeout(() => {
      Atomics.store(shared, 1, 1);
      Atomics.notify(shared, 1);
    }, 5);
    await assert.rejects(pool.broadcast.add(1, 1), code('LANE_LOST', /meant for this lane only/));
    await lost;
  });

  it('runs idempotent calls again elsewhere, as often as retries says', async () => {
    await using pool = tasksPool({ lanes: 1 });
    const shared = counters();
    const call = pool.with({ idempotent: true });
    assert.equal(await call.exitUntil(shared, 0, 3), 3, 'it ran three times');
    assert.equal(Atomics.load(shared, 0), 3);
    const lost = pool.with({ idempotent: true, retries: 1 }).exitUntil(shared, 1, 3);
    await assert.rejects(lost, code('LANE_LOST'));
    assert.equal(Atomics.load(shared, 1), 2);
  });

  it('does not run idempotent calls again that were cancelled or whose pool was destroyed meanwhile', async () => {
    const pool = tasksPool({ lanes: 1 });
    const shared = counters();
    const stop = new AbortController();
    const cancelled = pool
      .with({ idempotent: true, retries: 1_000, signal: stop.signal })
      .exitUntil(shared, 0, 1_000);
    await until(() => Atomics.load(shared, 0) >= 2);
    stop.abort('enough');
    await assert.rejects(cancelled, reason => reason === 'enough');
    const destroyed = pool.with({ idempotent: true, retries: 1_000 }).exitUntil(shared, 1, 1_000);
    const check = assert.rejects(destroyed, code('CLOSED'));
    await until(() => Atomics.load(shared, 1) >= 2);
    await pool.destroy();
    await check;
  });

  it('never runs a call with transfers again', async () => {
    await using pool = tasksPool({ lanes: 1 });
    const buffer = new ArrayBuffer(8);
    const call = pool.with({ idempotent: true, transfer: [buffer] }) as any;
    await assert.rejects(call.exit(1, buffer), code('LANE_LOST'));
  });

  it('for lack of memory fails its calls, and the process lives on', async () => {
    await using pool = tasksPool({ lanes: 1, heapMb: 40 });
    await assert.rejects(pool.call.eatMemory(), code('LANE_LOST', /memory/));
    assert.equal(await pool.call.add(1, 1), 2);
  });

  it('runs no call twice: what had begun is not begun again', async () => {
    const shared = counters();
    await using pool = tasksPool({ lanes: 1, concurrency: 8 });
    const begun = Array.from({ length: 4 }, () =>
      assert.rejects(pool.call.markAndWait(shared, 0, 1), code('LANE_LOST')),
    );
    await until(() => Atomics.load(shared, 0) === 4);
    await assert.rejects(pool.call.exit(1), code('LANE_LOST'));
    await Promise.all(begun);
    await pool.call.add(1, 1);
    assert.equal(Atomics.load(shared, 0), 4);
  });
});

for (const placement of PLACEMENTS) {
  describe(`close and destroy, ${placement}`, () => {
    it('close and destroy can be called twice, in any order, and without any call made', async () => {
      for (const ends of [
        ['close', 'close'],
        ['destroy', 'destroy'],
        ['close', 'destroy'],
        ['destroy', 'close'],
      ] as const) {
        const pool = tasksPool({ placement, lanes: 2 });
        await Promise.all(ends.map(end => pool[end]()));
        await pool[ends[0]]();
        await tasksPool({ placement })[ends[0]]();
      }
    });
  });

  describe(`limits, ${placement}`, () => {
    it('past maxQueuedBytes a call rejects with QUEUE_FULL, transfers nothing, and nothing accepted is lost', async () => {
      await using pool = tasksPool({ placement, lanes: 1, maxQueuedBytes: 100_000 });
      const accepted = [1, 2, 3].map(() => pool.call.echo(new Uint8Array(30_000)));
      const buffer = new ArrayBuffer(8);
      const refused = pool.with({ transfer: [buffer] }).echo([new Uint8Array(30_000), buffer]);
      await assert.rejects(refused, code('QUEUE_FULL', /take 3\d{4} bytes.*maxQueuedBytes/));
      assert.equal(buffer.byteLength, 8);
      for (const result of await Promise.all(accepted)) assert.equal((result as Uint8Array).length, 30_000);
      assert.equal(((await pool.call.echo(new Uint8Array(90_000))) as Uint8Array).length, 90_000);
    });
  });
}

describe('errors', () => {
  it('are told apart by code and by a brand that other copies of the library share', () => {
    const error = new HotlaneError('CLOSED', 'closed');
    assert.equal(error.code, 'ERR_HOTLANE_CLOSED');
    assert.equal(error.name, 'HotlaneError');
    assert.ok(isHotlaneError(error) && isHotlaneError(error, 'CLOSED'));
    assert.ok(!isHotlaneError(error, 'DEADLINE') && !isHotlaneError(new Error('x')) && !isHotlaneError(null));
    assert.equal((error as any)[Symbol.for('hotlane.error')], true);
  });
});
