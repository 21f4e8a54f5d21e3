import assert from 'node:assert/strict';
import type { AsyncLocalStorage } from 'node:async_hooks';
import { type Channel, channel, tracingChannel } from 'node:diagnostics_channel';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { createPool } from 'hotlane';
import { request } from './fixtures/storages.ts';
import { code, counters, fixture, leavesNothingBehind, PLACEMENTS, tasksPool, until } from './support.ts';

leavesNothingBehind();

const calls = tracingChannel('hotlane:call');
const EVENTS = ['start', 'end', 'asyncStart', 'asyncEnd', 'error'] as const;
type Heard = { event: string; message: any };

/** What is heard of calls until the block ends. */
function hearCalls(): Heard[] & Disposable {
  const heard: Heard[] = [];
  const listeners = EVENTS.map(event => {
    const listener = (message: unknown) => void heard.push({ event, message });
    calls[event].subscribe(listener);
    return () => calls[event].unsubscribe(listener);
  });
  return Object.assign(heard, { [Symbol.dispose]: () => listeners.forEach(end => void end()) });
}

function hear(what: Channel): any[] & Disposable {
  const heard: unknown[] = [];
  const listener = (message: unknown) => void heard.push(message);
  what.subscribe(listener);
  return Object.assign(heard, { [Symbol.dispose]: () => void what.unsubscribe(listener) });
}

const lanes = channel('hotlane:lane');
const unexpected = () => assert.fail('it does not throw');

for (const placement of PLACEMENTS) {
  describe(`the channel hotlane:call, ${placement}`, () => {
    it('tells of a call in the events of promises, with one message that fills up', async () => {
      await using pool = tasksPool({ placement, lanes: 1 });
      await pool.call.add(0, 0); // made before anyone subscribed
      using heard = hearCalls();
      const sum = pool.with({ key: 'k' }).add(1, 2);
      assert.deepEqual(
        heard.map(({ event }) => event),
        ['start', 'end'],
      );
      const [{ message }] = heard;
      assert.deepEqual(
        { ...message, queuedAt: typeof message.queuedAt },
        {
          pool: message.pool,
          module: fixture('tasks.ts').href,
          name: 'add',
          key: 'k',
          priority: 0,
          lane: undefined,
          queuedAt: 'number',
          startedAt: undefined,
          endedAt: undefined,
        },
      );
      assert.equal(await sum, 3);
      assert.deepEqual(
        heard.map(({ event }) => event),
        ['start', 'end', 'asyncStart', 'asyncEnd'],
      );
      assert.ok(heard.every(each => each.message === message));
      assert.equal(message.result, 3);
      assert.equal(message.lane, 1);
      assert.ok(message.queuedAt <= message.startedAt && message.startedAt <= message.endedAt);
      assert.equal(heard.length, 4);
    });

    it('tells of errors: those of functions, and calls that were never accepted', async () => {
      await using pool = tasksPool({ placement });
      using heard = hearCalls();
      const error = await pool.call.fail('no').then(unexpected, thrown => thrown);
      assert.deepEqual(
        heard.map(({ event }) => event),
        ['start', 'end', 'error', 'asyncStart', 'asyncEnd'],
      );
      assert.equal(heard[0].message.error, error);
      assert.equal(heard[0].message.lane, 1);
      heard.length = 0;
      await assert.rejects(pool.call.echo({ f() {} }), code('NOT_CLONEABLE'));
      assert.equal(heard[0].message.error.code, 'ERR_HOTLANE_NOT_CLONEABLE');
      assert.equal(heard[0].message.lane, undefined);
    });

    it('keeps the stack of a failed call, with the code that awaits it', async () => {
      await using pool = tasksPool({ placement });
      using _heard = hearCalls();
      const caller = async () => await pool.call.failOdd(3);
      const error: Error = await caller().then(unexpected, thrown => thrown);
      assert.match(error.stack!, /── in lane 1, called from ──\n {4}at async caller/);
    });

    it('tells of the lane that ran what was cancelled', async () => {
      await using pool = tasksPool({ placement });
      using heard = hearCalls();
      const controller = new AbortController();
      const call = pool.with({ signal: controller.signal }).untilSignal();
      await until(() => pool.stats().running === 1);
      controller.abort();
      await assert.rejects(call);
      assert.equal(heard.at(-1)!.message.lane, 1);
      assert.equal(heard.at(-1)!.message.error, controller.signal.reason);
    });
  });
}

describe('the channel hotlane:call', () => {
  it('is heard by whoever subscribes to one event only, from the next call on, and all calls are timed', async () => {
    await using pool = tasksPool({ lanes: 1 });
    for (let i = 0; i < 100; i++) await pool.call.add(i, 1);
    for (const event of ['asyncEnd', 'error'] as const) {
      using heard = hear(calls[event]);
      const results = Array.from({ length: 100 }, (_, i) =>
        pool.call.failOdd(2 * i + (event === 'error' ? 1 : 0)),
      );
      await Promise.allSettled(results);
      assert.equal(heard.length, 100);
      assert.ok(heard.every(({ startedAt, endedAt }) => startedAt > 0 && endedAt >= startedAt));
    }
  });

  it('counts a pool’s watched calls one by one in its times, and samples again when nobody listens', async () => {
    await using pool = tasksPool({ lanes: 1 });
    {
      using _heard = hearCalls();
      for (let i = 0; i < 20; i++) await pool.call.block(1);
      for (let i = 0; i < 180; i++) await pool.call.add(i, 1);
    }
    const { p50, p99 } = pool.stats({ times: true }).times!.run;
    assert.ok(p50 < 1 && p99 >= 1, 'a tenth of the calls ran for a millisecond, most for less');
  });

  it('numbers pools: no two of a thread have the same', async () => {
    await using one = tasksPool({ placement: 'inline' });
    await using two = tasksPool({ placement: 'inline' });
    using heard = hear(calls.start as Channel);
    await Promise.all([one.call.add(1, 1), two.call.add(1, 1), one.call.add(1, 1)]);
    const [a, b, c] = heard.map(message => message.pool);
    assert.ok(Number.isInteger(a) && a !== b && a === c);
  });

  it('says in which lane a call was lost', async () => {
    await using pool = tasksPool({ lanes: 1, onError() {} });
    using heard = hearCalls();
    await assert.rejects(pool.call.exit(3), code('LANE_LOST'));
    assert.equal(heard.at(-1)!.message.lane, 1);
  });

  it('lets a subscriber bind a store to the call, and calls carry that one', async () => {
    await using pool = createPool<typeof import('./fixtures/carry-tasks.ts')>(fixture('carry-tasks.ts'), {
      carry: [request],
    });
    const start = calls.start as unknown as {
      bindStore(storage: AsyncLocalStorage<any>, make: (message: any) => unknown): void;
      unbindStore(storage: AsyncLocalStorage<any>): boolean;
    };
    start.bindStore(request, ({ name }) => ({ span: name }));
    try {
      assert.deepEqual((await pool.call.stores())[0], { span: 'stores' });
    } finally {
      start.unbindStore(request);
    }
  });

  it('leaves an unhandled rejection what it is', async () => {
    await using pool = tasksPool({ placement: 'inline' });
    using _heard = hearCalls();
    const unhandled = await hearOnce('unhandledRejection', () => void pool.call.fail('nobody listens'));
    assert.match(String(unhandled), /nobody listens/);
  });

  it('is harmed by no subscriber that throws: the call goes on, the process is told later', async () => {
    await using pool = tasksPool({ lanes: 1 });
    const bad = () => {
      throw new Error('bad subscriber');
    };
    calls.start.subscribe(bad);
    let sum: Promise<number>;
    const uncaught = await hearOnce('uncaughtException', () => {
      sum = pool.call.add(1, 2);
    });
    calls.start.unsubscribe(bad);
    assert.equal(await sum!, 3);
    assert.match(String(uncaught), /bad subscriber/);
  });
});

describe('the channel hotlane:lane', () => {
  it('tells the life of each lane', async () => {
    using heard = hear(lanes);
    const pool = tasksPool({ lanes: 1 });
    await pool.ready();
    await pool.call.add(1, 2);
    await pool.close();
    await turn();
    assert.deepEqual(
      heard.map(({ lane, state, cause }) => [lane, state, cause]),
      [
        [1, 'starting', undefined],
        [1, 'up', undefined],
        [1, 'draining', undefined],
        [1, 'ended', undefined],
      ],
    );
    assert.ok(
      heard.every(({ pool, module }) => Number.isInteger(pool) && module === fixture('tasks.ts').href),
    );
  });

  it('tells why a lane was lost, and why one could not start', async () => {
    using heard = hear(lanes);
    {
      await using pool = tasksPool({ lanes: 1, onError() {} });
      await assert.rejects(pool.call.exit(3), code('LANE_LOST'));
      await until(() => heard.some(({ lane, state }) => lane === 1 && state === 'ended'));
      const { cause } = heard.find(({ state }) => state === 'ended');
      assert.match(cause.message, /exited with code 3/);
    }
    heard.length = 0;
    await using missing = createPool(fixture('missing.ts'), { onError() {} });
    await assert.rejects(missing.call.add(1, 2), code('LANE_START'));
    await until(() => heard.some(({ state }) => state === 'ended'));
    assert.deepEqual(
      heard.map(({ state }) => state),
      ['starting', 'draining', 'ended'],
    );
    assert.equal(heard[2].cause.code, 'ERR_HOTLANE_LANE_START');
  });

  it('tells that a lane drains while it finishes what it runs', async () => {
    using heard = hear(lanes);
    await using pool = tasksPool({ lanes: 1, recycle: { afterCalls: 1 }, concurrency: 2 });
    const counter = counters();
    const held = pool.call.markAndWait(counter, 0, 1);
    await pool.call.add(1, 2);
    await until(() => heard.some(({ state }) => state === 'draining'));
    assert.deepEqual(
      heard.map(({ lane, state }) => [lane, state]),
      [
        [1, 'starting'],
        [1, 'up'],
        [2, 'starting'],
        [2, 'up'],
        [1, 'draining'],
      ],
    );
    Atomics.store(counter, 1, 1);
    Atomics.notify(counter, 1);
    await held;
  });

  it('lets a subscriber close the pool and make calls', async () => {
    const pool = tasksPool({ placement: 'inline' });
    const done: Promise<unknown>[] = [];
    let left: unknown;
    const listener = ({ state }: any) => {
      if (state === 'up') done.push(pool.call.add(1, 2), pool.close());
      if (state === 'ended') left = pool.stats().lanes;
    };
    lanes.subscribe(listener);
    assert.equal(await pool.call.add(2, 2), 4);
    await until(() => done.length === 2 && left !== undefined);
    lanes.unsubscribe(listener);
    assert.deepEqual(await Promise.all(done), [3, undefined]);
    assert.deepEqual(left, [], 'the pool is done with the step that it tells of');
  });
});

/** The first such event of the process, which the test runner is kept from hearing. */
async function hearOnce(
  event: 'uncaughtException' | 'unhandledRejection',
  cause: () => void,
): Promise<unknown> {
  const before = process.listeners(event as 'uncaughtException');
  process.removeAllListeners(event);
  try {
    return await new Promise(resolve => {
      process.once(event as 'uncaughtException', resolve);
      cause();
    });
  } finally {
    process.removeAllListeners(event);
    for (const listener of before) process.on(event as 'uncaughtException', listener);
  }
}
