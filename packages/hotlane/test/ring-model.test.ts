import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { explore, type Fault } from './ring-model.ts';

describe('the window’s protocol, in every interleaving', () => {
  const sizes = [
    { calls: 1, deaths: 1, recalls: 1 },
    { calls: 2, deaths: 1, recalls: 1 },
  ];
  for (const size of sizes) {
    it(`settles all of ${size.calls} calls with ${size.deaths} deaths and ${size.recalls} recalls`, {
      timeout: 300_000,
    }, () => {
      const { problem, path, states } = explore(size);
      assert.equal(problem, null, `${problem}\n${path.join('\n')}`);
      assert.ok(states > 1_000, `${states} states`);
    });
  }

  const faults: [Fault, { calls: number; deaths: number; recalls: number }][] = [
    ['sleep without looking again', { calls: 1, deaths: 0, recalls: 0 }],
    ['read the bell after looking', { calls: 1, deaths: 0, recalls: 0 }],
    ['no ring after a claim', { calls: 2, deaths: 0, recalls: 0 }],
    ['claim without compare-and-swap', { calls: 2, deaths: 0, recalls: 0 }],
    ['requeue what had started', { calls: 1, deaths: 1, recalls: 0 }],
    ['forget claimed calls', { calls: 1, deaths: 1, recalls: 0 }],
  ];
  for (const [fault, size] of faults) {
    it(`would not hold with the fault: ${fault}`, () => {
      assert.notEqual(explore({ ...size, fault }).problem, null);
    });
  }
});
