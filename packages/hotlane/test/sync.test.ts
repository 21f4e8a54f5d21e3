import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { MessageChannel } from 'node:worker_threads';
import { callback, createPool } from 'hotlane';
import { code, fixture, leavesNothingBehind, PLACEMENTS, tasksPool } from './support.ts';

leavesNothingBehind();

for (const placement of PLACEMENTS) {
  describe(`a sync call (${placement})`, () => {
    it('returns what the function returns, and throws what it throws', async () => {
      await using pool = tasksPool({ placement, lanes: 1 });
      await pool.ready();
      assert.equal(pool.sync.add(1, 2), 3);
      for (let i = 0; i < 1_000; i++) assert.equal(pool.sync.add(i, 1), i + 1);
      assert.deepEqual(pool.sync.echo({ a: [new Map([[1, 2n]])] }), { a: [new Map([[1, 2n]])] });
      assert.throws(
        () => pool.sync.fail('no'),
        (error: Error) => {
          assert.ok(error instanceof TypeError);
          assert.match(error.stack!, /fail .*tasks\.ts.*── in lane 1, called from ──.*sync\.test\.ts/s);
          return true;
        },
      );
      assert.throws(() => (pool.sync as unknown as Record<string, () => void>).noSuch(), code('NO_FUNCTION'));
    });

    it('carries values of any size, and what is transferred', async () => {
      await using pool = tasksPool({ placement, lanes: 1 });
      await pool.ready();
      for (const size of [10, 50_000, 3_000_000]) {
        const bytes = new Uint8Array(size).fill(7);
        assert.deepEqual(pool.sync.echo(bytes), bytes);
        assert.equal((pool.sync.echo as (value: unknown) => string)('é'.repeat(size)).length, size);
      }
      const buffer = new ArrayBuffer(100);
      assert.equal((pool.syncWith({ transfer: [buffer] }).echo(buffer) as ArrayBuffer).byteLength, 100);
      assert.equal(buffer.byteLength, 0);
      const { port1, port2 } = new MessageChannel();
      const back = pool.syncWith({ transfer: [port1] }).echo([1]);
      assert.deepEqual(back, [1]);
      port2.close();
    });

    it('refuses callbacks and streams, and options that cannot work', async () => {
      await using pool = tasksPool({ placement, lanes: 1 });
      await pool.ready();
      assert.throws(() => pool.sync.echo(callback(() => 1)), code('NOT_CLONEABLE', /blocked/));
      assert.throws(() => pool.sync.echo(ReadableStream.from([1])), code('NOT_CLONEABLE', /blocked/));
      assert.throws(() => pool.sync.echo(() => 1), code('NOT_CLONEABLE'));
      assert.throws(() => pool.syncWith({ signal: AbortSignal.abort() } as never), code('OPTION', /signal/));
      assert.equal(pool.stats().queued, 0);
      await pool.close();
      assert.throws(() => pool.sync.add(1, 1), code('CLOSED'));
    });
  });
}

describe('a sync call to a thread', () => {
  it('starts the first lane', async () => {
    await using pool = tasksPool();
    assert.equal(pool.sync.add(20, 22), 42);
  });

  it('waits for a function that awaits', async () => {
    await using pool = tasksPool({ lanes: 1 });
    assert.equal(pool.sync.later('late', 20), 'late');
  });

  it('waits behind other calls, which settle as ever', async () => {
    await using pool = tasksPool({ lanes: 1 });
    const others = Array.from({ length: 200 }, (_, i) => pool.call.add(i, 1));
    const slow = pool.call.later('slow', 30);
    assert.equal(pool.sync.add(1, 1), 2);
    assert.deepEqual(
      await Promise.all(others),
      others.map((_, i) => i + 1),
    );
    assert.equal(await slow, 'slow');
    assert.equal(await pool.call.add(2, 2), 4);
  });

  it('leaves the host listening when it was asleep', async () => {
    await using pool = tasksPool({ lanes: 2 });
    await pool.ready();
    const asleep = pool.call.later('woken', 50);
    await sleep(10);
    assert.equal(pool.sync.add(1, 1), 2);
    assert.equal(await asleep, 'woken');
  });

  it('throws LANE_LOST when the lane ends', async () => {
    await using pool = tasksPool({ lanes: 1 });
    assert.throws(() => pool.sync.exit(3), code('LANE_LOST', /while it ran `exit`/));
    assert.equal(pool.sync.add(1, 1), 2, 'another lane takes its place, also while the host is blocked');
    assert.equal(await pool.call.add(1, 1), 2);
    assert.equal(pool.stats().running, 0);
  });

  it('throws DEADLINE when its time is up, and goes on with another lane', async () => {
    await using pool = tasksPool({ lanes: 1, graceMs: 10 });
    await pool.ready();
    assert.throws(() => pool.syncWith({ deadlineMs: 30 }).loopForever(), code('DEADLINE', /30 ms/));
    assert.equal(await pool.call.add(1, 1), 2);
  });

  it('throws LANE_START when no lane can be started', async () => {
    await using pool = createPool(fixture('no-such-file.ts'), { lanes: 1 });
    // Again, while the next start waits for its time, which no timer can tell a blocked thread.
    for (let i = 0; i < 3; i++) assert.throws(() => pool.sync.f(), code('LANE_START', /no-such-file/));
    await using exits = createPool(fixture('exits-at-load.mjs'), { lanes: 1 });
    assert.throws(() => exits.sync.f(), code('LANE_START', /exited|has ended/));
    await using slow = createPool(fixture('blocks-at-load.mjs'), { lanes: 1, startMs: 50 });
    assert.throws(() => slow.sync.f(), code('LANE_START', /startMs/));
  });

  it('can be made in a lane, to another pool', async () => {
    await using pool = tasksPool({ lanes: 1 });
    assert.equal(await pool.call.syncInLane(5), 6);
  });

  it('throws QUEUE_FULL and waits for nothing when the pool is full', async () => {
    await using pool = tasksPool({ lanes: 1, maxQueue: 0 });
    const busy = pool.call.later(1, 20);
    assert.throws(() => pool.sync.add(1, 1), code('QUEUE_FULL'));
    assert.equal(await busy, 1);
  });

  it('keeps the order of its key', async () => {
    await using pool = tasksPool({ lanes: 2 });
    const before = pool.with({ key: 'k' }).later('before', 20);
    let settled = false;
    void before.then(() => {
      settled = true;
    });
    assert.equal(pool.syncWith({ key: 'k' }).add(1, 1), 2);
    assert.equal(settled, false, 'its promise comes to it after this turn');
    assert.equal(await before, 'before');
  });
});

describe('a sync call inline', () => {
  it('says why it cannot wait', async () => {
    await using pool = tasksPool({ placement: 'inline' });
    assert.throws(() => pool.sync.add(1, 1), code('OPTION', /pool\.ready\(\)/));
    await pool.ready();
    assert.throws(() => pool.sync.later(1, 5), code('OPTION', /synchronous/));
    assert.equal(await pool.call.add(1, 1), 2);
  });
});
