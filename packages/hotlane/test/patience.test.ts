import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Patience } from '../src/transport/patience.ts';

/** How many of so many chances are taken, when `pays` says how each went. */
function taken(patience: Patience, chances: number, pays: (chance: number) => boolean): number {
  let count = 0;
  for (let chance = 0; chance < chances; chance++) {
    if (!patience.take()) continue;
    count++;
    if (pays(chance)) patience.rewarded();
    else patience.wasInVain();
  }
  return count;
}

describe('patience', () => {
  it('takes every chance while waiting pays, also after a single wait in vain', () => {
    assert.equal(
      taken(new Patience(), 1_000, chance => chance % 2 === 0),
      1_000,
    );
  });

  it('takes one chance in some thirty when waiting never pays', () => {
    const count = taken(new Patience(), 3_100, () => false);
    assert.ok(count >= 90 && count <= 110, `${count} of 3,100`);
  });

  it('takes every chance again within thirty-one of waiting paying', () => {
    const patience = new Patience();
    taken(patience, 1_000, () => false);
    taken(patience, 31, () => true);
    assert.equal(
      taken(patience, 100, () => true),
      100,
    );
  });

  it('tells beforehand whether the next chance will be taken', () => {
    const patience = new Patience();
    for (let chance = 0; chance < 200; chance++) {
      const { ready } = patience;
      assert.equal(patience.take(), ready);
      if (ready) patience.wasInVain();
    }
  });
});
