import { HotlaneError } from './errors.ts';
import type { Demand, TaskOutcomes } from './lane/lane.ts';
import { type PoolOptions, resolvePoolOptions } from './options.ts';
import type { WebWorker } from './place/dom.ts';
import { InlinePlacement } from './place/inline.ts';
import { type ModuleReference, resolveModule } from './place/load.ts';
import { clock, cores, warn } from './place/node.ts';
import { threadPlacement } from './place/thread.ts';
import { NodeWatch } from './place/watch.ts';
import { LanePool } from './pool.ts';
import type { Pool } from './pool-type.ts';
import type { AnyModule, TaskModule } from './types.ts';

export * from './exports.ts';
export type { ModuleReference } from './place/load.ts';

/**
 * Makes a pool that runs the functions of a module on other threads.
 *
 * ```ts
 * await using pool = createPool<typeof import('./tasks.js')>(new URL('./tasks.js', import.meta.url));
 * const answer = await pool.call.fib(40);
 * ```
 *
 * Nothing is started until the first call, unless `lanes.min` says so; calls can be made at once. A pool with
 * nothing in flight does not keep the process alive.
 *
 * @param module the task module: a file, node or data URL; a path, taken from the working directory; or a package's name. In
 *   browsers: a function that makes a worker whose script calls `expose` of `hotlane/web-worker`, which is the form that bundlers see,
 *   or the URL of a module that the browser can load as it is
 * @throws HotlaneError OPTION for an option or a module reference that cannot be right. That the module is missing
 *   or fails to load is told by the calls, with LANE_START.
 */
export function createPool<M extends TaskModule = AnyModule>(
  module: ModuleReference | (() => WebWorker),
  options?: PoolOptions,
): Pool<M> {
  if (typeof module === 'function') {
    throw new HotlaneError(
      'OPTION',
      "createPool: a function that makes a Worker is for browsers. Here, give the task module itself: new URL('./tasks.js', import.meta.url).",
    );
  }
  const resolved = resolvePoolOptions(options, cores);
  const url = resolveModule(module);
  const place = (outcomes: TaskOutcomes, demand: Demand) =>
    resolved.placement === 'inline'
      ? new InlinePlacement(url, resolved, outcomes, demand)
      : threadPlacement(url, resolved, outcomes, demand);
  const pool = new LanePool(resolved, clock, place, warn, new NodeWatch(url, resolved));
  return pool as unknown as Pool<M>;
}
