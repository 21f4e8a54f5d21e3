import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { measureBatches } from '../src/harness/batches.ts';
import { measureSteadiness } from '../src/harness/steadiness.ts';

const plan = { warmUpMs: 5, windows: 2, windowMs: 5 };

describe('the rate of batches', () => {
  test('comes from one batch after the other, and no two at once', async () => {
    let running = 0;
    const { perSecond } = await measureBatches(async things => {
      assert.equal(++running, 1);
      assert.ok(things > 0);
      await new Promise(resolve => setImmediate(resolve));
      running--;
    }, plan);
    assert.ok(perSecond > 0);
  });

  test('lets batches grow while they are short, so that what is around each does not count', async () => {
    const sizes: number[] = [];
    await measureBatches(async things => void sizes.push(things), { ...plan, warmUpMs: 1, windowMs: 1 });
    assert.ok(sizes.at(-1)! > sizes[0]!, `${sizes[0]} to ${sizes.at(-1)}`);
  });

  test('fails with what a batch throws', async () => {
    await assert.rejects(
      measureBatches(() => Promise.reject(new RangeError('one too few')), plan),
      RangeError,
    );
  });
});

describe('steadiness', () => {
  test('counts a window in which no call settles as nothing', async () => {
    let calls = 0;
    const call = async () => {
      if (++calls !== 200) return;
      const ends = performance.now() + 50;
      while (performance.now() < ends);
    };
    const load = { call, inputs: [0], inFlight: 4 };
    const { worstToMedian, callsPerSecond } = await measureSteadiness(load, 10, 20);
    assert.equal(worstToMedian, 0);
    assert.ok(callsPerSecond > 0);
  });
});
