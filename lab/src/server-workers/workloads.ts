import type { Curve, Metric, Workload } from '../harness/study.ts';
import { type DriverName, drivers } from './drivers.ts';
import { EVERY_ALLOCATION } from './heaps.ts';
import type { LoadCommand } from './load.ts';

/** A workload and the load that makes it. */
export interface Loaded extends Workload {
  readonly load: Partial<LoadCommand>;
  /** Of ten calls one, at random, is slow. */
  readonly slowInTen?: boolean;
  /** A load generator of others makes the calls. */
  readonly driver?: DriverName;
  /** Heaps are watched, by so many bytes: the fewer, the slower the server. */
  readonly heapInterval?: number;
  /** How many times the plan's turns, and their length. @default 1 */
  readonly turns?: number;
  readonly length?: number;
}

const rate: Metric = { title: 'calls/s', better: 'more', unit: '1/s' };
const latency: Readonly<Record<string, Metric>> = {
  p50: { title: 'p50', better: 'less', unit: 'µs' },
  p90: { title: 'p90', better: 'less', unit: 'µs' },
  p99: { title: 'p99', better: 'less', unit: 'µs' },
  mean: { title: 'mean', better: 'less', unit: 'µs' },
};
const cpu: Metric = { title: 'server CPU/call', better: 'less', unit: 'µs' };
const calls: Metric = { title: 'calls in a turn', better: 'more', unit: '', follows: true };

/** What the published benchmark tells. */
const callMetrics: Readonly<Record<string, Metric>> = {
  rate,
  ...latency,
  cpu,
  hostCpu: { title: 'of its main thread', better: 'less', unit: 'µs', follows: true },
  clientCpu: { title: 'client CPU/call', better: 'less', unit: 'µs', follows: true },
  requestBits: { title: 'request bit/s', better: 'more', unit: '', follows: true },
  responseBits: { title: 'response bit/s', better: 'more', unit: '', follows: true },
  calls,
};
const workMetrics: Readonly<Record<string, Metric>> = {
  rate,
  p50: latency.p50!,
  p99: latency.p99!,
  cpu,
  clientCpu: callMetrics.clientCpu!,
  calls,
};

/** Servers that run in Node on one thread or hand over to others; without what takes a second for a burst. */
const SERVERS = ['inline', 'post-message', 'lanes-1', 'lanes-2', 'auto', 'connect', 'go-0', 'go-n'];
const PLACES = ['inline', 'lanes-1', 'lanes-2', 'auto'];
const ONE_BYTE = '1 byte each way';
/** Of which 100 ms in ten calls keep one of two lanes busy. */
const ARRIVALS_PER_SECOND = 100;
const SLOW_US = 100_000;

function inFlight(count: number, contenders: readonly string[], more: Partial<Loaded> = {}): Loaded {
  return {
    group: 'Calls in flight',
    title: `${ONE_BYTE}, ${count} in flight`,
    metrics: callMetrics,
    contenders,
    modes: ['quick'],
    load: { inFlight: count },
    ...more,
  };
}

function working(ms: number, more: Partial<Loaded> = {}): Loaded {
  return {
    group: 'CPU of handlers',
    title: `${ms} ms of CPU for each call, 8 at once`,
    metrics: workMetrics,
    contenders: PLACES,
    modes: ['quick'],
    load: { workUs: ms * 1000 },
    ...more,
  };
}

/** Without a thread for each call, which takes its profile with it. */
function allocating(what: string, metrics: Loaded['metrics'], more: Partial<Loaded>): Loaded {
  return inFlight(8, [], {
    title: `${ONE_BYTE}, 8 in flight: ${what}`,
    metrics,
    modes: ['quick', 'smoke'],
    turns: 0.4,
    ...more,
  });
}

function drivenBy(driver: DriverName): Loaded {
  return {
    group: 'Other load generators',
    title: `${ONE_BYTE}, 8 at once, by ${drivers[driver].name}`,
    metrics: {
      rate,
      p50: latency.p50!,
      p90: latency.p90!,
      p99: latency.p99!,
      cpu,
      clientCpu: callMetrics.clientCpu!,
    },
    contenders: ['inline', 'post-message', 'lanes-1', 'auto', 'go-0'],
    modes: ['quick'],
    load: {},
    driver,
    turns: 0.2,
    length: 5,
  };
}

function slow(title: string, slowInTen: boolean, modes: Workload['modes']): Loaded {
  return {
    group: 'One slow call in ten',
    title,
    metrics: { p50: latency.p50!, p90: latency.p90!, p99: latency.p99!, mean: latency.mean!, calls },
    contenders: ['lanes-2', 'round-robin'],
    modes,
    load: { perSecond: ARRIVALS_PER_SECOND, slowUs: SLOW_US },
    slowInTen,
    turns: 0.7,
    length: 8,
  };
}

export const workloads: Readonly<Record<string, Loaded>> = {
  'calls-8': inFlight(8, ['inline', 'spawn', ...SERVERS.slice(1)], { modes: ['quick', 'smoke'], turns: 2.4 }),
  'calls-1': inFlight(1, SERVERS, { turns: 0.7 }),
  'calls-64': inFlight(64, SERVERS, { turns: 0.7 }),
  'calls-256': inFlight(256, SERVERS, { turns: 0.7 }),
  'connections-64': inFlight(64, SERVERS, {
    title: `${ONE_BYTE}, one call on each of 64 connections`,
    load: { inFlight: 64, connections: 64 },
    turns: 0.7,
    modes: ['quick', 'smoke'],
  }),
  'allocated-bytes': allocating(
    'bytes allocated on heaps (in Node estimated by a sampling profile)',
    {
      bytes: { title: 'bytes/call', better: 'less', unit: '' },
      hostBytes: { title: 'of its main thread', better: 'less', unit: '', follows: true },
    },
    { contenders: SERVERS, heapInterval: 2 ** 14 },
  ),
  allocations: allocating(
    'allocations on heaps (in Node by a profile of every one, which slows it tenfold)',
    {
      allocations: { title: 'allocations/call', better: 'less', unit: '' },
      hostAllocations: { title: 'of its main thread', better: 'less', unit: '', follows: true },
    },
    // Slow handlers would move from inline to lanes.
    { contenders: SERVERS.filter(name => name !== 'auto'), heapInterval: EVERY_ALLOCATION },
  ),
  'cpu-0': working(0, { turns: 0.7 }),
  'cpu-0.1': working(0.1),
  'cpu-0.5': working(0.5),
  'cpu-2': working(2, { modes: ['quick', 'smoke'], turns: 1.7, length: 1.5 }),
  'cpu-20': working(20, { turns: 0.7, length: 2.5 }),
  'slow-beside': slow('fast calls, 100/s, beside one of 100 ms in ten', true, ['quick', 'smoke']),
  'slow-alone': slow('the same without the slow ones', false, ['quick']),
  'large-1m': {
    group: 'Large messages',
    title: '1 MiB each way, 8 in flight',
    metrics: {
      rate,
      throughput: { title: 'each way', better: 'more', unit: 'MiB/s', follows: true },
      p50: latency.p50!,
      p99: latency.p99!,
      cpu,
    },
    contenders: ['inline', 'post-message', 'lanes-2'],
    modes: ['quick', 'smoke'],
    load: { bytes: 2 ** 20 },
    turns: 1.7,
    length: 1.6,
  },
  recycling: {
    group: 'Recycling',
    title: 'lanes replaced every 5,000 calls, 8 at once',
    metrics: {
      rate,
      dip: { title: 'worst 100 ms, to the median', better: 'more', unit: '×' },
      p99: latency.p99!,
      replaced: { title: 'lanes replaced', better: 'more', unit: '', follows: true },
    },
    series: { windows: { title: 'calls in each 100 ms', x: 'ms', y: 'calls' } },
    contenders: ['recycled', 'lanes-2'],
    modes: ['quick', 'smoke'],
    load: {},
    turns: 0.7,
    length: 6,
  },
  'driver-grpc-go': drivenBy('grpc-go'),
  'driver-ghz': drivenBy('ghz'),
};

const BY_IN_FLIGHT = [1, 8, 64, 256].map(count => [count, `calls-${count}`] as const);
const BY_CPU = [0, 0.1, 0.5, 2, 20].map(ms => [ms, `cpu-${ms}`] as const);

export const curves: readonly Curve[] = [
  {
    group: 'Calls in flight',
    title: `${ONE_BYTE}: p50 by calls in flight`,
    metric: 'p50',
    points: BY_IN_FLIGHT,
    x: 'in flight',
    y: 'µs',
    logX: true,
    logY: true,
  },
  {
    group: 'CPU of handlers',
    title: '8 at once: calls/s by CPU of each call',
    metric: 'rate',
    points: BY_CPU.slice(1), // 0 has no place on a logarithmic scale
    x: 'ms of CPU',
    y: 'calls/s',
    logX: true,
    logY: true,
  },
];
