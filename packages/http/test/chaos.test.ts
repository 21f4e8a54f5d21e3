import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { addCounts, noCounts, report, runSeeds } from './kit/chaos.ts';
import { leavesNothingBehind } from './kit/leftovers.ts';
import { chaosSubject } from './kit/subject.ts';

leavesNothingBehind();

const SEEDS = 300;
const AT_ONCE = 24;

function* upTo(count: number) {
  for (let seed = 1; seed <= count; seed++) yield seed;
}

describe('a chaotic client, and servers that do everything wrong', () => {
  it('settle every request once, mix no answers up, send nothing twice that must not be', async () => {
    const sum = noCounts();
    const failures: string[] = [];
    await runSeeds(upTo(SEEDS), AT_ONCE, { makeDispatcher: chaosSubject }, result => {
      addCounts(sum, result.counts);
      if (result.violations.length > 0) failures.push(report(result));
    });
    assert.equal(
      failures.length,
      0,
      `${failures.length} of ${SEEDS} seeds\n${failures.slice(0, 5).join('\n')}`,
    );
    // What the rules are about must have happened, or they say nothing.
    assert.ok(sum.delivered > SEEDS * 10, JSON.stringify(sum));
    assert.ok(sum.aborted > SEEDS, JSON.stringify(sum));
    assert.ok(sum.pipelined > SEEDS, JSON.stringify(sum));
    assert.ok(sum.retried > SEEDS / 3, JSON.stringify(sum));
  });
});
