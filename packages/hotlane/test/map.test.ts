import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { code, counters, leavesNothingBehind, tasksPool, until } from './support.ts';

leavesNothingBehind();

async function collect<T>(values: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const value of values) all.push(value);
  return all;
}

describe('map', () => {
  it('gives results in the order of the inputs', async () => {
    await using pool = tasksPool({ lanes: 2 });
    const inputs = Array.from({ length: 3_000 }, (_, i) => i);
    assert.deepEqual(await collect(pool.map('echo', inputs)), inputs);
  });

  it('gives them as they finish with ordered: false', async () => {
    await using pool = tasksPool({ lanes: 2 });
    const shared = counters();
    // The first input is held until the second has come out.
    const results: unknown[] = [];
    for await (const value of pool.map(
      'holdFirst' as 'echo',
      [
        { shared, hold: true },
        { shared, hold: false },
      ] as any[],
      { ordered: false },
    )) {
      results.push(value);
      Atomics.store(shared, 1, 1);
      Atomics.notify(shared, 1);
    }
    assert.deepEqual(results, ['free', 'held']);
  });

  it('takes async iterables and generators, and gives results while the source is still open', async () => {
    await using pool = tasksPool({ lanes: 1 });
    let release = () => {};
    const gate = new Promise<void>(resolve => {
      release = resolve;
    });
    async function* source(): AsyncGenerator<number> {
      yield 1;
      await gate;
      yield 2;
    }
    const results = pool.map('echo', source());
    assert.equal((await results.next()).value, 1);
    release();
    assert.equal((await results.next()).value, 2);
    assert.equal((await results.next()).done, true);
    function* sync(): Generator<number> {
      yield* [1, 2, 3];
    }
    assert.deepEqual(await collect(pool.map('echo', sync())), [1, 2, 3]);
  });

  it('pulls no further ahead than inFlight and window allow, also behind one slow input', async () => {
    await using pool = tasksPool({ lanes: 2 });
    const shared = counters();
    let pulled = 0;
    function* source(): Generator<any> {
      for (; pulled < 1_000; ) {
        pulled++;
        yield { shared, hold: pulled === 1 };
      }
    }
    const results = pool.map('holdFirst' as 'echo', source(), { inFlight: 4, window: 20 });
    const first = results.next();
    await until(() => pulled === 20);
    await sleep(20);
    assert.equal(pulled, 20);
    Atomics.store(shared, 1, 1);
    Atomics.notify(shared, 1);
    assert.equal((await first).value, 'held');
    assert.equal((await collect(results)).length, 999);
  });

  it('throws the first failure, or gives each as a value with its input', async () => {
    await using pool = tasksPool({ lanes: 1 });
    await assert.rejects(collect(pool.map('failOdd' as 'echo', [2, 3, 4] as any[])), /odd: 3/);
    const outcomes = await collect(pool.map('failOdd' as 'echo', [2, 3] as any[], { errors: 'return' }));
    assert.deepEqual(outcomes[0], { status: 'fulfilled', index: 0, input: 2, value: 2 });
    assert.equal(outcomes[1].status, 'rejected');
    assert.equal(outcomes[1].input, 3);
    assert.match(String((outcomes[1] as any).reason), /odd: 3/);
  });

  it('cancels what is under way and closes its source when it is left', async () => {
    await using pool = tasksPool({ lanes: 1 });
    let closed = false;
    function* source(): Generator<number> {
      try {
        for (let i = 0; ; i++) yield i;
      } finally {
        closed = true;
      }
    }
    for await (const value of pool.map('echo', source())) if (value === 10) break;
    assert.ok(closed);
    await until(() => pool.stats().queued + pool.stats().running === 0);
  });

  it('ends with the signal’s reason', async () => {
    await using pool = tasksPool({ lanes: 1 });
    const stop = new AbortController();
    const results = pool.map('echo', Array(1_000_000).fill(1), { signal: stop.signal });
    await results.next();
    stop.abort(new Error('enough'));
    await assert.rejects(collect(results), /enough/);
    await assert.rejects(collect(pool.map('echo', [1], { signal: stop.signal })), /enough/);
  });

  it('ends on its signal, and when it is left, although its inputs are silent', async () => {
    await using pool = tasksPool({ lanes: 1 });
    async function* silent(): AsyncGenerator<number> {
      yield 1;
      await new Promise(() => {});
    }
    const stop = new AbortController();
    const results = pool.map('echo', silent(), { signal: stop.signal });
    await results.next();
    stop.abort(new Error('enough'));
    await assert.rejects(results.next(), /enough/);
    for await (const value of pool.map('echo', silent())) {
      assert.equal(value, 1);
      break;
    }
  });

  it('with a deadline makes no call wait behind the others', async () => {
    await using pool = tasksPool({ lanes: 1 });
    await pool.call.add(1, 1);
    let most = 0;
    const source = async function* () {
      for (let i = 0; i < 30; i++) {
        const { queued, running } = pool.stats();
        most = Math.max(most, queued + running);
        yield i;
      }
    };
    assert.equal((await collect(pool.map('echo', source(), { deadlineMs: 60_000 }))).length, 30);
    assert.ok(most <= 1, `${most} at once`);
  });

  it('takes no input when its signal has fired, and none after it fires', async () => {
    await using pool = tasksPool({ lanes: 1 });
    let pulled = 0;
    function* source(): Generator<number> {
      for (;;) yield pulled++;
    }
    await assert.rejects(collect(pool.map('echo', source(), { signal: AbortSignal.abort('no') })));
    assert.equal(pulled, 0);
    const stop = new AbortController();
    const results = pool.map('echo', source(), { signal: stop.signal, inFlight: 1, window: 1_000_000 });
    await results.next();
    stop.abort('enough');
    const before = pulled;
    await sleep(30);
    assert.ok(pulled <= before + 1, `${pulled - before} more`);
    await assert.rejects(results.next(), reason => reason === 'enough');
  });

  it('passes on what its inputs throw', async () => {
    await using pool = tasksPool({ lanes: 1 });
    async function* source(): AsyncGenerator<number> {
      yield 1;
      throw new RangeError('source');
    }
    await assert.rejects(collect(pool.map('echo', source())), /source/);
  });

  it('rejects inputs’ calls on their own when they cannot be cloned', async () => {
    await using pool = tasksPool({ lanes: 1 });
    const outcomes = await collect(pool.map('echo', [1, () => 1] as any[], { errors: 'return' }));
    assert.equal(outcomes[0].status, 'fulfilled');
    code('NOT_CLONEABLE')((outcomes[1] as any).reason);
  });
});
