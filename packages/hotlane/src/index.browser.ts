import { HotlaneError, show } from './errors.ts';
import type { Demand, TaskOutcomes } from './lane/lane.ts';
import { UNWATCHED } from './lane/watch.ts';
import { type PoolOptions, refuse, resolvePoolOptions } from './options.ts';
import type { WebWorker } from './place/dom.ts';
import { clock, cores, warn } from './place/web.ts';
import { webPlacement } from './place/web-thread.ts';
import { LanePool } from './pool.ts';
import type { Pool } from './pool-type.ts';
import type { AnyModule, TaskModule } from './types.ts';

export * from './exports.ts';

/**
 * Makes a pool that runs the functions of a module in web workers.
 *
 * ```ts
 * const pool = createPool<typeof import('./tasks.js')>(
 *   () => new Worker(new URL('./tasks.worker.js', import.meta.url), { type: 'module' }),
 * );
 * ```
 *
 * @param source what makes a worker, whose script calls `expose` of `hotlane/web-worker`: bundlers see that form; or the URL of a
 *   module that browsers can load as it is
 * @throws HotlaneError OPTION for an option or a source that cannot be right, or where the page is not isolated. That a script or
 *   module cannot be loaded is told by the calls, with LANE_START.
 */
export function createPool<M extends TaskModule = AnyModule>(
  source: (() => WebWorker) | URL | string,
  options?: PoolOptions,
): Pool<M> {
  const resolved = resolvePoolOptions(options, cores);
  if (resolved.placement !== 'thread')
    refuse('placement', "'thread': browsers have no other", resolved.placement);
  if (options?.heapMb !== undefined) refuse('heapMb', 'no such limit: browsers set it', options.heapMb);
  const { heapBytes } = options?.recycle ?? {};
  if (heapBytes !== undefined) refuse('recycle.heapBytes', 'no such limit: browsers do not tell', heapBytes);
  checkPlatform();
  const [create, module] = typeof source === 'function' ? [source, null] : [createEntry, urlOf(source)];
  const place = (outcomes: TaskOutcomes, demand: Demand) =>
    webPlacement(create, module, resolved, outcomes, demand);
  const pool = new LanePool(resolved, clock, place, warn, UNWATCHED);
  return pool as unknown as Pool<M>;
}

declare const Worker: new (url: URL, options: { type: 'module'; name: string }) => WebWorker;

/** Written so that bundlers see it, too. */
function createEntry(): WebWorker {
  return new Worker(new URL('./place/web-entry.js', import.meta.url), { type: 'module', name: 'hotlane' });
}

const { location, crossOriginIsolated } = globalThis as unknown as {
  readonly location: { readonly href: string };
  readonly crossOriginIsolated: boolean;
};

function urlOf(source: URL | string): string {
  const text = source instanceof URL ? source.href : source;
  if (typeof text === 'string' && URL.canParse(text, location.href)) return new URL(text, location.href).href;
  throw new HotlaneError(
    'OPTION',
    `createPool: expected a function that makes a Worker, or the URL of a module, got ${show(source)}.`,
  );
}

function checkPlatform(): void {
  if (typeof Worker !== 'function') {
    throw new HotlaneError(
      'OPTION',
      'createPool: this platform has no workers here. Make the pool in the page, or in a dedicated worker.',
    );
  }
  if (!crossOriginIsolated) {
    throw new HotlaneError(
      'OPTION',
      'createPool: lanes share memory with the page, which browsers allow to isolated pages. Serve it with the headers Cross-Origin-Opener-Policy: same-origin and Cross-Origin-Embedder-Policy: require-corp (or credentialless).',
    );
  }
  if (typeof Atomics.waitAsync !== 'function') {
    throw new HotlaneError(
      'OPTION',
      'createPool: this browser has no Atomics.waitAsync, with which lanes and page wait for each other. Later versions of all browsers have it.',
    );
  }
}
