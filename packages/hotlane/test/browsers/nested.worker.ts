/** A worker that makes a pool of its own. */
import { createPool } from 'hotlane';

const { postMessage } = globalThis as unknown as { postMessage(message: unknown): void };
const pool = createPool<typeof import('hotlane/testing/tasks')>(
  () => new Worker(new URL('./tasks.worker.js', import.meta.url), { type: 'module' }),
  { lanes: 2 },
);
declare const Worker: new (url: URL, options: object) => never;

const sums = await Promise.all([1, 2, 3].map(n => pool.call.add(n, n)));
const blocked = pool.sync.add(20, 22);
await pool.close();
postMessage({ sums, blocked });
