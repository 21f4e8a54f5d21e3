import type { Bar } from '../harness/study.ts';

const against = (what: string, workload: string, metric: string, contender: string, wanted: number): Bar => ({
  what,
  workload,
  metric,
  against: { contender },
  wanted,
});
const absolute = (what: string, workload: string, metric: string, wanted: number): Bar => ({
  what,
  workload,
  metric,
  against: 'absolute',
  wanted,
});

/** The design's "Numbers to beat". */
export const bars: readonly Bar[] = [
  against('noop, 1 in flight, p50, to piscina', 'noop-1', 'p50', 'piscina-default', 40),
  against('noop, 1 in flight, p50, to tinypool', 'noop-1', 'p50', 'tinypool', 40),
  absolute('noop, 1 in flight, p50', 'noop-1', 'p50', 2),
  against('noop, 64 in flight, to piscina tuned', 'noop-64', 'rate', 'piscina-tuned', 20),
  against('noop, 64 in flight, to postMessage pipelined', 'noop-64', 'rate', 'post-message', 4),
  against(
    'noop, 1,000 in flight, to awaiting on the same thread',
    'noop-1000',
    'rate',
    'same-thread',
    1 / 10,
  ),
  against('250-byte object, 64 in flight, to piscina tuned', 'object-250', 'rate', 'piscina-tuned', 8),
  against('250-byte object, 64 in flight, to postMessage', 'object-250', 'rate', 'post-message', 4),
  against('64 KiB string, to piscina tuned', 'latin1', 'rate', 'piscina-tuned', 3),
  against('1 MiB Uint8Array copied, to piscina tuned', 'bytes-1m', 'rate', 'piscina-tuned', 1.5),
  {
    what: 'transfer of 64 MiB, to one of 64 KiB: O(1) in size',
    workload: 'moved-64m',
    metric: 'p50',
    against: { workload: 'moved-64k' },
    wanted: 0.5,
  },
  against('one call after 2 ms, p50, to postMessage', 'pause-2', 'p50', 'post-message', 1 / 1.3),
  against('one call after 20 ms, p50, to postMessage', 'pause-20', 'p50', 'post-message', 1 / 1.3),
  {
    what: 'noop on 8 lanes, to 1 lane, 1,000 in flight',
    workload: 'lanes-8',
    metric: 'rate',
    against: { workload: 'lanes-1' },
    wanted: 0.6,
  },
  absolute('one of two lanes blocked, p99 of short calls', 'blocked', 'p99', 5),
  absolute('a task of 20 ms, done to settled, p50', 'settle', 'p50', 150),
  absolute('10 s idle after use, CPU of host and lanes', 'idle', 'cpu', 10),
  absolute('items of a generator', 'stream-sync', 'rate', 300_000),
  absolute('items of an async generator', 'stream-async', 'rate', 300_000),
  against('a blocking call, to synckit', 'sync-noop', 'took', 'synckit', 5),
  against('first call on a cold pool, to a bare worker', 'cold', 'first', 'post-message', 1 / 1.2),
];
