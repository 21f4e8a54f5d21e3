import { callback, createPool, type PoolOptions } from 'hotlane';
import type { Opened, Target, TaskFunction } from './contender.ts';

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
  return {
    call: pool.call[fn]!,
    move: (input, transfer) => pool.with({ transfer })[fn]!(input),
    sync: pool.sync[fn]!,
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
