import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { simulate } from './sim/simulation.ts';

const SEEDS = 300;
const STEPS = 7_000;

describe('a pool on simulated lanes that die at every point', () => {
  it('settles every call once, starts none twice, leaves none waiting beside a free lane', {
    timeout: 300_000,
  }, async () => {
    let calls = 0;
    let lost = 0;
    for (let seed = 1; seed <= SEEDS; seed++) {
      const result = await simulate(seed, STEPS);
      const again = `npm run sim -- --seed ${seed} --steps ${STEPS}`;
      assert.equal(result.problem, null, `${result.problem}\n${again}\n${result.trace.join('\n')}`);
      calls += result.calls;
      lost += result.lanesLost;
    }
    assert.ok(calls > 1_000_000, `${calls} calls`);
    assert.ok(lost > 5_000, `${lost} lanes lost`);
  });

  it('does the same again for the same seed', async () => {
    const [first, second] = [await simulate(42, 2_000), await simulate(42, 2_000)];
    assert.deepEqual(first, second);
    assert.ok(first.trace.length > 0);
  });
});
