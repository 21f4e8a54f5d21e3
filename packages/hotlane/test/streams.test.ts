import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createPool, type PoolOptions } from 'hotlane';
import { code, fixture, leavesNothingBehind, PLACEMENTS, until } from './support.ts';

leavesNothingBehind();

type Tasks = typeof import('./fixtures/talk-tasks.ts');
const open = (options: PoolOptions) => createPool<Tasks>(fixture('talk-tasks.ts'), options);
const collect = async <T>(items: AsyncIterable<T>) => {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
};
const upTo = (n: number) => Array.from({ length: n }, (_, i) => i);

for (const placement of PLACEMENTS) {
  describe(`a stream of results (${placement})`, () => {
    it('gives what generators yield, in order and in full, sync and async', async () => {
      await using pool = open({ placement, lanes: 1 });
      assert.deepEqual(await collect(pool.stream.count(5_000)), upTo(5_000));
      assert.deepEqual(await collect(pool.stream.countLater(5)), upTo(5));
      assert.deepEqual(await collect(pool.stream.count(0)), []);
    });

    it('gives the items of whatever can be iterated, also when it comes late', async () => {
      await using pool = open({ placement, lanes: 1 });
      const items = await collect(pool.stream.listLater(3));
      assert.deepEqual(items[2], { i: 2, text: 'item 2' });
    });

    it('refuses what cannot be iterated, and texts', async () => {
      await using pool = open({ placement, lanes: 1 });
      const stream = pool.stream as unknown as Record<string, () => AsyncIterable<unknown>>;
      await assert.rejects(collect(stream.notIterable()), code('NO_FUNCTION', /got 7.*pool\.call/));
      await assert.rejects(collect(stream.text()), code('NO_FUNCTION', /"letters"/));
      await assert.rejects(collect(stream.noSuch()), code('NO_FUNCTION', /noSuch/));
      await assert.rejects(pool.call.count(1), code('NOT_CLONEABLE', /pool\.stream/));
    });

    it('throws what the generator threw, after all items before it', async () => {
      await using pool = open({ placement, lanes: 1 });
      const seen: number[] = [];
      const read = async () => {
        for await (const n of pool.stream.count(100, 70)) seen.push(n);
      };
      await assert.rejects(
        read(),
        (error: Error) => error instanceof RangeError && error.message === 'no item 70',
      );
      assert.deepEqual(seen, upTo(70));
    });

    it('is made no faster than it is read: so many items are on the way, and no more', async () => {
      await using pool = open({ placement, lanes: 1, concurrency: 2 });
      const before = await pool.call.counts();
      const items = pool.streamWith({ window: 10 }).count(1_000);
      for (let i = 0; i < 3; i++) await items.next();
      await sleep(30);
      const made = (await pool.call.counts()).made - before.made;
      assert.ok(made >= 10 && made <= 3 + 10 + 1, `${made} made`);
      assert.equal((await collect(items)).length, 997);
    });

    it('keeps few large items on the way', async () => {
      await using pool = open({ placement, lanes: 1, concurrency: 2 });
      const before = await pool.call.counts();
      const items = pool.stream.blocks(1024 * 1024, 50);
      await items.next();
      await sleep(50);
      const made = (await pool.call.counts()).made - before.made;
      assert.ok(made <= 6, `${made} made`);
      const rest = await collect(items);
      assert.deepEqual(
        rest.map(block => block[1_000]),
        upTo(50).slice(1),
      );
      assert.ok(rest.every(block => block.length === 1024 * 1024));
    });

    it('lets the generator clean up when the loop is left, and waits for it', async () => {
      await using pool = open({ placement, lanes: 1, concurrency: 2 });
      const { cleanedUp } = await pool.call.counts();
      for await (const n of pool.stream.countLater(1_000)) if (n === 2) break;
      assert.equal((await pool.call.counts()).cleanedUp, cleanedUp + 1);
      for await (const n of pool.stream.count(100_000)) if (n === 2) break;
      assert.equal((await pool.call.counts()).cleanedUp, cleanedUp + 2);
      assert.equal(pool.stats().running, 0);
    });

    it('throws where the loop is left what the generator throws while it cleans up', async () => {
      await using pool = open({ placement, lanes: 1 });
      const read = async () => {
        for await (const _ of pool.stream.failsInFinally()) break;
      };
      await assert.rejects(
        read(),
        (error: Error) => error instanceof TypeError && error.message === 'cannot clean up',
      );
    });

    it('that is left before it began never runs', async () => {
      await using pool = open({ placement, lanes: 1 });
      const { made } = await pool.call.counts();
      const busy = pool.stream.countLater(20);
      const second = pool.stream.count(10);
      await second.return();
      await collect(busy);
      assert.deepEqual(await second.next(), { done: true, value: undefined });
      assert.equal((await pool.call.counts()).made, made + 20);
    });

    it('rejects with the reason of its signal, and the generator cleans up', async () => {
      await using pool = open({ placement, lanes: 1, concurrency: 2 });
      const { cleanedUp } = await pool.call.counts();
      const stop = new AbortController();
      const read = async () => {
        for await (const n of pool.streamWith({ signal: stop.signal }).countLater(10_000))
          if (n === 3) stop.abort('enough');
      };
      await assert.rejects(read(), e => e === 'enough');
      await until(async () => (await pool.call.counts()).cleanedUp === cleanedUp + 1);
      const late = pool.streamWith({ deadlineMs: 30 }).countLater(10_000);
      await assert.rejects(collect(late), code('DEADLINE'));
    });

    it('fails with an item that cannot be sent, after those before it, and the generator cleans up', async () => {
      await using pool = open({ placement, lanes: 1 });
      const { cleanedUp } = await pool.call.counts();
      const seen: unknown[] = [];
      const read = async () => {
        for await (const n of pool.stream.withFunctionAt(5)) seen.push(n);
      };
      await assert.rejects(read(), code('NOT_CLONEABLE'));
      assert.deepEqual(seen, upTo(5));
      assert.equal((await pool.call.counts()).cleanedUp, cleanedUp + 1);
    });

    it('fails with a value that could only move, and harms nobody else', async () => {
      await using pool = open({ placement, lanes: 1, concurrency: 3 });
      const beside = collect(pool.stream.countLater(20));
      const seen: unknown[] = [];
      const read = async () => {
        for await (const n of pool.stream.withPortAt(5)) seen.push(n);
      };
      await assert.rejects(read(), code('NOT_CLONEABLE'));
      assert.deepEqual(seen, upTo(5));
      assert.deepEqual(await beside, upTo(20));
    });

    it('keeps the context of its call, with many at once', async () => {
      await using pool = open({ placement, lanes: 1, concurrency: 4 });
      const all = await Promise.all(Array.from({ length: 4 }, () => collect(pool.stream.contexts())));
      assert.deepEqual(all, Array(4).fill([1, 1, 1]));
    });

    it('that nobody can read any more is given up', async () => {
      const pool = open({ placement, lanes: 1 });
      await (async () => void (await pool.stream.count(1_000_000).next()))();
      const closed = pool.close();
      let isClosed = false;
      void closed.then(() => {
        isClosed = true;
      });
      while (!isClosed) {
        await sleep(5);
        globalThis.gc!();
      }
    });

    it('ends when the pool is destroyed, with CLOSED', async () => {
      const pool = open({ placement, lanes: 1 });
      const items = pool.stream.countLater(10_000);
      await items.next();
      const gone = pool.destroy();
      await assert.rejects(collect(items), code('CLOSED'));
      await gone;
    });

    it('checks its options', async () => {
      await using pool = open({ placement, lanes: 1 });
      assert.throws(() => pool.streamWith({ window: 0 }), code('OPTION', /window/));
      assert.throws(() => pool.streamWith({ retries: 2 } as never), code('OPTION', /retries/));
    });
  });

  describe(`a stream among the arguments (${placement})`, () => {
    it('is read in the lane, be it a generator, a ReadableStream, a stream of Node or an object', async () => {
      await using pool = open({ placement, lanes: 1 });
      async function* numbers() {
        for (let i = 1; i <= 5_000; i++) yield i;
      }
      const total = (5_000 * 5_001) / 2;
      assert.equal(await pool.call.sum(numbers()), total);
      assert.equal(await pool.call.sum(ReadableStream.from(numbers())), total);
      assert.equal(await pool.call.sum(Readable.from(numbers()) as AsyncIterable<number>), total);
      assert.equal(await pool.call.sum({ [Symbol.asyncIterator]: numbers }), total);
      assert.deepEqual(await pool.call.first(1, ReadableStream.from([{ a: [1n] }])), [{ a: [1n] }]);
      assert.equal(await pool.call.isReadableStream(ReadableStream.from([1])), true);
    });

    it('is read no further than the lane asks, and closed when it asks no more', async () => {
      await using pool = open({ placement, lanes: 1 });
      let pulled = 0;
      let closed = 0;
      async function* source() {
        try {
          for (;;) yield pulled++;
        } finally {
          closed++;
        }
      }
      assert.deepEqual(await pool.call.first(3, source()), [0, 1, 2]);
      await until(() => closed === 1);
      assert.ok(pulled <= 3 + 1_024, `${pulled} pulled`);
    });

    it('is not read, and closed, when the function does not look at it or the call is refused', async () => {
      await using pool = open({ placement, lanes: 1 });
      const source = {
        returned: 0,
        next: () => assert.fail('read'),
        return: () => ({ done: ++source.returned > 0, value: 0 }),
      };
      const unread = () => ({ [Symbol.asyncIterator]: () => source as never });
      assert.equal(await pool.call.ignore(unread()), 'not read');
      assert.equal(source.returned, 1);
      await assert.rejects(pool.call.ignore([unread(), () => {}]), code('NOT_CLONEABLE'));
      assert.equal(source.returned, 2);
    });

    it('that fails throws in the lane what it threw', async () => {
      await using pool = open({ placement, lanes: 1 });
      async function* source() {
        yield 1;
        throw new RangeError('no more');
      }
      await assert.rejects(
        pool.call.sum(source()),
        (error: Error) => error instanceof RangeError && error.message === 'no more',
      );
    });

    it('can feed a stream of results', async () => {
      await using pool = open({ placement, lanes: 1 });
      async function* numbers() {
        yield* upTo(3_000);
      }
      assert.deepEqual(
        await collect(pool.stream.doubled(numbers())),
        upTo(3_000).map(n => 2 * n),
      );
    });

    it('is closed when the call is cancelled', async () => {
      await using pool = open({ placement, lanes: 1, graceMs: 20 });
      let closed = false;
      let read = 0;
      async function* source() {
        try {
          for (;;) {
            await sleep(1);
            read++;
            yield 1;
          }
        } finally {
          closed = true;
        }
      }
      const stop = new AbortController();
      const call = pool.with({ signal: stop.signal }).sum(source());
      await until(() => read > 3);
      stop.abort('stop');
      await assert.rejects(call, e => e === 'stop');
      await until(() => closed);
    });
  });
}

describe('a stream of results from a thread', () => {
  it('whose lane is lost ends with LANE_LOST, after the items that came', async () => {
    await using pool = open({ lanes: 1 });
    const seen: number[] = [];
    const read = async () => {
      for await (const n of pool.stream.exitsAt(10)) seen.push(n);
    };
    await assert.rejects(read(), code('LANE_LOST'));
    assert.deepEqual(seen, upTo(seen.length));
    assert.equal(await pool.call.add(1, 2), 3);
  });

  it('whose generator does not end when it is left loses its lane after graceMs', async () => {
    await using pool = open({ lanes: 1, graceMs: 30 });
    const read = async () => {
      for await (const _ of pool.stream.goesOn()) break;
    };
    await assert.rejects(read(), code('LANE_LOST', /30 ms/));
    assert.equal(await pool.call.add(1, 2), 3);
  });

  it('shows a synchronous generator that its call was cancelled', async () => {
    await using pool = open({ lanes: 1 });
    const stop = new AbortController();
    const items = pool.streamWith({ signal: stop.signal }).untilAborted();
    await items.next();
    stop.abort();
    await assert.rejects(collect(items), { name: 'AbortError' });
    await until(async () => (await pool.call.counts()).cleanedUp === 1);
  });
});
