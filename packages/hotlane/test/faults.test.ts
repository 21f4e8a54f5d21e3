import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createPool, type HotlaneError } from 'hotlane';
import { code, leavesNothingBehind, tasksPool, until } from './support.ts';

leavesNothingBehind();

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

  it('breaks the globals of its thread settles, and so do the calls after it', {
    timeout: 20_000,
  }, async () => {
    await using pool = tasksPool({ lanes: 1, deadlineMs: 2_000, graceMs: 50, onError: () => {} });
    await pool.call.breakGlobals().catch(() => {});
    await Promise.allSettled([pool.call.add(1, 1), pool.call.later('x', 1), pool.call.echo([1, 2])]);
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

  it('tell the process when there is no onError', async () => {
    const warned = new Promise<Error>(resolve => process.once('warning', resolve));
    const pool = createPool('./no-such-module.mjs', { lanes: 1 });
    assert.ok(code('LANE_START')(await warned));
    await pool.close();
  });
});
