import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { inspect } from 'node:util';
import { MessageChannel } from 'node:worker_threads';
import { code, counters, leavesNothingBehind, PLACEMENTS, tasksPool, until } from './support.ts';

leavesNothingBehind();

for (const placement of PLACEMENTS) {
  describe(`calls, ${placement}`, () => {
    it('pass on what a getter among the arguments throws, and survive calls made inside one', async () => {
      await using pool = tasksPool({ placement });
      const broken = {
        get x() {
          throw new RangeError('getter');
        },
      };
      await assert.rejects(pool.call.echo(broken), RangeError);
      let inner: Promise<number> | undefined;
      const nested = {
        before: 'x'.repeat(100),
        get sum() {
          inner = pool.call.add(20, 22);
          return 'outer';
        },
        after: [1, 2, 3],
      };
      assert.deepEqual(await pool.call.echo(nested), {
        before: nested.before,
        sum: 'outer',
        after: [1, 2, 3],
      });
      assert.equal(await inner, 42);
    });

    it('make `call` an object that async functions can return', async () => {
      await using pool = tasksPool({ placement });
      const call = await (async () => pool.call)();
      assert.equal(call, pool.call);
      assert.equal((pool.call as any).then, undefined);
      assert.equal((pool.call as any)[Symbol.iterator], undefined);
      await call.add(1, 1);
      assert.ok(Object.hasOwn(pool.call, 'add'), 'a function is an own property after its first use');
    });

    it('carry a MessagePort, which works on the other side', async () => {
      await using pool = tasksPool({ placement });
      const { port1, port2 } = new MessageChannel();
      const sum = pool.with({ transfer: [port2] }).addThroughPort(port2);
      await new Promise(resolve => port1.once('message', resolve));
      port1.postMessage(41);
      assert.equal(await sum, 42);
      port1.close();
    });

    it('carry large results of every kind: texts, views with offsets, several in one value', async () => {
      await using pool = tasksPool({ placement, lanes: 1 });
      const floats = Float64Array.from({ length: 40_000 }, (_, i) => i / 3);
      const value = {
        text: 'é'.repeat(70_000),
        wide: 'ж'.repeat(70_000),
        floats: floats.subarray(5, 30_000),
        view: new DataView(new Uint8Array(200_000).fill(3).buffer, 8, 150_000),
        buffer: Buffer.alloc(300_000, 'ab'),
        small: new Uint8Array([1, 2, 3]),
        map: new Map([
          ['same', floats],
          ['again', floats],
        ]),
      };
      for (let round = 0; round < 30; round++) {
        const results = await Promise.all([
          pool.call.echo(value),
          pool.call.echo(value.text),
          pool.call.add(1, 1),
        ]);
        assert.deepEqual(results, [value, value.text, 2]);
        const back = results[0] as typeof value;
        assert.equal(back.map.get('same'), back.map.get('again'));
        assert.ok(Buffer.isBuffer(back.buffer) && back.floats.buffer.byteLength === 29_995 * 8);
      }
      const error = await pool.call.throwWith('data', new Uint8Array(200_000).fill(9)).catch(e => e);
      assert.equal((error as { data: Uint8Array }).data[199_999], 9);
    });

    it('carry values of any size both ways at once', async () => {
      await using pool = tasksPool({ placement, lanes: 2 });
      const sizes = [0, 1, 100, 16_000, 16_384, 70_000, 1 << 20, 5_000_000, 40_000_000];
      const results = await Promise.all(
        sizes.flatMap(size =>
          [0, 1].map(async salt => {
            const value = new Uint8Array(size).fill(salt + 1);
            const result = (await pool.call.echo(value)) as Uint8Array;
            return (
              result.length === size &&
              (size === 0 || (result[0] === salt + 1 && result[size - 1] === salt + 1))
            );
          }),
        ),
      );
      assert.ok(results.every(Boolean));
    });

    it('give the function its own context, also when several run at once', async () => {
      await using pool = tasksPool({ placement, lanes: 1, concurrency: 2 });
      assert.equal(await pool.call.laneId(), 1);
      const stop = new AbortController();
      const watched = pool.with({ signal: stop.signal }).untilSignal();
      const other = pool.call.later('other', 20);
      await until(() => pool.stats().running === 2);
      stop.abort(new Error('enough'));
      await assert.rejects(watched, /enough/);
      assert.equal(await other, 'other');
    });
  });

  describe(`calls whose arguments run code, ${placement}`, () => {
    const endings = ['close', 'destroy'] as const;
    for (const end of endings) {
      it(`are refused when a getter calls ${end}()`, async () => {
        const pool = tasksPool({ placement, lanes: 1 });
        await pool.call.add(1, 1);
        const hostile = {
          get x() {
            void pool[end]();
            return 1;
          },
        };
        await assert.rejects(pool.call.echo(hostile), code('CLOSED'));
        await pool[end]();
      });
    }

    it('are refused when a getter fires their signal, or fills the queue', async () => {
      await using pool = tasksPool({ placement, lanes: 1, maxQueue: 0 });
      const stop = new AbortController();
      const firing = {
        get x() {
          stop.abort('in a getter');
          return 1;
        },
      };
      const fired = pool.with({ signal: stop.signal }).echo(firing);
      await assert.rejects(fired, reason => reason === 'in a getter');
      let inner: Promise<unknown> | undefined;
      const filling = {
        get x() {
          inner = pool.call.later('inner', 1);
          return 1;
        },
      };
      await assert.rejects(pool.call.echo(filling), code('QUEUE_FULL'));
      assert.equal(await inner, 'inner');
      assert.equal(await pool.call.add(1, 1), 2);
    });
  });

  describe(`answers, ${placement}`, () => {
    it('come once, although a promise answers twice', async () => {
      await using pool = tasksPool({ placement, lanes: 1 });
      for (let i = 0; i < 5; i++) {
        assert.equal(await pool.call.answerTwice(), 'first');
        assert.equal(await pool.call.later(i, 10), i);
      }
    });
  });

  describe(`broadcast, ${placement}`, () => {
    it('waits for lanes that are starting', async () => {
      await using pool = tasksPool({ placement, lanes: 2 });
      assert.deepEqual([...(await pool.broadcast.laneId())].sort(), [1, 2]);
    });

    it('rejects on a closed pool', async () => {
      const pool = tasksPool({ placement, lanes: 1 });
      await pool.close();
      await assert.rejects(pool.broadcast.laneId(), code('CLOSED'));
    });

    it('reaches no lane when there is none', async () => {
      await using pool = tasksPool({ placement });
      assert.deepEqual(await pool.broadcast.laneId(), []);
    });

    it('comes in any number, and none is lost', async () => {
      await using pool = tasksPool({ placement, lanes: 2 });
      await until(() => pool.stats().lanes.every(lane => lane.state === 'up'));
      const all = await Promise.all(Array.from({ length: 500 }, (_, i) => pool.broadcast.add(i, 1)));
      assert.deepEqual(
        all,
        Array.from({ length: 500 }, (_, i) => [i + 1, i + 1]),
      );
    });
  });

  describe(`stats, ${placement}`, () => {});
}

describe('function names', () => {
  it('are numbered when called, not when looked at', async () => {
    await using pool = tasksPool({ lanes: 1 });
    for (let i = 0; i < 100_000; i++) void (pool.call as any)[`looked-at-${i}`];
    assert.equal(await pool.call.add(1, 1), 2);
  });

  it('past their limit reject with TOO_LARGE; known ones go on', async () => {
    await using pool = tasksPool({ lanes: 1 });
    await pool.call.add(1, 1);
    let full = 0;
    for (let i = 0; i < 100 && full === 0; i++) {
      await (pool.call as any)[`${i}`.padEnd(4_000, 'x')]().catch((error: { code: string }) => {
        if (error.code === 'ERR_HOTLANE_TOO_LARGE') full++;
        else assert.equal(error.code, 'ERR_HOTLANE_NO_FUNCTION');
      });
    }
    assert.equal(full, 1);
    assert.equal(await pool.call.add(1, 1), 2);
  });
});

describe('what looks at a pool', () => {
  it('makes no calls: logging, JSON, template literals', async () => {
    await using pool = tasksPool({ lanes: 1 });
    JSON.stringify({ pool, call: pool.call });
    assert.throws(() => `${pool.call}`, TypeError);
    inspect(pool, { depth: 5 });
    await pool.call.add(1, 1);
    assert.deepEqual([pool.stats().done, pool.stats().failed], [1, 0]);
  });
});

describe('several inline pools in one thread', () => {
  it('each keep the context of their calls', async () => {
    await using first = tasksPool({ placement: 'inline', lanes: 1 });
    await first.call.add(1, 1);
    await using second = tasksPool({ placement: 'inline', lanes: 1 });
    await second.call.add(1, 1);
    for (const pool of [first, second, first]) {
      assert.deepEqual(await pool.call.contextSays(), { laneId: 1, aborted: false });
    }
  });
});

describe('a burst', () => {
  it('is begun while the host goes on: its first call does not wait for the end of the host’s code', async () => {
    await using pool = tasksPool({ lanes: 1 });
    const shared = counters();
    await pool.call.keep(shared);
    const call = pool.call.markKept(0);
    const end = performance.now() + 10_000;
    while (Atomics.load(shared, 0) === 0 && performance.now() < end); // nothing of the host's loop turns
    assert.equal(Atomics.load(shared, 0), 1);
    await call;
  });
});

describe('a lane that waits for something in one call', () => {
  it('is not preferred to one that is quite free', async () => {
    await using pool = tasksPool({ lanes: 2, concurrency: 2 });
    const wide = new Int32Array(new SharedArrayBuffer(1024));
    await pool.broadcast.keep(wide);
    for (let round = 0; round < 20; round++) {
      const [begun, gate, seen] = [3 * round, 3 * round + 1, 3 * round + 2];
      const blocked = pool.call.awaitThenBlockKept(begun, gate);
      await until(() => Atomics.load(wide, begun) === 1);
      // Its thread is blocked now, though its sign says that it sleeps.
      const other = pool.call.markKept(seen);
      const end = performance.now() + 10_000;
      while (Atomics.load(wide, seen) === 0 && performance.now() < end) await null;
      assert.equal(Atomics.load(wide, seen), 1, `round ${round}`);
      Atomics.store(wide, gate, 1);
      Atomics.notify(wide, gate);
      await Promise.all([blocked, other]);
    }
  });
});

it('can be made through a proxy around what `with` returns, and through what inherits from it', async () => {
  await using pool = tasksPool({ lanes: 1 });
  const calls = pool.with({ deadlineMs: 60_000 });
  assert.equal(await new Proxy(calls, {}).add(1, 2), 3);
  assert.equal(await (Object.create(calls) as typeof calls).add(1, 2), 3);
});
