import assert from 'node:assert/strict';
import { describe, it, mock } from 'node:test';
import { createPool, registerError } from 'hotlane';
import { code, counters, fixture, leavesNothingBehind, tasksPool, until } from './support.ts';

leavesNothingBehind();

const STATES = (pool: ReturnType<typeof tasksPool>) => pool.stats().lanes.map(lane => lane.state);

describe('while a lane on its way out goes on', () => {
  it('its replacement takes calls, also when functions are known to be slow, and maxQueue counts without it', async () => {
    await using pool = tasksPool({ lanes: 1, graceMs: 50, maxQueue: 0 });
    for (let i = 0; i < 30; i++) await pool.call.block(5);
    await assert.rejects(pool.with({ deadlineMs: 20 }).sleepNatively(3), code('DEADLINE'));
    await until(() => STATES(pool).join() === 'draining,up');
    assert.equal(await pool.call.add(1, 2), 3);
    assert.deepEqual(STATES(pool), ['draining', 'up'], 'it did not wait for the old one to go');
  });

  it('calls of a key that waited for it run on another, and do not wait for its end', async () => {
    await using pool = tasksPool({ lanes: 1, concurrency: 2, graceMs: 1_500 });
    const keyed = pool.with({ key: 'k' });
    assert.equal(await keyed.laneId(), 1);
    const stop = new AbortController();
    const shared = counters();
    const runaway = assert.rejects(
      pool.with({ signal: stop.signal, graceMs: 700 }).markAndWait(shared, 0, 2),
      reason => reason === 'stop',
    );
    const long = pool.call.markAndWait(shared, 0, 1);
    await until(() => Atomics.load(shared, 0) === 2);
    const next = keyed.laneId(); // waits for its lane, which has its fill
    stop.abort('stop');
    await runaway;
    assert.equal(await next, 2);
    Atomics.store(shared, 1, 1);
    await long;
  });
});

describe('a call that was claimed and never began', () => {
  it('does not end its lane when it is cancelled: nothing of it runs', async () => {
    await using pool = tasksPool({ lanes: 1, concurrency: 2, graceMs: 50 });
    await pool.call.add(1, 1);
    const buffer = new ArrayBuffer(8);
    const parked = pool.with({ transfer: [buffer], deadlineMs: 30 }).echo(buffer);
    const innocent = pool.call.block(400); // before the parked call's values arrive
    await assert.rejects(parked, code('DEADLINE'));
    assert.equal(await innocent, 400);
    assert.equal(await pool.call.laneId(), 1);
  });
});

describe('calls for one lane', () => {
  it('run as many at once as its concurrency, however many that is', async () => {
    await using pool = tasksPool({ lanes: 1, concurrency: 200 });
    const call = (i: number) => pool.with({ key: i });
    await Promise.all(Array.from({ length: 150 }, (_, i) => call(i).add(i, 1)));
    const shared = counters();
    const all = Array.from({ length: 150 }, (_, i) => call(i).markAndWait(shared, 0, 1));
    await until(() => Atomics.load(shared, 0) === 150);
    Atomics.store(shared, 1, 1);
    await Promise.all(all);
  });
});

describe('a module that blocks in a native routine at load', () => {
  it('fails the calls that wait after startMs, not when the routine returns', async () => {
    await using pool = createPool(fixture('blocks-at-load.mjs'), {
      lanes: 1,
      startMs: 150,
      onError: () => {},
    });
    await assert.rejects(pool.call.add(1, 1), code('LANE_START', /`startMs`, 150 ms/));
    assert.ok(
      pool.stats().lanes.some(lane => lane.state === 'draining'),
      'its thread has not gone yet',
    );
    await pool.destroy();
  });
});

describe('fake timers', () => {
  it('on the host stop no pool', async () => {
    await using pool = tasksPool({ lanes: 1 });
    await pool.call.add(1, 1);
    mock.timers.enable();
    try {
      assert.equal(await pool.call.add(3, 4), 7);
      assert.equal(await pool.call.add(5, 6), 11);
    } finally {
      mock.timers.reset();
    }
    assert.equal(await pool.call.add(7, 8), 15);
  });

  it('in a task stop no lane', async () => {
    await using pool = tasksPool({ lanes: 1 });
    await pool.call.fakeTimers();
    await Promise.all(Array.from({ length: 30 }, () => pool.call.spin(2_000_000)));
    assert.equal(await pool.call.add(1, 1), 2);
    assert.equal(await pool.call.laneId(), 1);
  });
});

describe('errors that are not the pool’s own', () => {
  it('keep their words: a DEADLINE that the function threw, under a deadline of its call', async () => {
    await using pool = tasksPool({ lanes: 1 });
    const call = pool.with({ deadlineMs: 60_000 }).deadlineOfItsOwn();
    await assert.rejects(call, code('DEADLINE', /^an inner call was late$/));
  });

  it('are not replaced by what a prepareStackTrace throws', async () => {
    await using pool = tasksPool({ lanes: 1 });
    await pool.call.add(1, 1);
    const { prepareStackTrace } = Error;
    Error.prepareStackTrace = () => {
      throw new TypeError('prepare');
    };
    try {
      await pool.call.fail('the task’s own').then(
        () => assert.fail(),
        error => assert.equal(error.message, 'the task’s own'),
      );
    } finally {
      Error.prepareStackTrace = prepareStackTrace;
    }
  });

  it('may be registered again by a module that is evaluated twice: the last one counts', async () => {
    await using pool = tasksPool({ lanes: 1 });
    const { ValidationError: again } = await import(`./fixtures/errors.ts?again=${Date.now()}`);
    const error = await pool.call.throwRegistered('plain').catch(error => error);
    assert.equal(error.constructor, again);
    const { ValidationError: first } = await import('./fixtures/errors.ts');
    registerError(first);
  });
});

describe('map in a pool with a deadline for every call', () => {
  it('makes no call wait behind the others', async () => {
    await using pool = tasksPool({ lanes: 1, deadlineMs: 2_000 });
    await pool.call.add(1, 1);
    let count = 0;
    for await (const ms of pool.map('block', Array(40).fill(60))) count += ms / 60;
    assert.equal(count, 40);
  });
});
