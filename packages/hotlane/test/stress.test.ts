import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Worker } from 'node:worker_threads';
import { isHotlaneError } from 'hotlane';
import { Random } from '../src/testing/random.ts';
import { counters, leavesNothingBehind, tasksPool } from './support.ts';

leavesNothingBehind();

const CALLS = 10_000;

/** So many calls must have settled between two threads that are ended: on a slow machine, too, the test goes on. */
const CALLS_BETWEEN = 50;

/** Ends threads from outside, wherever they are just then; those that have lived a while, so that lanes do come up. */
class Killer {
  killed = 0;
  readonly #threads: Worker[] = [];
  readonly #timer: NodeJS.Timeout;

  /** @param settled how many calls have settled so far */
  constructor(random: Random, settled: () => number) {
    let next = 0;
    process.on('worker', this.#onWorker);
    this.#timer = setInterval(() => {
      const old = settled() < next ? undefined : this.#threads.shift();
      if (old === undefined) return;
      next = settled() + CALLS_BETWEEN;
      // At any moment of a turn of the loop, and so at any step of what the lane does.
      const until = performance.now() + random.next();
      while (performance.now() < until);
      void old.terminate();
      this.killed++;
    }, 60);
  }

  readonly #onWorker = (worker: Worker): void =>
    void setTimeout(() => this.#threads.push(worker), 150).unref();

  stop(): void {
    clearInterval(this.#timer);
    process.off('worker', this.#onWorker);
  }
}

/** The real memory: more lanes than cores, which exit, are ended in loops, and are asked for all sorts at once. */
for (const { lanes, concurrency } of [
  { lanes: 2, concurrency: 1 },
  { lanes: 8, concurrency: 1 },
  { lanes: 3, concurrency: 4 },
]) {
  describe(`${lanes} lanes, ${concurrency} at once in each, that are lost at random`, () => {
    it('settle every call, each with its own answer or an error that fits', {
      timeout: 120_000,
    }, async () => {
      const random = new Random(lanes);
      const counts = { answered: 0, lost: 0, cancelled: 0 };
      let made = 0;
      const shared = counters();
      const settled = () => counts.answered + counts.lost + counts.cancelled;
      const killer = new Killer(random, settled);
      await using pool = tasksPool({ lanes, concurrency, graceMs: 20, onError: () => {} });

      const one = async (i: number): Promise<void> => {
        const dice = random.next();
        if (dice < 0.002) await pool.call.exit(1);
        else if (dice < 0.004) await pool.with({ deadlineMs: 5 }).loopForever();
        else if (dice < 0.1) {
          const stop = new AbortController();
          const call = pool.with({ signal: stop.signal }).add(i, 1);
          if (dice < 0.05) setTimeout(() => stop.abort('stress'), 1);
          else stop.abort('stress');
          assert.equal(await call, i + 1);
        } else if (dice < 0.2) assert.equal(await pool.call.later(i, 1), i);
        else if (dice < 0.25) {
          const bytes = new Uint8Array(random.below(200_000)).fill(i);
          const echoed = (await pool.call.echo(bytes)) as Uint8Array;
          assert.equal(echoed.length, bytes.length);
          assert.equal(echoed.at(-1), bytes.at(-1));
        } else if (dice < 0.26) {
          for (const sum of await pool.broadcast.add(i, 1)) assert.equal(sum, i + 1);
        } else if (dice < 0.27) {
          const buffer = new ArrayBuffer(1_000);
          const back = (await pool.with({ transfer: [buffer] }).echo(buffer)) as ArrayBuffer;
          assert.equal(back.byteLength, 1_000);
        } else if (dice < 0.35) {
          // Shared memory goes by the side: the lane claims, then waits for a message. It may die between.
          assert.ok((await pool.call.mark(shared, 0)) >= 0);
        } else assert.equal(await pool.call.add(i, 1), i + 1);
      };
      const worker = async (): Promise<void> => {
        while (made < CALLS) {
          try {
            await one(made++);
            counts.answered++;
          } catch (error) {
            if (isHotlaneError(error, 'LANE_LOST') || isHotlaneError(error, 'LANE_START')) counts.lost++;
            else if (error === 'stress' || isHotlaneError(error, 'DEADLINE')) counts.cancelled++;
            else throw error;
          }
        }
      };
      await Promise.all(Array.from({ length: 100 }, worker)).finally(() => killer.stop());
      assert.ok(killer.killed > 5, `${killer.killed} threads ended from outside`);
      assert.equal(settled(), made);
      assert.ok(counts.lost > 0 && counts.cancelled > 0, JSON.stringify(counts));
      await pool.close();
      const { queued, running } = pool.stats();
      assert.deepEqual({ queued, running }, { queued: 0, running: 0 });
    });
  });
}

describe('single calls whose answers come just when the host goes to sleep', () => {
  it('are all answered', { timeout: 120_000 }, async () => {
    await using pool = tasksPool({ lanes: 1 });
    for (let i = 0; i < 60_000; i++) await pool.call.spin((i % 600) * 10);
  });
});
