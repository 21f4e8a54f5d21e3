import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { callback, createPool, type PoolOptions } from 'hotlane';
import { code, fixture, leavesNothingBehind, PLACEMENTS, until } from './support.ts';

leavesNothingBehind();

type Tasks = typeof import('./fixtures/talk-tasks.ts');
const open = (options: PoolOptions) => createPool<Tasks>(fixture('talk-tasks.ts'), options);

/** Collects garbage until an object is gone. */
async function untilCollected(ref: WeakRef<object>): Promise<void> {
  await until(async () => {
    await sleep(2);
    globalThis.gc!();
    return ref.deref() === undefined;
  });
}

for (const placement of PLACEMENTS) {
  describe(`a callback (${placement})`, () => {
    it('is called by the lane, which gets what it returns, or a promise of it', async () => {
      await using pool = open({ placement, lanes: 1 });
      assert.equal(
        await pool.call.call(
          callback((a: number, b: number) => a + b),
          2,
          3,
        ),
        5,
      );
      const later = callback(async (map: Map<string, number>) => {
        await sleep(1);
        return { found: map.get('x'), at: new Date(0) };
      });
      assert.deepEqual(await pool.call.call(later, new Map([['x', 1]])), { found: 1, at: new Date(0) });
    });

    it('throws in the lane what it throws here, with its class', async () => {
      await using pool = open({ placement, lanes: 1 });
      const fails = callback(() => {
        throw new RangeError('not here');
      });
      await assert.rejects(
        pool.call.call(fails),
        (error: Error) => error instanceof RangeError && error.message === 'not here',
      );
      const unsendable = callback(() => () => {});
      await assert.rejects(pool.call.call(unsendable), code('NOT_CLONEABLE'));
    });

    it('that gives a value which could only move rejects in the lane, and the others go on', async () => {
      await using pool = open({ placement, lanes: 1 });
      const { port1, port2 } = new MessageChannel();
      const answers = await pool.call.askTwice(callback(n => (n === 2 ? port1 : n)));
      assert.deepEqual(answers, { first: 'fulfilled', second: 'rejected' });
      assert.equal(await pool.call.add(1, 2), 3);
      port1.close();
      port2.close();
    });

    it('may block the host with a call of the same pool', async () => {
      await using pool = open({ placement: 'thread', lanes: 2 });
      assert.equal(
        await pool.call.call(
          callback((n: number) => pool.sync.add(n, 1)),
          41,
        ),
        42,
      );
    });

    it('may lie anywhere in the arguments, and is one function in the lane however often it is there', async () => {
      await using pool = open({ placement, lanes: 1 });
      const onStep = callback(async (step: number) => `step ${step}`);
      assert.deepEqual(await pool.call.nestedOption({ onStep, steps: 3 }), ['step 0', 'step 1', 'step 2']);
    });

    it('that is one-way is called in order, each time before the call settles', async () => {
      await using pool = open({ placement, lanes: 1 });
      const seen: number[] = [];
      const onProgress = callback((done: number) => void seen.push(done), { oneWay: true });
      assert.equal(await pool.call.report(onProgress, 1_000), 1_000);
      assert.deepEqual(
        seen,
        Array.from({ length: 1_000 }, (_, i) => i + 1),
      );
    });

    it('ends with its call, for the lane and for the host', async () => {
      await using pool = open({ placement, lanes: 1 });
      const fn = () => 1;
      await pool.call.keep(callback(fn));
      await assert.rejects(pool.call.callKept(), code('CLOSED', /keep: true/));
    });

    it('holds on to nothing once its call has settled', async () => {
      await using pool = open({ placement, lanes: 1 });
      const held = await (async () => {
        const big = { fn: () => 1 };
        await pool.call.keep(callback(() => big.fn()));
        return new WeakRef(big);
      })();
      await untilCollected(held);
    });

    it('that is kept goes on, is the same function each time, and is released when the lane lets go of it', async () => {
      await using pool = open({ placement, lanes: 1 });
      const held = await (async () => {
        const big = { calls: 0 };
        const kept = callback(
          (by: number) => {
            big.calls += by;
            return big.calls;
          },
          { keep: true },
        );
        await pool.call.keep(kept);
        assert.equal(await pool.call.callKept(2), 2);
        assert.equal(await pool.call.isSame(kept), true);
        assert.equal(await pool.call.callKept(3), 5);
        return new WeakRef(big);
      })();
      globalThis.gc!();
      assert.equal(await pool.call.callKept(1), 6, 'the lane alone holds it now');
      await until(async () => {
        await pool.call.forget();
        await sleep(2);
        globalThis.gc!();
        return held.deref() === undefined;
      });
    });

    it('that is kept can be released, and is when the pool ends', async () => {
      const pool = open({ placement, lanes: 1 });
      const kept = callback(() => 1, { keep: true });
      await pool.call.keep(kept);
      kept.release();
      kept.release();
      await assert.rejects(pool.call.callKept(), code('CLOSED', /released/));
      const held = await (async () => {
        const big = { two: 2 };
        await pool.call.keep(callback(() => big.two, { keep: true }));
        return new WeakRef(big);
      })();
      await pool.close();
      await untilCollected(held);
    });

    it('does here what the function does', () => {
      const add = callback((a: number, b: number) => a + b);
      assert.equal(add(1, 2), 3);
    });

    it('is no result, and no plain function is an argument', async () => {
      await using pool = open({ placement, lanes: 1 });
      const call = pool.call as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>;
      await assert.rejects(
        call.keep(() => 1),
        code('NOT_CLONEABLE', /callback\(fn\)/),
      );
      await assert.rejects(call.call(callback(() => callback(() => 1))), code('NOT_CLONEABLE'));
    });

    it('of a cancelled call rejects in the lane, so that the function may end', async () => {
      await using pool = open({ placement, lanes: 1, graceMs: 5_000 });
      const stop = new AbortController();
      const call = pool.with({ signal: stop.signal }).call(
        callback(() => {
          stop.abort('enough');
          return sleep(1);
        }),
      );
      await assert.rejects(call, e => e === 'enough');
      await until(() => pool.stats().running === 0);
    });

    it('checks what it is made of', () => {
      assert.throws(() => callback(1 as never), code('OPTION', /expected a function, got 1/));
      assert.throws(() => callback(() => {}, { once: true } as never), code('OPTION', /`once`/));
      assert.throws(() => callback(() => {}, { keep: 1 } as never), code('OPTION', /`keep`.*got 1/));
    });
  });
}

describe('a callback to a thread', () => {
  it('is released when the lane is lost', async () => {
    await using pool = open({ lanes: 1, graceMs: 1 });
    const held = await (async () => {
      const big = { one: 1 };
      await pool.call.keep(callback(() => big.one, { keep: true }));
      return new WeakRef(big);
    })();
    const stop = new AbortController();
    const call = pool.with({ signal: stop.signal }).forever(callback(() => stop.abort('out')));
    await assert.rejects(call, e => e === 'out');
    await untilCollected(held);
    assert.equal(await pool.call.add(1, 1), 2);
  });

  it('that is one-way and throws is an uncaught exception here, and harms no call', async () => {
    await using pool = open({ lanes: 1 });
    const caught = new Promise(resolve => process.once('uncaughtException', resolve));
    const before = process.rawListeners('uncaughtException').slice(0, -1) as (() => void)[];
    for (const listener of before) process.off('uncaughtException', listener);
    const fails = callback(
      () => {
        throw new RangeError('in a listener');
      },
      { oneWay: true },
    );
    assert.equal(await pool.call.report(fails, 1), 1);
    assert.equal(((await caught) as Error).message, 'in a listener');
    for (const listener of before) process.on('uncaughtException', listener);
  });
});
