import { fileURLToPath } from 'node:url';
import { createSyncFn } from 'synckit';
import type { Contender } from './contender.ts';

/** Its `workerData` is its own, so the worker is told by the environment what to call. */
export const TARGET_VARIABLE = 'HOTLANE_LAB_TARGET';

export const contender: Contender = {
  name: 'synckit',
  settings: 'createSyncFn and runAsWorker, all at their defaults; one thread',
  async open(target) {
    process.env[TARGET_VARIABLE] = JSON.stringify(target);
    const entry = fileURLToPath(new URL('./synckit-entry.ts', import.meta.url));
    const sync = createSyncFn<(input: unknown) => unknown>(entry);
    // Its threads hold no process, and there is no way to end them.
    return { call: async input => sync(input), sync, close: async () => {} };
  },
};
