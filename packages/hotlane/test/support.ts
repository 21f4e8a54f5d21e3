import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { after, before } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createPool, type ErrorCode, isHotlaneError, type Pool, type PoolOptions } from 'hotlane';

export type Tasks = typeof import('./fixtures/tasks.ts');

export const PLACEMENTS = ['thread', 'inline'] as const;

export function fixture(name: string): URL {
  return new URL(`./fixtures/${name}`, import.meta.url);
}

export function tasksPool(options?: PoolOptions): Pool<Tasks> {
  return createPool<Tasks>(fixture('tasks.ts'), options);
}

/** For `assert.rejects`: an error of ours, of this kind, with this in its message. */
export function code(expected: ErrorCode, message?: RegExp): (error: unknown) => boolean {
  return error => {
    assert.ok(
      isHotlaneError(error, expected),
      `expected ${expected}, got ${String((error as Error)?.stack ?? error)}`,
    );
    if (message !== undefined) assert.match(error.message, message);
    return true;
  };
}

/** Waits until something is so. The test's own timeout bounds it. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await sleep(1);
}

export function counters(): Int32Array {
  return new Int32Array(new SharedArrayBuffer(64));
}

/** What the process holds: threads, and everything that would keep its event loop going. */
export function holdings(): { threads: number; resources: string[] } {
  const threads = process.platform === 'linux' ? readdirSync('/proc/self/task').length : 0;
  const resources = process
    .getActiveResourcesInfo()
    .filter(name => /Worker|Port|Timeout|Immediate|FSEvent/.test(name));
  return { threads, resources: resources.sort() };
}

/** Checks that a file's tests leave no thread, port or timer behind. Call it first. */
export function leavesNothingBehind(): void {
  let beforeAll: ReturnType<typeof holdings>;
  before(async () => {
    const warm = tasksPool({ lanes: 1 }); // what Node keeps after its first worker is not counted
    await warm.call.add(1, 1);
    await warm.close();
    await sleep(20);
    beforeAll = holdings();
  });
  after(async () => {
    for (let tries = 0; tries < 100; tries++) {
      const now = holdings();
      if (now.threads <= beforeAll.threads && now.resources.length <= beforeAll.resources.length) return;
      await sleep(20);
    }
    assert.deepEqual(holdings(), beforeAll);
  });
}
