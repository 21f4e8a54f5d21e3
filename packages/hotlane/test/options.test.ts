import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { code, leavesNothingBehind, tasksPool } from './support.ts';

leavesNothingBehind();

describe('options', () => {
  const bad: [object, RegExp][] = [
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
});
