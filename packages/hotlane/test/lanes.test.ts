import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createPool, type HotlaneError, isHotlaneError } from 'hotlane';
import { leavesNothingBehind, until } from './support.ts';

leavesNothingBehind();

const tasks = new URL('./fixtures/lane-tasks.ts', import.meta.url);
const hooks = new URL('./fixtures/hooks.mjs', import.meta.url);
const open = (options = {}) => createPool<typeof import('./fixtures/lane-tasks.ts')>(tasks, options);
const counters = () => new Int32Array(new SharedArrayBuffer(8));

for (const placement of ['thread', 'inline'] as const) {
  describe(`setup and teardown (${placement})`, () => {
    it('run once in each lane, before its first call and after its last, with the data', async () => {
      const counts = counters();
      const data = { name: 'db', counts };
      const pool = createPool(hooks, { placement, lanes: 2, setup: 'open', teardown: 'shut', data });
      data.name = 'changed afterwards';
      const shown = await pool.call.shown();
      assert.equal(shown.name, 'db');
      assert.ok(shown.laneId >= 1);
      await pool.ready();
      assert.equal(counts[0], 2);
      assert.equal(counts[1], 0);
      await pool.close();
      assert.deepEqual([...counts], [2, 2]);
    });

    it('teardown is run in lanes that are let go, not in those that are ended by force', async () => {
      const counts = counters();
      const lanes = { min: 0, max: 1, lingerMs: 10 };
      const pool = createPool(hooks, { placement, lanes, setup: 'open', teardown: 'shut', data: { counts } });
      await pool.call.shown();
      await until(() => counts[1] === 1);
      await pool.call.shown();
      await pool.destroy();
      assert.deepEqual([...counts], [2, 1]);
    });

    it('a setup that fails is told by the calls, with what it threw', async () => {
      await using pool = createPool(hooks, { placement, setup: 'open', data: { fail: true } });
      await assert.rejects(pool.call.shown(), (error: Error) => {
        assert.ok(isHotlaneError(error, 'LANE_START'));
        assert.match(error.message, /setup, `open`, failed: RangeError: no database/);
        assert.ok(error.cause instanceof RangeError);
        return true;
      });
      // Again, while the next start waits for its time.
      for (let i = 0; i < 3; i++) {
        await assert.rejects(pool.ready(), (error: Error) => isHotlaneError(error, 'LANE_START'));
      }
    });

    it('names that are not exported are found out at the start', async () => {
      for (const options of [{ setup: 'oppen' }, { teardown: 'oppen' }]) {
        await using pool = createPool(hooks, { placement, lanes: 1, ...options });
        await assert.rejects(pool.call.shown(), /Option `(setup|teardown)`: `oppen`.*It has .*open/);
      }
    });

    it('a teardown that fails or hangs is told to onError, and keeps nobody', async () => {
      for (const [data, expected] of [
        [{ failAtEnd: true }, /teardown, `shut`, failed: TypeError: lane 1 cannot close/],
        [{ hangAtEnd: true }, /did not leave within 50 ms/],
      ] as const) {
        const told: HotlaneError[] = [];
        const onError = (error: HotlaneError) => void told.push(error);
        const pool = createPool(hooks, { placement, lanes: 1, teardown: 'shut', data, graceMs: 50, onError });
        await pool.call.shown();
        await pool.close();
        await until(() => told.length > 0);
        assert.equal(told.length, 1);
        assert.match(told[0].message, expected);
      }
    });
  });

  describe(`ready (${placement})`, () => {
    it('starts a lane and resolves when one is up', async () => {
      await using pool = open({ placement });
      await pool.ready();
      assert.equal(pool.stats().lanes.filter(lane => lane.state === 'up').length, 1);
    });

    it('waits for room in the queue, and lets go one caller for each place', async () => {
      await using pool = open({ placement, lanes: 1, maxQueue: 1 });
      await pool.ready();
      let accepted = 0;
      const worker = async () => {
        for (let i = 0; i < 20; i++) {
          await pool.ready();
          const call = pool.call.add(i, 1); // not refused, although there are six of these and two places
          accepted++;
          assert.equal(await call, i + 1);
        }
      };
      await Promise.all(Array.from({ length: 6 }, worker));
      assert.equal(accepted, 120);
      assert.equal(pool.stats().failed, 0);
    });

    it('rejects with the reason of its signal, and with CLOSED when the pool closes', async () => {
      const pool = open({ placement, lanes: 1, maxQueue: 0 });
      const busy = pool.call.after(50);
      await assert.rejects(pool.ready({ signal: AbortSignal.abort('never mind') }), e => e === 'never mind');
      const stop = new AbortController();
      const waiting = pool.ready({ signal: stop.signal });
      stop.abort('enough');
      await assert.rejects(waiting, e => e === 'enough');
      const closed = assert.rejects(pool.ready(), (error: Error) => isHotlaneError(error, 'CLOSED'));
      await Promise.all([busy, closed, pool.close()]);
      await assert.rejects(pool.ready(), (error: Error) => isHotlaneError(error, 'CLOSED'));
    });
  });

  describe(`times (${placement})`, () => {
    it('tell how long calls waited and ran', async () => {
      await using pool = open({ placement, lanes: 1 });
      assert.equal(pool.stats().times, undefined);
      await Promise.all([pool.call.spin(20), pool.call.spin(20), pool.call.spin(20)]);
      const { wait, run } = pool.stats({ times: true }).times!;
      assert.ok(run.p50 >= 19 && run.max >= run.p99 && run.p99 >= run.p50, JSON.stringify(run));
      assert.ok(wait.max >= 38, `the third waited for two: ${JSON.stringify(wait)}`);
    });
  });
}

describe('recycling', () => {
  it('replaces lanes after so many calls, and no call notices', async () => {
    await using pool = open({ lanes: 2, recycle: { afterCalls: 50 } });
    const seen = new Set<number>();
    let made = 0;
    const caller = async () => {
      while (seen.size < 6) {
        seen.add(await pool.call.lane());
        if (++made % 100 === 0) await new Promise(resolve => setTimeout(resolve, 1));
      }
    };
    await Promise.all(Array.from({ length: 8 }, caller));
    assert.equal(pool.stats().failed, 0);
    assert.ok(pool.stats().lanes.filter(lane => lane.state === 'up').length >= 2);
  });

  it('replaces a lane whose heap has grown', async () => {
    await using pool = open({ lanes: 1, recycle: { heapBytes: 60 * 1024 * 1024 } });
    const first = await pool.call.lane();
    await pool.call.hoard(80 * 1024 * 1024);
    await until(async () => (await pool.call.lane()) !== first);
    assert.equal(pool.stats().failed, 0);
    const fresh = await pool.call.lane();
    for (let i = 0; i < 300; i++) await pool.call.lane();
    assert.equal(await pool.call.lane(), fresh, 'one with a small heap stays');
  });

  it('replaces a lane by age and after idleness', async () => {
    for (const recycle of [{ afterMs: 50 }, { idleMs: 50 }]) {
      await using pool = open({ lanes: 1, recycle });
      const first = await pool.call.lane();
      await until(() => pool.stats().lanes.every(lane => lane.id > first && lane.state === 'up'));
      assert.ok((await pool.call.lane()) > first);
    }
  });
});

describe('the budget of busy threads', () => {
  it('lets pools in lanes of pools finish, however many: each may always have one lane', async () => {
    await using pool = open({ lanes: { min: 0, max: 3 } });
    const results = await Promise.all(Array.from({ length: 6 }, (_, i) => pool.call.nested(i, 2)));
    assert.deepEqual(results, [2, 3, 4, 5, 6, 7]);
  });

  it('keeps a second pool at one lane while the first is busy, unless it is turned off', async () => {
    const cores = (await import('node:os')).availableParallelism();
    const stop = new Int32Array(new SharedArrayBuffer(4));
    await using busy = open({ lanes: cores });
    await busy.ready();
    const spinning = Array.from({ length: cores }, () => busy.call.spinUntil(stop));
    await until(() => busy.stats().running === cores);
    await using modest = open({ lanes: { min: 0, max: cores } });
    await using proud = open({ lanes: { min: 0, max: cores }, budget: false });
    try {
      const calls = [modest, proud].flatMap(pool =>
        Array.from({ length: 100 * cores }, () => pool.call.spin(5)),
      );
      await Promise.all(calls);
      assert.equal(modest.stats().lanes.length, 1);
      assert.equal(proud.stats().lanes.length, cores);
    } finally {
      Atomics.store(stop, 0, 1);
    }
    await Promise.all(spinning);
    // Lanes that are up and sleep are not busy.
    await until(async () => {
      await Promise.all(Array.from({ length: 100 * cores }, () => modest.call.spin(5)));
      return modest.stats().lanes.length === cores;
    });
  });
});
