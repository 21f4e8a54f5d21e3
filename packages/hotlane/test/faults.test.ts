import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { createPool, type HotlaneError } from 'hotlane';
import { code, fixture, leavesNothingBehind, tasksPool, until } from './support.ts';

leavesNothingBehind();

/** Built-ins that lanes use too. */
const PATCHED = [
  ...['load', 'store', 'add', 'and', 'or', 'compareExchange', 'notify', 'waitAsync'].map(
    name => `Atomics.${name}`,
  ),
  ...['Array.prototype.push', 'Promise.prototype.then', 'Map.prototype.get', 'Set.prototype.has', 'Math.min'],
  ...['Object.keys', 'Object.assign', 'Object.getPrototypeOf', 'Object.hasOwn', 'Array.isArray'],
  ...['setImmediate', 'performance.now', 'queueMicrotask', 'String.fromCharCode', 'JSON.stringify'],
];

/** What a task does to its lane, what becomes of its own call, and whether the lane lives on. */
describe('a task that', () => {
  it('rejects a promise that nobody handles loses its lane; nothing else is struck', async () => {
    const errors: HotlaneError[] = [];
    await using pool = tasksPool({ lanes: 1, onError: error => void errors.push(error) });
    await pool.call.rejectUnseen().catch(code('LANE_LOST', /nobody catches this/));
    await until(() => pool.stats().lanes[0]?.id === 2);
    assert.equal(await pool.call.add(1, 1), 2);
    assert.ok(errors.length <= 1);
  });

  it('throws in a timer after it returned loses its lane, and onError is told, since no call is struck', async () => {
    const errors: HotlaneError[] = [];
    await using pool = tasksPool({ lanes: 1, onError: error => void errors.push(error) });
    await pool.call.throwLater(20);
    await until(() => errors.length > 0);
    assert.ok(code('LANE_LOST', /ran no call: nobody waits for this/)(errors[0]));
    assert.ok(errors[0].cause instanceof RangeError);
    assert.equal(await pool.call.add(1, 1), 2);
    assert.equal(errors.length, 1);
  });

  it('overflows the stack gets a RangeError, and its lane lives on', async () => {
    await using pool = tasksPool({ lanes: 1 });
    await assert.rejects(pool.call.overflow(), RangeError);
    assert.equal(await pool.call.laneId(), 1);
  });

  it('posts to its parent by itself is not misunderstood', async () => {
    await using pool = tasksPool({ lanes: 1 });
    await pool.call.postByItself();
    assert.equal(await pool.call.add(1, 1), 2);
    assert.equal(await pool.call.laneId(), 1);
  });

  it('replaces process.exit gets what it then throws', async () => {
    await using pool = tasksPool({ lanes: 1 });
    await assert.rejects(pool.call.keepAliveThroughExit(), /exit was replaced/);
    assert.equal(await pool.call.laneId(), 1);
  });

  it('exits although it replaced process.exit, by other means, loses its lane', async () => {
    await using pool = tasksPool({ lanes: 1 });
    await assert.rejects(pool.call.replaceExitThenReallyExit(), code('LANE_LOST', /code 5/));
    assert.equal(await pool.call.add(1, 1), 2);
  });

  it('returns more than the limit gets TOO_LARGE, and its lane lives on', async () => {
    await using pool = tasksPool({ lanes: 1 });
    await assert.rejects(pool.call.returnBytes(2 ** 30 + 1), code('TOO_LARGE', /MAX_VALUE_BYTES/));
    assert.equal(await pool.call.laneId(), 1);
  });

  it('is given more than the limit is never sent it: TOO_LARGE', async () => {
    await using pool = tasksPool({ lanes: 1 });
    const bytes = new Uint8Array(2 ** 30 + 1); // never touched, so it takes no memory
    await assert.rejects(pool.call.echo(bytes), code('TOO_LARGE', /MAX_VALUE_BYTES/));
    assert.equal(await pool.call.add(1, 1), 2);
  });

  for (const how of ['nothing', 'throw'] as const) {
    it(`makes the built-ins of its thread ${how === 'throw' ? 'throw' : 'do nothing'} strikes nobody's answers but its own`, {
      timeout: 60_000,
    }, async () => {
      await using pool = tasksPool({ lanes: 1, onError: () => {} });
      for (const path of PATCHED) {
        await pool.call.add(1, 1);
        const struck = [
          pool.call.patch(path, how),
          pool.call.echo({ a: [1, 'two', 3.5] }),
          pool.call.later('x', 1),
          // So many of one shape that a function is made for it, by then with what the task left of the built-ins.
          ...Array.from({ length: 120 }, (_, i) => pool.call.echo({ shape: i })),
        ];
        const outcomes = await Promise.allSettled(struck);
        for (const outcome of outcomes) {
          if (outcome.status === 'rejected') assert.match(outcome.reason.code, /LANE_LOST|PROTOCOL/, path);
        }
        if (outcomes[1].status === 'fulfilled')
          assert.deepEqual(outcomes[1].value, { a: [1, 'two', 3.5] }, path);
        if (outcomes[2].status === 'fulfilled') assert.equal(outcomes[2].value, 'x', path);
        for (const [i, outcome] of outcomes.slice(3).entries()) {
          if (outcome.status === 'fulfilled') assert.deepEqual(outcome.value, { shape: i }, path);
        }
        await pool.call.exit(1).catch(() => {}); // a fresh thread for the next
      }
    });
  }
});

describe('a module that fails to load every other time', () => {
  it('fails only calls that no lane could take, is loaded again after a wait, and ends with all lanes up', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'hotlane-'));
    const loads = join(folder, 'loads');
    process.env.HOTLANE_TEST_LOADS = loads;
    try {
      await using pool = createPool<{ add(a: number, b: number): number }>(fixture('every-other-time.mjs'), {
        lanes: 2,
        onError: () => {},
      });
      let failed = 0;
      while (failed === 0 || pool.stats().lanes.filter(lane => lane.state === 'up').length < 2) {
        await pool.call.add(1, 1).catch(error => {
          assert.ok(code('LANE_START', /not this time/)(error) && error.cause instanceof RangeError);
          failed++;
        });
        if (failed === 0 && pool.stats().done > 0) break; // the other lane was up first: no call was struck
        await new Promise(resolve => setTimeout(resolve, 1));
      }
      await until(() => pool.stats().lanes.filter(lane => lane.state === 'up').length === 2);
      assert.equal(await pool.call.add(1, 1), 2);
      assert.ok(statSync(loads).size <= 8, `${statSync(loads).size} loads: no tight loop`);
    } finally {
      delete process.env.HOTLANE_TEST_LOADS;
      rmSync(folder, { recursive: true });
    }
  });
});

describe('lanes that are kept although no call was made', () => {
  it('and cannot start: onError is told with the cause, in no tight loop', async () => {
    const errors: HotlaneError[] = [];
    const pool = createPool('./no-such-module.mjs', { lanes: 1, onError: error => void errors.push(error) });
    await until(() => errors.length >= 2);
    assert.ok(code('LANE_START', /Cannot find the task module/)(errors[0]));
    assert.ok(errors.length < 5);
    await pool.close();
  });

  it('and cannot start for calls that wait: those are told, and onError is not', async () => {
    const errors: HotlaneError[] = [];
    const pool = createPool('./no-such-module.mjs', { onError: error => void errors.push(error) });
    await assert.rejects(pool.call.add(1, 1), code('LANE_START'));
    await until(() => pool.stats().lanes.length === 0);
    await new Promise(resolve => setTimeout(resolve, 20));
    assert.deepEqual(errors, []);
    await pool.close();
  });

  it('tell the process when there is no onError', async () => {
    const warned = new Promise<Error>(resolve => process.once('warning', resolve));
    const pool = createPool('./no-such-module.mjs', { lanes: 1 });
    assert.ok(code('LANE_START')(await warned));
    await pool.close();
  });
});
