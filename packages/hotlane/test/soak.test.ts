import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { holdings, leavesNothingBehind, tasksPool } from './support.ts';

leavesNothingBehind();

/** A small generator of its own, so that a failing run can be repeated. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

async function heapAfterGc(): Promise<number> {
  for (let i = 0; i < 4; i++) {
    globalThis.gc!();
    await sleep(10);
  }
  return process.memoryUsage().heapUsed;
}

describe('a million mixed calls', () => {
  it('all get the right answer, and leave heap, handles and threads as they were', {
    timeout: 300_000,
  }, async () => {
    assert.ok(globalThis.gc, 'run with --expose-gc');
    const total = Number(process.env.HOTLANE_SOAK_CALLS ?? 1_000_000);
    const pool = tasksPool({ lanes: 2, graceMs: 5_000 });
    const next = random(7);
    const record = { id: 1, name: 'Ada', tags: ['x', 'y'], at: new Date(0), nested: { deep: [1, 2, 3] } };
    const counts = { ok: 0, failed: 0, cancelled: 0 };

    const one = async (i: number): Promise<void> => {
      const dice = next();
      if (dice < 0.6) {
        assert.equal(await pool.call.add(i, 1), i + 1);
      } else if (dice < 0.8) {
        assert.deepEqual(await pool.call.echo(record), record);
      } else if (dice < 0.9) {
        await assert.rejects(pool.call.fail(String(i)), { message: String(i) });
        counts.failed++;
        return;
      } else if (dice < 0.98) {
        const text = `${i}`.repeat(1 + (i % 50));
        assert.equal(await pool.call.echo(text), text);
      } else if (dice < 0.999) {
        const stop = new AbortController();
        const call = pool.with({ signal: stop.signal }).add(i, 1);
        stop.abort('soak');
        await assert.rejects(call, reason => reason === 'soak');
        counts.cancelled++;
        return;
      } else {
        const bytes = new Uint8Array(100 + (i % 100_000)).fill(i);
        assert.equal(((await pool.call.echo(bytes)) as Uint8Array)[bytes.length - 1], i & 255);
      }
      counts.ok++;
    };
    const run = async (from: number, to: number): Promise<void> => {
      let i = from;
      await Promise.all(
        Array.from({ length: 200 }, async () => {
          while (i < to) await one(i++);
        }),
      );
    };

    const warm = Math.floor(total / 10);
    await run(0, warm);
    const heapBefore = await heapAfterGc();
    const before = holdings();
    await run(warm, total);
    const heapAfter = await heapAfterGc();
    const after = holdings();

    assert.equal(counts.ok + counts.failed + counts.cancelled, total);
    assert.equal(pool.stats().queued + pool.stats().running, 0);
    assert.ok(
      heapAfter - heapBefore < 4e6,
      `the heap grew by ${((heapAfter - heapBefore) / 1e6).toFixed(1)} MB`,
    );
    assert.equal(after.threads, before.threads);
    assert.deepEqual(after.resources, before.resources);
    await pool.close();
  });
});
