/** Prints the life of lanes on stderr, a line each, for who sets `NODE_DEBUG=hotlane` or `HOTLANE_DEBUG=1`. */
import { basename } from 'node:path';
import { debuglog } from 'node:util';
import { isMainThread, threadId } from 'node:worker_threads';
import type { LaneNews } from '../lane/watch.ts';
import type { ResolvedPoolOptions } from '../options.ts';
import type { PoolNews } from './channels.ts';

const { HOTLANE_DEBUG = '' } = process.env;
export const debugging = debuglog('hotlane').enabled || (HOTLANE_DEBUG !== '' && HOTLANE_DEBUG !== '0');

export function printPool(pool: PoolNews, options: ResolvedPoolOptions): void {
  const { placement, minLanes, maxLanes, concurrency } = options;
  const lanes = minLanes === maxLanes ? `${maxLanes}` : `${minLanes} to ${maxLanes}`;
  print(pool, `made, placement ${placement}, lanes ${lanes}, concurrency ${concurrency}`);
}

export function printLane(pool: PoolNews, { id, state, cause, ageMs, calls, replaces }: LaneNews): void {
  const why = cause === undefined ? '' : `: ${describe(cause)}`;
  const after = `after ${duration(ageMs)}`;
  const ran = `${calls} ${calls === 1 ? 'call' : 'calls'}`;
  const line = {
    starting: replaces === undefined ? '' : `, recycles lane ${replaces}`,
    up: ` ${after}`,
    draining: ` ${after}, ${ran}${why}`,
    ended: ` ${after}, ${ran}${why}`,
  }[state];
  print(pool, `lane ${id} ${state}${line}`);
}

export function printBackOff(pool: PoolNews, cause: unknown, waitMs: number): void {
  print(pool, `a lane could not start, next try in ${duration(waitMs)}: ${describe(cause)}`);
}

function print({ pool, module }: PoolNews, what: string): void {
  const thread = isMainThread ? '' : ` thread ${threadId}`;
  process.stderr.write(`HOTLANE ${process.pid}:${thread} pool ${pool} (${shortName(module)}) ${what}\n`);
}

/** A file's name; a package's, a data URL's beginning. */
function shortName(module: string): string {
  return module.startsWith('file:') ? basename(new URL(module).pathname) : module.slice(0, 40);
}

function describe(cause: unknown): string {
  const text = cause instanceof Error ? `${cause.name}: ${cause.message}` : String(cause);
  return text.split('\n', 1)[0];
}

function duration(ms: number): string {
  return ms < 10_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`;
}
