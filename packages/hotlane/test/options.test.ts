import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { code, leavesNothingBehind, tasksPool } from './support.ts';

leavesNothingBehind();

describe('options', () => {
  const bad: [object, RegExp][] = [
    [{ recycle: { afterCalls: 0 } }, /`recycle\.afterCalls`: expected a number of 1 or more.*got 0/],
    [{ recycle: { calls: 5 } }, /`recycle`: there is no `calls`/],
    [{ recycle: 1_000 }, /`recycle`: expected an object, got 1000/],
    [{ placement: 'inline', recycle: { heapBytes: 1e9 } }, /`recycle\.heapBytes`.*'inline'/],
    [{ setup: () => {} }, /`setup`: expected the name of an exported function, got function setup/],
    [{ teardown: '' }, /`teardown`.*got ""/],
    [{ budget: 2 }, /`budget`: expected true or false, got 2/],
    [{ lanes: 0 }, /`lanes`: expected a whole number from 1 to 1024.*got 0/],
    [{ lanes: 1.5 }, /got 1\.5/],
    [{ lanes: '2' }, /got "2"/],
    [{ lanes: { min: 3, max: 2 } }, /`lanes\.min`: expected at most lanes\.max, which is 2, got 3/],
    [{ lanes: { min: -1 } }, /`lanes\.min`/],
    [{ lanes: { max: 0 } }, /`lanes\.max`/],
    [{ lanes: { lingerMs: -1 } }, /`lanes\.lingerMs`.*milliseconds/],
    [{ lanes: { most: 1 } }, /`lanes`: there is no `most`\. Known are `min`, `max`, `lingerMs`/],
    [{ placement: 'process' }, /`placement`: expected 'thread' or 'inline', got "process"/],
    [{ concurrency: 0 }, /`concurrency`/],
    [{ maxQueue: -1 }, /`maxQueue`/],
    [{ maxQueue: Number.NaN }, /`maxQueue`.*got NaN/],
    [{ maxQueuedBytes: '1' }, /`maxQueuedBytes`/],
    [{ deadlineMs: Number.NaN }, /`deadlineMs`/],
    [{ graceMs: '5' }, /`graceMs`/],
    [{ startMs: -1 }, /`startMs`/],
    [{ heapMb: 1 }, /`heapMb`: expected a whole number from 8/],
    [{ threads: 4 }, /there is no `threads`/],
  ];
  for (const [options, message] of bad) {
    it(`${JSON.stringify(options)} is refused with option, expected and came`, () => {
      assert.throws(() => tasksPool(options), code('OPTION', message));
    });
  }

  it('are checked in `with` and `map` too', async () => {
    await using pool = tasksPool();
    assert.throws(
      () => pool.with({ signal: {} as AbortSignal }),
      code('OPTION', /`signal`: expected an AbortSignal, got an object/),
    );
    assert.throws(() => pool.with({ transfer: [1] as any }), code('OPTION', /`transfer\[0\]`/));
    assert.throws(() => pool.with({ deadlineMs: -5 }), code('OPTION', /`deadlineMs`/));
    assert.throws(() => pool.with({ retries: 2 }), code('OPTION', /`retries`.*`idempotent: true`/));
    assert.throws(() => pool.with({ idempotent: 'yes' as any }), code('OPTION', /`idempotent`/));
    assert.throws(() => pool.with({ deadline: 5 } as any), code('OPTION', /there is no `deadline`/));
    assert.throws(() => pool.with(null as any), code('OPTION'));
    assert.throws(() => pool.map('echo', [1], { inFlight: 0 }), code('OPTION', /`inFlight`/));
    assert.throws(
      () => pool.map('echo', [1], { inFlight: 9, window: 5 }),
      code('OPTION', /`window`.*from 9/),
    );
    assert.throws(() => pool.map('echo', [1], { deadlineMs: 'soon' as any }), code('OPTION', /`deadlineMs`/));
    assert.throws(() => pool.map('echo', [1], { order: true } as any), code('OPTION', /there is no `order`/));
    assert.throws(() => pool.map(((x: unknown) => x) as any, [1]), code('OPTION', /a function's name/));
    await assert.rejects(pool.map('echo', 5 as any).next(), code('OPTION', /can be iterated, got 5/));
  });

  it('say what to transfer instead of a view, and of a Buffer that shares its memory', async () => {
    await using pool = tasksPool({ placement: 'inline' });
    const view = new Uint8Array(8);
    assert.throws(
      () => pool.with({ transfer: [view] }),
      code('OPTION', /transfer\[0\].*`\.buffer`.*Uint8Array/),
    );
    const { buffer } = Buffer.from('short');
    await assert.rejects(
      pool.with({ transfer: [buffer] }).echo(buffer),
      code('NOT_CLONEABLE', /new Uint8Array/),
    );
  });

  it('refuse data for setup that cannot be cloned', () => {
    assert.throws(() => tasksPool({ setup: 'add', data: { fn: () => 1 } }), code('NOT_CLONEABLE'));
  });
});
