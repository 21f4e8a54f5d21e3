import { callback, createPool, type PoolOptions } from 'hotlane';
import type { Opened, Target, TaskFunction } from './contender.ts';

type Blocking = Record<string, (input: unknown) => unknown>;
type Streaming = Record<string, (input: unknown) => AsyncIterable<unknown>>;

/** @param options beside the number of lanes */
export function openHotlane(
  { module, fn, threads, recycleAfter }: Target,
  options: PoolOptions = {},
): Opened {
  const pool = createPool<Record<string, TaskFunction>>(new URL(module), {
    ...options,
    ...(threads !== 'adaptive' && { lanes: threads }),
    ...(recycleAfter !== undefined && { recycle: { afterCalls: recycleAfter } }),
  });
  const stream = pool.stream as Streaming;
  const { sync } = pool as { sync?: Blocking };
  return {
    call: pool.call[fn]!,
    move: (input, transfer) => pool.with({ transfer })[fn]!(input),
    ...(sync !== undefined && { sync: sync[fn]! }),
    each: async (input, onItem) => {
      for await (const item of stream[fn]!(input)) onItem(item);
    },
    callingBack: (input, back, oneWay) => pool.call[fn]!(input, callback(back, { oneWay })),
    everywhere: input => pool.broadcast[fn]!(input),
    keyed: key => pool.with({ key })[fn]!,
    threadsSoFar: () => Math.max(...pool.stats().lanes.map(lane => lane.id)), // lanes are numbered from 1
    close: () => pool.close(),
  };
}

/** What the version that is built has no way to do. */
export function hotlaneLacks(): readonly (keyof Opened)[] {
  const pool = createPool('data:text/javascript,', { lanes: { min: 0 } }); // starts nothing
  void pool.close();
  return 'sync' in pool ? [] : ['sync'];
}
