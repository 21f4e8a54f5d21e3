import assert from 'node:assert/strict';
import { AsyncLocalStorage } from 'node:async_hooks';
import { describe, it } from 'node:test';
import { MessageChannel } from 'node:worker_threads';
import { callback, createPool, type PoolOptions, registerStorage } from 'hotlane';
import { request, tenant, unregistered } from './fixtures/storages.ts';
import { code, counters, fixture, leavesNothingBehind, PLACEMENTS, until } from './support.ts';

leavesNothingBehind();

type Tasks = typeof import('./fixtures/carry-tasks.ts');
const carryPool = (options: PoolOptions) => createPool<Tasks>(fixture('carry-tasks.ts'), options);

for (const placement of PLACEMENTS) {
  describe(`stores that travel with calls, ${placement}`, () => {
    it('are seen by the function, as clones of what they were when the call was made', async () => {
      await using pool = carryPool({ placement, carry: [request, tenant] });
      const store = { id: 'a', at: new Date(0), tags: new Set([1]) };
      const call = request.run(store, () => tenant.run('acme', () => pool.call.stores()));
      store.id = 'later';
      assert.deepEqual(await call, [{ id: 'a', at: new Date(0), tags: new Set([1]) }, 'acme', undefined]);
      await request.run(store, () => pool.call.change());
      assert.equal(store.id, 'later', 'what a lane does to its clone is not seen here');
    });

    it('are those of each caller after awaits too, with many calls at once in one lane', async () => {
      await using pool = carryPool({ placement, carry: [request], lanes: 1, concurrency: 8 });
      const calls = Array.from({ length: 40 }, (_, i) => request.run(i, () => pool.call.storesLater(i % 5)));
      for (const [i, seen] of (await Promise.all(calls)).entries()) {
        assert.deepEqual(seen, [i, undefined, undefined, i, undefined, undefined]);
      }
    });

    it('are not seen by calls made outside of them, also by those that waited behind others', async () => {
      await using pool = carryPool({ placement, carry: [request], lanes: 1 });
      const before = request.run('theirs', () => pool.call.storesLater(5));
      const outside = pool.call.stores();
      const inside = request.run(null, () => pool.call.stores());
      assert.equal((await before)[3], 'theirs');
      assert.deepEqual(await outside, [undefined, undefined, undefined]);
      assert.deepEqual(await inside, [null, undefined, undefined], 'null is a store, undefined is none');
    });

    it('are only those of the option: storages of tasks without it are empty', async () => {
      await using pool = carryPool({ placement });
      const all = unregistered.run('no', () => request.run('no', () => pool.call.storesLater(1)));
      assert.deepEqual(await all, new Array(6).fill(undefined));
    });

    it('are no arguments: neither those of the call nor those of a transfer, and all ways of calling bring them', async () => {
      await using pool = carryPool({ placement, carry: [request, tenant], lanes: 1 });
      await request.run({ id: 1 }, async () => {
        assert.deepEqual(await pool.call.argumentsOf(), []);
        const buffer = new ArrayBuffer(8);
        const args = await pool.with({ transfer: [buffer] }).argumentsOf(1, buffer);
        assert.deepEqual(args, [1, new ArrayBuffer(8)]);
        assert.deepEqual(await pool.broadcast.argumentsOf('x'), [['x']]);
        assert.deepEqual(await pool.broadcast.stores(), [[{ id: 1 }, undefined, undefined]]);
        const mapped = [];
        for await (const seen of pool.map('storesLater', [1, 0])) mapped.push(seen[3]);
        assert.deepEqual(mapped, [{ id: 1 }, { id: 1 }]);
      });
    });

    it('travel with large arguments, which outgrow their page', async () => {
      await using pool = carryPool({ placement, carry: [request] });
      const text = 'é'.repeat(300_000);
      await request.run({ text }, async () => {
        assert.deepEqual(await pool.call.argumentsOf(text), [text]);
        assert.deepEqual((await pool.call.stores())[0], { text });
      });
    });

    it('are seen in generators from item to item, also after these had to wait for their reader', async () => {
      await using pool = carryPool({ placement, carry: [request] });
      const streams = [1, 2].map(i => request.run(i, () => pool.stream.storesByItem(3_000)));
      for (const [i, stream] of streams.entries()) {
        const seen = new Set<unknown>();
        for await (const store of stream) seen.add(store);
        assert.deepEqual([...seen], [i + 1]);
      }
    });

    it('come along beside callbacks, and with calls that block', async () => {
      await using pool = carryPool({ placement, carry: [request], lanes: 1 });
      const seen = request.run('c', () => pool.call.storesBehind(callback(async () => {})));
      assert.equal(await seen, 'c');
      assert.equal(request.run('s', () => pool.sync.stores())[0], 's');
      assert.equal(pool.sync.stores()[0], undefined);
    });

    it('that cannot be cloned reject the call, and the error names storage and place', async () => {
      await using pool = carryPool({ placement, carry: [tenant, request] });
      await request.run({ user: { onClick() {} } }, async () => {
        await assert.rejects(
          pool.call.stores(),
          code('NOT_CLONEABLE', /^Storage `request`, which calls carry: getStore\(\)\.user\.onClick is /),
        );
        await assert.rejects(
          tenant.run(Promise.resolve() as any, () => pool.call.stores()),
          /Storage `tenant`/,
        );
      });
      const { port1, port2 } = new MessageChannel();
      await request.run(port1, () =>
        assert.rejects(pool.call.stores(), code('NOT_CLONEABLE', /^Storage `request`/)),
      );
      port1.close();
      port2.close();
      await request.run({}, async () => {
        const wrong = pool.call.argumentsOf({ f() {} });
        await assert.rejects(wrong, code('NOT_CLONEABLE', /^args\[0\]\.f is /));
        assert.deepEqual(await pool.call.stores(), [{}, undefined, undefined]);
      });
    });

    it("do not show in the stack of what a function throws: it ends with the function's own frames", async () => {
      await using pool = carryPool({ placement, carry: [request, tenant] });
      const call = async () =>
        await request.run({ id: 'x' }, () => tenant.run('t', () => pool.call.failInside()));
      const error: Error = await call().then(assert.fail, thrown => thrown);
      assert.match(
        error.stack!,
        /^RangeError: in x\n {4}at failInside \(.*\)\n {4}── in lane 1, called from ──\n {4}at async call/,
      );
      assert.doesNotMatch(error.stack!, /AsyncLocalStorage|carried/);
    });
  });
}

describe('stores that travel with calls', () => {
  it('come along again when an idempotent call runs again', async () => {
    await using pool = carryPool({ carry: [request], lanes: 1 });
    const seen = await request.run('kept', () => pool.with({ idempotent: true }).exitFirst(counters()));
    assert.equal(seen, 'kept');
  });

  it('come along with a call that waits in the queue while others run', async () => {
    await using pool = carryPool({ carry: [request], lanes: 2 });
    const counter = counters();
    const calls = Array.from({ length: 6 }, (_, i) => request.run(i, () => pool.call.waitFor(counter)));
    await until(() => Atomics.load(counter, 0) === 2);
    Atomics.store(counter, 1, 1);
    for (const [i, result] of (await Promise.all(calls)).entries()) assert.equal((result as unknown[])[0], i);
  });
});

describe('the option `carry`', () => {
  const refused = (carry: any, message: RegExp) =>
    assert.throws(() => carryPool({ carry }), code('OPTION', message));

  it('refuses a storage that was not registered, and shows the line to write', () => {
    refused(
      [request, unregistered],
      /carry\[1\].*was not registered.*registerStorage\('name', new AsyncLocalStorage\(\)\)/,
    );
  });

  it('refuses what is no list of storages, and two of one name', () => {
    refused(request, /`carry`: expected an array/);
    refused([{}], /`carry\[0\]`: expected an AsyncLocalStorage/);
    refused([null], /`carry\[0\]`: expected an AsyncLocalStorage/);
    refused(
      [request, tenant, request],
      /carry\[2\]`: expected storages of different names.*carry\[0\] is `request`/,
    );
  });
});

describe('registerStorage', () => {
  it('returns the storage, and takes it twice under one name', () => {
    const storage = new AsyncLocalStorage<number>();
    assert.equal(registerStorage('twice', storage), storage);
    assert.equal(registerStorage('twice', storage), storage);
    assert.throws(() => registerStorage('thrice', storage), code('OPTION', /already, as `twice`/));
  });

  it('refuses what is no storage, and what is no name', () => {
    assert.throws(() => registerStorage('x', {} as any), code('OPTION', /expected an AsyncLocalStorage/));
    assert.throws(
      () => registerStorage('x', undefined as any),
      code('OPTION', /expected an AsyncLocalStorage/),
    );
    for (const name of ['', '__proto__', 7 as any]) {
      assert.throws(() => registerStorage(name, new AsyncLocalStorage()), code('OPTION', /expected a name/));
    }
  });

  it('lets a module be evaluated again: the store is seen in each storage of the name', async () => {
    const again = await import(`${fixture('storages.ts')}?again`);
    assert.notEqual(again.request, request);
    for (const carry of [[request], [again.request]]) {
      await using pool = carryPool({ placement: 'inline', carry });
      assert.equal((await carry[0].run('both', () => pool.call.stores()))[0], 'both');
    }
  });
});
