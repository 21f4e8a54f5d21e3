import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { callback, createPool, isHotlaneError } from 'hotlane';
import { Random } from '../src/testing/random.ts';
import { fixture, leavesNothingBehind } from './support.ts';

leavesNothingBehind();

type Tasks = typeof import('./fixtures/talk-tasks.ts');

describe('streams and callbacks while lanes are lost', () => {
  it('settle all, in order, and leave no source open', async () => {
    const random = new Random(7);
    const pool = createPool<Tasks>(fixture('talk-tasks.ts'), { lanes: 3, concurrency: 3, graceMs: 20 });
    let opened = 0;
    let closed = 0;
    let lost = 0;
    let finished = 0;
    async function* source(n: number) {
      opened++;
      try {
        for (let i = 0; i < n; i++) yield i;
      } finally {
        closed++;
      }
    }
    /** Reads in order, maybe leaves, maybe cancels. */
    const readSome = async (n: number) => {
      const stop = new AbortController();
      const items = pool.streamWith({ signal: stop.signal, window: 1 + random.below(50) }).count(n);
      const leaveAt = random.chance(0.3) ? random.below(n) : -1;
      const stopAt = random.chance(0.2) ? random.below(n) : -1;
      let expected = 0;
      for await (const item of items) {
        assert.equal(item, expected++);
        if (item === leaveAt) return;
        if (item === stopAt) stop.abort('stop');
      }
      assert.equal(expected, n);
    };
    const readUntilLost = async () => {
      let expected = 0;
      for await (const item of pool.stream.exitsAt(random.below(300))) assert.equal(item, expected++);
    };
    const sumOf = async (n: number) => assert.equal(await pool.call.sum(source(n)), (n * (n - 1)) / 2);
    const progress = async (n: number) => {
      let told = 0;
      const onProgress = callback(done => assert.equal(done, ++told), { oneWay: true });
      assert.equal(await pool.call.report(onProgress, n), n);
      assert.equal(told, n);
    };
    const asked = async (n: number) => assert.equal(await pool.call.call(callback(async () => n)), n);
    const acts = [readSome, readSome, sumOf, progress, asked];
    const caller = async () => {
      for (let i = 0; i < 60; i++) {
        const act = random.chance(0.04) ? readUntilLost : random.pick(acts)!;
        try {
          await act(1 + random.below(1_500));
          finished++;
        } catch (error) {
          if (error === 'stop') continue;
          assert.ok(
            isHotlaneError(error, 'LANE_LOST') || isHotlaneError(error, 'LANE_START'),
            String((error as Error)?.stack ?? error),
          );
          lost++;
        }
      }
    };
    await Promise.all(Array.from({ length: 8 }, caller));
    assert.ok(lost > 3, `${lost} lost`);
    assert.ok(finished > 200, `${finished} finished`);
    await pool.close();
    while (closed < opened) await new Promise(resolve => setTimeout(resolve, 1));
    assert.equal(pool.stats().running, 0);
  });
});
