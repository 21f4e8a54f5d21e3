import { deepStrictEqual } from 'node:assert';
import type { Opened } from '../../contenders/contender.ts';
import { measureLatency, measureRate } from '../../harness/load.ts';
import type { Metric } from '../../harness/study.ts';
import { calm, type Kind, measured } from './kind.ts';

export interface LoadOptions {
  readonly fn: string;
  readonly inFlight: number;
  readonly threads: number;
  /** Inputs to take in turn; a power of two of them. */
  inputs(): readonly unknown[];
  /** What the function gives for an input; the input itself if left out. */
  expect?(input: unknown): unknown;
  /** Moves what this names instead of copying it; the input is made anew for each call. */
  fresh?(): { readonly input: unknown; readonly transfer: readonly object[] };
  /** The way to call, where it is not `call`; `inputs` go to what it returns. */
  via?(opened: Opened): ((input: unknown) => Promise<unknown>) | undefined;
  /** What the host does beside its calls: keeps its thread busy for so much of the time. */
  readonly hostBusy?: number;
  /** Another process keeps a core busy meanwhile. */
  readonly machineBusy?: boolean;
}

export const loadMetrics: Readonly<Record<string, Metric>> = {
  rate: { title: 'calls/s', better: 'more', unit: '1/s' },
  p50: { title: 'p50', better: 'less', unit: 'µs' },
  p99: { title: 'p99', better: 'less', unit: 'µs' },
  max: { title: 'max', better: 'less', unit: 'µs' },
  hostCpu: { title: 'host CPU/call', better: 'less', unit: 'µs' },
  laneCpu: { title: 'lanes CPU/call', better: 'less', unit: 'µs' },
};

export const latencySeries = {
  latency: { title: 'latency distribution', x: 'percentile', y: 'µs', logY: true },
};

/** A constant number of calls in flight: rate, latency, CPU. Results are checked before and after. */
export function load(options: LoadOptions): Kind {
  return {
    run: (contender, plan) =>
      measured(contender, options.fn, options.threads, async opened => {
        const inputs = options.inputs();
        const call = options.via === undefined ? callOf(opened, options.fresh) : options.via(opened);
        if (call === undefined) throw new TypeError(`${contender.name} cannot be called in this way.`);
        const target = { call, inputs, inFlight: options.inFlight, prepare: options.fresh };
        const verify = async () => {
          const some = inputs.slice(0, 64);
          if (options.fresh !== undefined) {
            await call(options.fresh());
            return;
          }
          const outputs = await Promise.all(some.map(input => call(input)));
          for (const [i, input] of some.entries())
            deepStrictEqual(outputs[i], options.expect?.(input) ?? input);
        };
        await verify();
        if (options.threads > 2) await calm(); // many threads take long to start, and some contenders serve calls meanwhile
        const end = options.hostBusy === undefined ? () => {} : keepHostBusy(options.hostBusy);
        const neighbour = options.machineBusy ? await startNeighbour() : null;
        // Each lane compiles the code for itself, and more lanes than cores take turns at it.
        const warmUpMs = plan.warmUpMs * Math.max(1, Math.min(8, options.threads) / 2);
        const rate = await measureRate(target, { ...plan, warmUpMs });
        const latency = await measureLatency(target, plan.latencyMs);
        end();
        neighbour?.kill();
        await verify();
        const { callsPerSecond, hostCpuUs, laneCpuUs } = rate;
        return {
          figures: {
            rate: callsPerSecond,
            p50: latency.p50Us,
            p99: latency.p99Us,
            max: latency.maxUs,
            hostCpu: hostCpuUs,
            laneCpu: laneCpuUs,
          },
          series: { latency: latency.distribution },
        };
      }),
  };
}

function callOf(opened: Opened, fresh: LoadOptions['fresh']): (input: unknown) => Promise<unknown> {
  if (fresh === undefined) return opened.call;
  const { move } = opened;
  if (move === undefined) throw new TypeError('This contender cannot move values.');
  return made => {
    const { input, transfer } = made as ReturnType<typeof fresh>;
    return move(input, transfer);
  };
}

const BUSY_EVERY_MS = 5;

/** Blocks the host's thread for a share of the time, in stretches, as an event loop that has other work. */
function keepHostBusy(share: number): () => void {
  const timer = setInterval(() => {
    const end = performance.now() + BUSY_EVERY_MS * share;
    while (performance.now() < end);
  }, BUSY_EVERY_MS);
  return () => clearInterval(timer);
}

async function startNeighbour(): Promise<{ kill(): void }> {
  const { spawn } = await import('node:child_process');
  // Ends by itself, should nobody end it.
  const loop = 'const end = Date.now() + 60000; while (Date.now() < end);';
  const child = spawn(process.execPath, ['-e', loop], { stdio: 'ignore' });
  return { kill: () => void child.kill() };
}
