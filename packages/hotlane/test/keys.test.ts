import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Call } from '../src/lane/call.ts';
import type { Lane } from '../src/lane/lane.ts';
import type { Key } from '../src/options.ts';
import { Keys, MOST_IDLE_KEYS } from '../src/schedule/keys.ts';
import { code, counters, leavesNothingBehind, PLACEMENTS, tasksPool, until } from './support.ts';

leavesNothingBehind();

for (const placement of PLACEMENTS) {
  describe(`calls with a key, ${placement}`, () => {
    it('stay on the lane that ran the first, also when nothing was in flight between', async () => {
      await using pool = tasksPool({ placement, lanes: 3 });
      for (const key of ['a', 1, 2n] as Key[]) {
        const call = pool.with({ key });
        const lane = await call.laneId();
        for (let i = 0; i < 20; i++) {
          // Others would take that lane's place, were it not kept.
          const others = [pool.call.add(1, 1), pool.call.add(1, 1)];
          assert.equal(await call.laneId(), lane);
          await Promise.all(others);
        }
      }
    });

    it('that are cancelled while they wait for another of their key never run; those behind them do', async () => {
      await using pool = tasksPool({ placement, lanes: 2 });
      const shared = counters();
      const call = pool.with({ key: 'k' });
      const first = call.markAndWait(shared, 0, 1);
      await until(() => Atomics.load(shared, 0) === 1);
      const stop = new AbortController();
      const cancelled = assert.rejects(
        pool.with({ key: 'k', signal: stop.signal }).mark(shared, 2),
        reason => reason === 'no need',
      );
      const late = assert.rejects(pool.with({ key: 'k', deadlineMs: 10 }).mark(shared, 2), code('DEADLINE'));
      const last = call.mark(shared, 3);
      assert.equal(await pool.call.add(1, 1), 2, 'calls without a key pass them by');
      stop.abort('no need');
      await Promise.all([cancelled, late]);
      Atomics.store(shared, 1, 1);
      await Promise.all([first, last]);
      assert.equal(Atomics.load(shared, 2), 0);
    });

    it('do not starve calls without one, nor are they starved by them', async () => {
      await using pool = tasksPool({ placement, lanes: 1 });
      let running = true;
      const flood = async (call: { add(a: number, b: number): Promise<number> }) => {
        let count = 0;
        for (; running; count++) await Promise.all([call.add(1, 1), call.add(1, 1)]);
        return count;
      };
      const floods = [flood(pool.call), flood(pool.with({ key: 'a' })), flood(pool.with({ key: 'b' }))];
      for (let i = 0; i < 50; i++) {
        await pool.call.add(1, 1);
        await pool.with({ key: 'c' }).add(1, 1);
      }
      running = false;
      for (const count of await Promise.all(floods)) assert.ok(count > 10, `${count}`);
    });
  });
}

describe('the lanes of keys', () => {
  it('change when they are lost; the order is kept, and what had begun is not run again', async () => {
    await using pool = tasksPool({ lanes: 2 });
    const call = pool.with({ key: 'k' });
    const before = await call.laneId();
    const lost = assert.rejects(call.exit(1), code('LANE_LOST'));
    const after = await Promise.all(Array.from({ length: 5 }, () => call.laneId()));
    await lost;
    assert.equal(new Set(after).size, 1);
    assert.notEqual(after[0], before);
  });

  it('keep an idempotent call that runs again before those behind it', async () => {
    await using pool = tasksPool({ lanes: 2 });
    const shared = counters();
    const order: string[] = [];
    const again = pool.with({ key: 'k', idempotent: true }).exitUntil(shared, 0, 3);
    const behind = pool.with({ key: 'k' }).add(1, 1);
    await Promise.all([again.then(() => order.push('again')), behind.then(() => order.push('behind'))]);
    assert.deepEqual(order, ['again', 'behind']);
  });

  it('are not started for calls that only wait for another of their key', async () => {
    await using pool = tasksPool({ lanes: { max: 4 } });
    await Promise.all(Array.from({ length: 50 }, () => pool.with({ key: 'only' }).later('x', 1)));
    assert.equal(pool.stats().lanes.length, 1);
  });

  it('are forgotten, the longest idle first, past so many idle keys', () => {
    const keys = new Keys();
    const lane = { id: 7, state: 'up' } as Lane;
    const once = (key: number): Lane | null => {
      const call = new Call(0);
      call.key = key;
      assert.ok(keys.admit(call));
      keys.onFinished(call, lane);
      return call.lane;
    };
    for (let key = 0; key < MOST_IDLE_KEYS; key++) once(key);
    assert.equal(once(0), lane, 'known, and now the last one used');
    once(-1);
    assert.equal(once(0), lane);
    assert.equal(once(1), null, 'forgotten');
  });

  it('cannot be had with keys that have no order or identity of their own', () => {
    const pool = tasksPool();
    for (const key of [null, {}, true, Symbol('x'), () => {}]) {
      assert.throws(
        () => pool.with({ key: key as never }),
        code('OPTION', /`key`: expected a string, a number/),
      );
    }
  });
});
