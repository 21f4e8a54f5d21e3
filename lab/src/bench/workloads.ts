import { readFileSync } from 'node:fs';
import type { Opened } from '../contenders/contender.ts';
import type { Workload } from '../harness/study.ts';
import type { Around } from '../native/ping-pong.ts';
import { blocking, blockingMetrics } from './kinds/blocking.ts';
import { breakEven, breakEvenMetrics, breakEvenSeries } from './kinds/break-even.ts';
import { asking, callbackMetrics, telling } from './kinds/callbacks.ts';
import { coldBurst, coldBurstMetrics, coldMetrics, coldStart, memory, memoryMetrics } from './kinds/cold.ts';
import { blocked, fairnessMetrics, mixed } from './kinds/fairness.ts';
import { idle, idleMetrics, tickMetrics, ticks } from './kinds/idle.ts';
import type { Kind } from './kinds/kind.ts';
import { type LoadOptions, latencySeries, load, loadMetrics } from './kinds/load.ts';
import { recycling, recyclingMetrics } from './kinds/recycling.ts';
import { chunkMetrics, itemMetrics, stream } from './kinds/stream.ts';
import { afterPause, settling, waitingMetrics } from './kinds/waiting.ts';
import { makeRecords } from './records.ts';
import { brotli, CHUNK_BYTES, parseJson, renderMarkdown, sha256 } from './tasks/tasks.ts';

/** A workload and the way to measure it. */
export interface Measured extends Workload {
  readonly kind: Kind;
  /** For the contenders in C: what goes on beside the handing over. Left out: nothing does, and a rate is taken. */
  readonly around?: Around;
}

const HANDED = [
  'hotlane',
  'piscina-default',
  'piscina-tuned',
  'tinypool',
  'comlink',
  'post-message',
  'post-message-serial',
];
const PIPELINED = ['hotlane', 'piscina-default', 'piscina-tuned', 'comlink', 'post-message'];
const POOLS = ['hotlane', 'piscina-default', 'piscina-tuned', 'tinypool'];
const ALL = [...HANDED, 'same-thread'];

const integers = () => Array.from({ length: 1024 }, (_, i) => i);
const increment = { fn: 'increment', inputs: integers, expect: (x: unknown) => (x as number) + 1 };

type About = Pick<Workload, 'group' | 'title' | 'contenders' | 'modes'>;

function loaded(about: About, options: LoadOptions): Measured {
  return { ...about, metrics: loadMetrics, series: latencySeries, kind: load(options) };
}

function noop(inFlight: number, modes: Workload['modes']): Measured {
  const contenders = inFlight === 1 ? [...ALL, 'c-futex', 'c-spin'] : ALL;
  const title = `x => x + 1, ${inFlight.toLocaleString('en')} in flight`;
  return loaded({ group: 'Calls', title, contenders, modes }, { ...increment, inFlight, threads: 1 });
}

function value(
  title: string,
  inFlight: number,
  inputs: () => readonly unknown[],
  modes: Workload['modes'] = [],
): Measured {
  const about = {
    group: 'Values',
    title: `${title}, in and out, ${inFlight} in flight`,
    contenders: PIPELINED,
    modes,
  };
  return loaded(about, { fn: 'echo', inFlight, threads: 1, inputs });
}

const real: Record<string, [title: string, run: (text: string) => unknown, input: () => string]> = {
  sha256: ['SHA-256 of 4 kB', sha256, () => text(4_096)],
  json: ['JSON.parse of 50 kB', parseJson, () => jsonOf(50_000)],
  brotli: ['brotli of 20 kB', brotli, () => text(20_480)],
  markdown: ['markdown of 10 kB', renderMarkdown, () => text(10_240)],
};

/** Text as people write it: this project's own pages. */
function text(length: number): string {
  const guide = readFileSync(new URL('../../../docs/guide/README.md', import.meta.url), 'utf8');
  return guide.repeat(Math.ceil(length / guide.length)).slice(0, length);
}

function jsonOf(length: number): string {
  const records = makeRecords(1_000, 7);
  let count = 1;
  while (JSON.stringify(records.slice(0, count)).length < length) count++;
  return JSON.stringify(records.slice(0, count));
}

function realWork(key: string, threads: number): Measured {
  const [title, run, input] = real[key]!;
  const contenders = [...PIPELINED, 'same-thread'];
  const about = {
    group: 'Real work',
    title: `${title}, ${threads} ${threads === 1 ? 'lane' : 'lanes'}`,
    contenders,
    modes: key === 'brotli' && threads === 2 ? (['quick'] as const) : [],
  };
  return loaded(about, {
    fn: run.name,
    inFlight: 4 * threads,
    threads,
    inputs: () => [input()],
    expect: given => run(given as string),
  });
}

const isNumber = (item: unknown, i: number) => item === i;
const isChunk = (item: unknown, i: number) => {
  const chunk = item as Uint8Array;
  return chunk.length === CHUNK_BYTES && chunk[0] === (i & 255) && chunk[CHUNK_BYTES - 1] === (i & 255);
};

function growth(threads: number, modes: Workload['modes']): Measured {
  const title = `x => x + 1, ${threads} ${threads === 1 ? 'lane' : 'lanes'}, 1,000 in flight`;
  const contenders = ['hotlane', 'piscina-tuned', 'post-message'];
  return loaded({ group: 'Growth', title, contenders, modes }, { ...increment, inFlight: 1_000, threads });
}

function busy(
  title: string,
  inFlight: number,
  options: Partial<LoadOptions>,
  modes: Workload['modes'],
): Measured {
  const contenders = ['hotlane', 'piscina-default', 'piscina-tuned', 'post-message'];
  return loaded(
    { group: 'Growth', title: `${title}, x => x + 1, ${inFlight} in flight`, contenders, modes },
    { ...increment, inFlight, threads: 1, ...options },
  );
}

function pausing(pauseMs: number, burst: number, modes: Workload['modes']): Measured {
  const what = burst === 1 ? 'one call' : `${burst} calls at once`;
  return {
    group: 'Waiting',
    title: `${what} after a pause of ${pauseMs >= 1_000 ? `${pauseMs / 1_000} s` : `${pauseMs} ms`}`,
    contenders: [
      'hotlane',
      'piscina-default',
      'tinypool',
      'post-message',
      ...(burst === 1 && pauseMs <= 100 ? ['c-futex'] : []),
    ],
    modes,
    metrics: waitingMetrics,
    kind: afterPause(pauseMs, burst),
    around: { pauseUs: pauseMs * 1_000 },
  };
}

const mixedValue = () => [
  {
    at: new Date(1_700_000_000_000),
    tags: new Set(['a', 'b', 'c']),
    counts: new Map([
      ['one', 1],
      ['two', 2],
    ]),
    pattern: /x+/g,
    ...ring(),
  },
];
function ring(): object {
  const node: { next?: unknown } = {};
  node.next = { back: node };
  return { node };
}

function streamed(title: string, kind: Kind, more: Partial<Measured> = {}): Measured {
  return {
    group: 'Streams',
    title,
    contenders: ['hotlane', 'comlink', 'post-message'],
    modes: [],
    metrics: itemMetrics,
    kind,
    ...more,
  };
}

function calledBack(title: string, kind: Kind, modes: Workload['modes']): Measured {
  return {
    group: 'Streams',
    title,
    contenders: ['hotlane', 'comlink'],
    modes,
    metrics: callbackMetrics,
    kind,
  };
}

function blocks(title: string, kind: Kind, modes: Workload['modes']): Measured {
  const contenders = ['hotlane', 'synckit', 'same-thread'];
  return { group: 'Blocking', title, contenders, modes, metrics: blockingMetrics, kind };
}

function broadcast(threads: number, modes: Workload['modes']): Measured {
  const about = {
    group: 'Fleet',
    title: `x => x + 1 on each of ${threads} lanes, all answers awaited, 1 in flight`,
    contenders: ['hotlane', 'post-message'],
    modes,
  };
  const via = ({ everywhere }: Opened) =>
    everywhere &&
    (async (input: unknown) => {
      const results = await everywhere(input);
      if (results.length !== threads) throw new Error(`${results.length} lanes answered, not ${threads}.`);
      return results;
    });
  const expect = (x: unknown) => Array(threads).fill((x as number) + 1);
  return loaded(about, { fn: 'increment', inFlight: 1, threads, inputs: integers, via, expect });
}

const KEYS_IN_FLIGHT = 1_000;

function inKeys(
  title: string,
  modes: Workload['modes'],
  via?: (keyed: NonNullable<Opened['keyed']>) => (input: unknown) => Promise<unknown>,
): Measured {
  const about = {
    group: 'Fleet',
    title: `${title}, x => x + 1 on 2 lanes, 1,000 in flight`,
    contenders: ['hotlane'],
    modes,
  };
  const options = { ...increment, inFlight: KEYS_IN_FLIGHT, threads: 2 };
  if (via === undefined) return loaded(about, options);
  return loaded(about, { ...options, via: ({ keyed }) => keyed && via(keyed) });
}

/** The calls of so many keys in turn, each through an object that was made once for its key. */
const keptFor = (keys: number) => (keyed: NonNullable<Opened['keyed']>) => {
  const calls = Array.from({ length: keys }, (_, key) => keyed(key));
  let next = 0;
  return (input: unknown) => calls[next++ % keys]!(input);
};

function unused(inFlight: number): Measured {
  const about = {
    group: 'Unused',
    title: `x => x + 1, ${inFlight.toLocaleString('en')} in flight, with options set that never take effect`,
    contenders: ['hotlane', 'hotlane-recycle', 'hotlane-deadline'],
    modes: [],
  };
  return loaded(about, { ...increment, inFlight, threads: 1 });
}

/** Every workload, by the name it has on command lines. */
export const workloads: Readonly<Record<string, Measured>> = {
  'noop-1': noop(1, ['quick', 'smoke']),
  'noop-8': noop(8, []),
  'noop-64': noop(64, ['quick']),
  'noop-1000': noop(1_000, ['quick']),

  'object-250': value('nested object of 250 bytes as JSON', 64, () => makeRecords(64, 7), ['quick']),
  'object-5k': value('list of 20 such objects', 64, () => [makeRecords(20, 7)]),
  numbers: value('100 numbers', 64, () => [Array.from({ length: 100 }, (_, i) => i * 1.5)]),
  latin1: value('64 KiB string, Latin-1', 16, () => ['é'.repeat(1_000) + 'x'.repeat(64_536)], ['quick']),
  utf16: value('64 Ki string beyond Latin-1', 16, () => ['ж'.repeat(65_536)]),
  'bytes-1m': value('1 MiB Uint8Array, copied', 8, () => [new Uint8Array(2 ** 20).fill(7)], ['quick']),
  mixed: value('Map, Set, Date, RegExp and a cycle', 64, mixedValue),
  'moved-64k': moved(2 ** 16),
  'moved-64m': moved(2 ** 26),

  'sha256-1': realWork('sha256', 1),
  'sha256-2': realWork('sha256', 2),
  'json-1': realWork('json', 1),
  'json-2': realWork('json', 2),
  'brotli-1': realWork('brotli', 1),
  'brotli-2': realWork('brotli', 2),
  'markdown-1': realWork('markdown', 1),
  'markdown-2': realWork('markdown', 2),
  'break-even': {
    group: 'Real work',
    title: 'break-even: the shortest task that two lanes do faster than one thread alone, 64 in flight',
    contenders: HANDED.filter(name => name !== 'post-message-serial'),
    modes: ['quick', 'smoke'],
    metrics: breakEvenMetrics,
    series: breakEvenSeries,
    kind: breakEven,
  },

  blocked: {
    group: 'Fairness',
    title: 'one of two lanes blocked for 200 ms, 1,000 short calls at once',
    contenders: [...POOLS, 'post-message'],
    modes: ['quick', 'smoke'],
    metrics: fairnessMetrics,
    kind: blocked,
  },
  'long-short': {
    group: 'Fairness',
    title: 'two lanes, 32 in flight, one call in fifty takes 20 ms',
    contenders: [...POOLS, 'post-message'],
    modes: [],
    metrics: fairnessMetrics,
    kind: mixed,
  },

  settle: {
    group: 'Waiting',
    title: 'a task of 20 ms: done in the lane to settled on the host',
    contenders: [...POOLS, 'post-message', 'c-futex'],
    modes: ['quick', 'smoke'],
    metrics: waitingMetrics,
    kind: settling,
    around: { workUs: 20_000 },
  },
  'pause-1': pausing(1, 1, []),
  'pause-2': pausing(2, 1, ['quick', 'smoke']),
  'pause-20': pausing(20, 1, ['quick']),
  'pause-100': pausing(100, 1, []),
  'pause-5000': pausing(5_000, 1, []),
  'burst-2': pausing(2, 64, []),
  'burst-20': pausing(20, 64, []),
  'burst-100': pausing(100, 64, []),

  idle: {
    group: 'Idle',
    title: 'idle after use, two lanes',
    contenders: ['hotlane', 'piscina-default', 'tinypool', 'post-message'],
    modes: ['quick', 'smoke'],
    metrics: idleMetrics,
    kind: idle,
  },
  ticks: {
    group: 'Idle',
    title: 'timers in an idle lane',
    contenders: ['hotlane', 'piscina-default', 'tinypool', 'post-message'],
    modes: ['quick'],
    metrics: tickMetrics,
    kind: ticks,
  },

  cold: {
    group: 'Cold',
    title: 'a new pool of one lane to its first result',
    contenders: [...POOLS, 'comlink', 'post-message'],
    modes: ['quick', 'smoke'],
    metrics: coldMetrics,
    kind: coldStart,
  },
  'cold-burst': {
    group: 'Cold',
    title: '1,000 calls of some 50 µs on a new pool with nothing set',
    contenders: ['hotlane', 'piscina-default', 'tinypool'],
    modes: ['quick'],
    metrics: coldBurstMetrics,
    kind: coldBurst,
  },
  memory: {
    group: 'Cold',
    title: 'memory of eight idle lanes',
    contenders: ['hotlane', 'piscina-default', 'tinypool', 'post-message'],
    modes: [],
    metrics: memoryMetrics,
    kind: memory,
  },

  'stream-sync': streamed('items of a generator, one stream after the other', stream('count', isNumber), {
    modes: ['quick', 'smoke'],
  }),
  'stream-async': streamed('items of an async generator', stream('countAsync', isNumber)),
  'stream-chunks': streamed(
    'chunks of 16 KiB of a generator',
    stream('chunks', isChunk, CHUNK_BYTES / 2 ** 20),
    { contenders: ['hotlane', 'post-message'], metrics: chunkMetrics },
  ),
  'callback-awaited': calledBack('callbacks of the lane, each awaited', asking, ['quick', 'smoke']),
  'callback-one-way': calledBack('callbacks of the lane, no answers wanted', telling, []),

  'sync-noop': blocks(
    'x => x + 1, blocking the caller',
    blocking('increment', integers, x => (x as number) + 1),
    ['quick', 'smoke'],
  ),
  'sync-text': blocks(
    '64 KiB string as argument, blocking the caller',
    blocking(
      'characters',
      () => ['x'.repeat(65_536)],
      text => (text as string).length,
    ),
    [],
  ),

  recycle: {
    group: 'Fleet',
    title:
      'two lanes that are replaced every 30,000 calls, x => x + 1, 64 in flight, to lanes that never are',
    contenders: ['hotlane'],
    modes: ['quick', 'smoke'],
    metrics: recyclingMetrics,
    kind: recycling,
  },
  'broadcast-2': broadcast(2, ['quick', 'smoke']),
  'broadcast-8': broadcast(8, []),
  'keys-none': inKeys('no keys', []),
  'keys-1': inKeys('all calls of one key', [], keptFor(1)),
  'keys-1000': inKeys('1,000 keys', ['quick', 'smoke'], keptFor(1_000)),
  'keys-1000-anew': inKeys('1,000 keys, with({ key }) anew for each call', [], keyed => {
    let next = 0;
    return input => keyed(next++ % 1_000)(input);
  }),

  'unused-1': unused(1),
  'unused-64': unused(64),
  'unused-1000': unused(1_000),

  'lanes-1': growth(1, ['quick']),
  'lanes-2': growth(2, []),
  'lanes-4': growth(4, []),
  'lanes-8': growth(8, ['quick']),
  'lanes-64': growth(64, []),
  'busy-host-1': busy('a host that is busy for 80 % of the time', 1, { hostBusy: 0.8 }, []),
  'busy-host-64': busy('a host that is busy for 80 % of the time', 64, { hostBusy: 0.8 }, ['quick']),
  'busy-machine-1': busy('a busy machine (another process loads a core)', 1, { machineBusy: true }, []),
  'busy-machine-64': busy('a busy machine (another process loads a core)', 64, { machineBusy: true }, []),
};

function moved(bytes: number): Measured {
  const size = bytes >= 2 ** 20 ? `${bytes / 2 ** 20} MiB` : `${bytes / 2 ** 10} KiB`;
  const about = {
    group: 'Values',
    title: `ArrayBuffer of ${size}, transferred, 1 in flight`,
    contenders: ['hotlane', 'piscina-default', 'post-message'],
    modes: [] as const,
  };
  const fresh = () => {
    const buffer = new ArrayBuffer(bytes);
    return { input: buffer, transfer: [buffer] };
  };
  return loaded(about, { fn: 'length', inFlight: 1, threads: 1, inputs: () => [bytes], fresh });
}
