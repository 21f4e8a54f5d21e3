import { HotlaneError } from '../errors.ts';
import type { Tasks } from './tasks.ts';

/** What a lane runs once before its first call, and once after its last. */
export interface HookOptions {
  /** Names of exported functions. */
  readonly setup: string | undefined;
  readonly teardown: string | undefined;
  /** The lane's own copy of what the pool was given for them. */
  readonly data: unknown;
  readonly laneId: number;
}

/** Runs a lane's `setup`. @throws HotlaneError LANE_START with what it threw as the cause */
export async function setUp(tasks: Tasks, { setup, data, laneId }: HookOptions): Promise<void> {
  if (setup === undefined) return;
  const run = findHook(tasks, 'setup', setup);
  try {
    await run(data, { laneId });
  } catch (error) {
    throw new HotlaneError(
      'LANE_START',
      `Lane ${laneId}: its setup, \`${setup}\`, failed: ${describe(error)}`,
      {
        cause: error,
      },
    );
  }
}

/**
 * What runs a lane's `teardown`; null when there is none. It settles with undefined, or the error that tells what went
 * wrong.
 *
 * @throws HotlaneError LANE_START when there is no such function
 */
export function tearDown(
  tasks: Tasks,
  { teardown, data, laneId }: HookOptions,
): (() => Promise<HotlaneError | undefined>) | null {
  if (teardown === undefined) return null;
  const run = findHook(tasks, 'teardown', teardown);
  return async () => {
    try {
      await run(data, { laneId });
    } catch (error) {
      const message = `Lane ${laneId}: its teardown, \`${teardown}\`, failed: ${describe(error)}`;
      return new HotlaneError('LANE_LOST', message, { cause: error });
    }
  };
}

/** Both are looked for at the start, so that a wrong name is not found out at the end. */
function findHook(tasks: Tasks, option: string, name: string): (...args: unknown[]) => unknown {
  try {
    return tasks.find(name);
  } catch (error) {
    throw new HotlaneError('LANE_START', `Option \`${option}\`: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

function describe(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}
