/** Runs in a page: the call contract, case by case, as the test outside asks for it. */
import { createPool, isHotlaneError } from 'hotlane';
import { callContract } from 'hotlane/testing';
import { capabilities } from './capabilities.ts';

const subject = {
  capabilities,
  createPool: (options: object, module: 'tasks' | 'missing') =>
    createPool<any>(
      () =>
        new Worker(new URL(module === 'tasks' ? './tasks.worker.js' : './missing.js', import.meta.url), {
          type: 'module',
        }),
      options,
    ),
};

declare const Worker: new (url: URL, options: object) => never;

const cases = callContract(subject as never);

Object.assign(globalThis, {
  createPool,
  /** What one call of a pool comes to whose workers have this script. */
  async failureOf(script: string): Promise<string> {
    const pool = createPool<any>(() => new Worker(new URL(script, import.meta.url), { type: 'module' }), {
      lanes: 1,
      onError: () => {},
    });
    try {
      return `it gave ${await pool.call.add(1, 1)}`;
    } catch (error) {
      return isHotlaneError(error) ? `${error.code}: ${error.message}` : String(error);
    } finally {
      await pool.close();
    }
  },
  /** @returns null, or what went wrong */
  async runCase(name: string): Promise<string | null> {
    try {
      await cases.find(one => one.name === name)!.run();
      return null;
    } catch (error) {
      return describe(error);
    }
  },
});

/** Stacks begin with the message in some browsers only. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause === undefined ? '' : `\ncaused by ${describe(error.cause)}`;
  return `${error.name}: ${error.message}\n${error.stack}${cause}`;
}
