import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { code, counters, leavesNothingBehind, PLACEMENTS, tasksPool, until } from './support.ts';

leavesNothingBehind();

/** Words of the shared memory: the blocking call has begun; it may go on; how many have run since; and the same for urgent ones. */
const [BEGUN, GATE, RUNS, URGENT, SECOND_GATE] = [0, 1, 2, 3, 4];

/** One lane that is held up by a call until `open` is called; `turn` of a call is how many ran before it. */
async function heldUp(t: TestContext, placement: 'thread' | 'inline') {
  const pool = tasksPool({ placement, lanes: 1 });
  t.after(() => pool.destroy());
  const shared = counters();
  await Promise.all(Array.from({ length: 200 }, () => pool.call.add(1, 1))); // now calls are known to be short
  const hold = async () => {
    for (const word of [BEGUN, GATE, RUNS]) Atomics.store(shared, word, 0);
    const held = pool.call.markAndWait(shared, BEGUN, GATE);
    await until(() => Atomics.load(shared, BEGUN) === 1);
    return async () => {
      Atomics.store(shared, GATE, 1);
      await held;
    };
  };
  const turn = (priority = 0, key?: string) => pool.with({ priority, key }).mark(shared, RUNS);
  return { pool, shared, hold, turn };
}

for (const placement of PLACEMENTS) {
  describe(`priorities, ${placement}`, () => {
    it('put an urgent call before a hundred that wait or are published, each time anew', async t => {
      const { hold, turn } = await heldUp(t, placement);
      for (let round = 0; round < 5; round++) {
        const open = await hold();
        const usual = Array.from({ length: 100 }, () => turn());
        await null; // they are shown
        const urgent = turn(10);
        await open();
        assert.equal(await urgent, 0);
        assert.deepEqual(
          await Promise.all(usual),
          usual.map((_, i) => i + 1),
          'the others keep their order',
        );
      }
    });

    it('order calls of many priorities, and leave equals in the order in which they were made', async t => {
      const { hold, turn } = await heldUp(t, placement);
      const open = await hold();
      // Steps of a hundred: a hundred seconds, which no machine is too slow for.
      const priorities = [0, 500, -300, 0, 900, 500, -300, 0, 500, 900];
      const turns = priorities.map(priority => turn(priority));
      await open();
      assert.deepEqual(await Promise.all(turns), [5, 2, 8, 6, 0, 3, 9, 7, 4, 1]);
    });

    it('put burst after burst of urgent calls first, each burst in its order', async t => {
      const { hold, turn } = await heldUp(t, placement);
      const open = await hold();
      const turns: Promise<number>[] = [];
      const expected: number[] = [];
      for (let i = 0; i < 300; i++) {
        turns.push(turn(i % 3 === 0 ? 100 : 0));
        expected.push(i % 3 === 0 ? i / 3 : 100 + i - Math.ceil((i + 1) / 3));
        if (i % 7 === 0) await new Promise(resolve => setImmediate(resolve));
      }
      await open();
      assert.deepEqual(await Promise.all(turns), expected);
    });

    it('do not keep an urgent call from being cancelled while it waits', async t => {
      const { pool, shared, hold, turn } = await heldUp(t, placement);
      const open = await hold();
      const usual = [turn(), turn()];
      const stop = new AbortController();
      const cancelled = Array.from({ length: 10 }, () =>
        assert.rejects(
          pool.with({ priority: 9, signal: stop.signal }).mark(shared, RUNS),
          reason => reason === 'no need',
        ),
      );
      stop.abort('no need');
      await Promise.all(cancelled);
      await open();
      assert.deepEqual(await Promise.all(usual), [0, 1]);
    });

    it('leave calls of one key in their order; the first goes by its own', async t => {
      const { hold, turn } = await heldUp(t, placement);
      const open = await hold();
      const late = [turn(0, 'late'), turn(1_000, 'late')];
      const usual = [turn(), turn()];
      const early = [turn(100, 'early'), turn(0, 'early')];
      await open();
      assert.equal(await early[0], 0);
      const [first, second] = await Promise.all(late);
      assert.ok(first < second, `${first}, ${second}`);
      assert.ok((await early[1]) > 0);
      await Promise.all(usual);
    });

    it('put an urgent call of a key before calls of other keys that wait for the same lane', async t => {
      const { hold, turn } = await heldUp(t, placement);
      const keys = Array.from({ length: 20 }, (_, i) => `key ${i}`);
      await Promise.all(keys.map(key => turn(0, key))); // they have their lane
      const open = await hold();
      const usual = keys.slice(1).map(key => turn(0, key));
      await null;
      const urgent = turn(100, keys[0]);
      await open();
      assert.equal(await urgent, 0);
      assert.deepEqual(
        await Promise.all(usual),
        usual.map((_, i) => i + 1),
      );
    });
  });
}

describe('priorities', () => {
  it('put an urgent call before others that all lanes have published, whatever they run', async () => {
    await using pool = tasksPool({ lanes: 3 });
    const shared = counters();
    await until(() => pool.stats().lanes.every(lane => lane.state === 'up'));
    const held = [0, 0, 0].map(() => pool.call.markAndWait(shared, BEGUN, GATE));
    await until(() => Atomics.load(shared, BEGUN) === 3);
    const usual = Array.from({ length: 50 }, () => pool.call.mark(shared, RUNS));
    await null;
    const urgent = [1, 2, 3].map(() => pool.with({ priority: 10 }).markAndWait(shared, URGENT, SECOND_GATE));
    Atomics.store(shared, GATE, 1);
    // Each lane takes an urgent call first, and is held by it.
    await until(() => Atomics.load(shared, URGENT) === 3);
    assert.equal(Atomics.load(shared, RUNS), 0);
    Atomics.store(shared, SECOND_GATE, 1);
    await Promise.all([...usual, ...urgent, ...held]);
    assert.equal(Atomics.load(shared, RUNS), 50);
  });

  it('are whole numbers from -1000 to 1000', () => {
    const pool = tasksPool();
    for (const priority of [1.5, 1_001, -1_001, Number.NaN, '1', null, Number.POSITIVE_INFINITY]) {
      assert.throws(
        () => pool.with({ priority: priority as never }),
        code('OPTION', /`priority`: expected a whole number from -1000 to 1000, got /),
      );
    }
  });
});
