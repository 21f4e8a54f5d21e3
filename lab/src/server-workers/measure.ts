import { watchCpu } from '../harness/cpu.ts';
import type { CellRuns } from '../harness/interleave.ts';
import type { JsonProcess } from '../harness/json-process.ts';
import { shuffled } from '../harness/random.ts';
import { summarise } from '../harness/stats.ts';
import type { CellResult, MeasureOptions } from '../harness/study.ts';
import type { LoadAnswer, LoadCommand } from './load.ts';
import type { Plan } from './plan.ts';
import { type Go, startClient, startServer } from './processes.ts';
import type { Used } from './server-entry.ts';
import { type Loaded, workloads } from './workloads.ts';

interface Running {
  readonly process: JsonProcess;
  readonly address: string;
}

/** A server that answers no more is not waited for longer than this beyond its turn. */
const TURN_GRACE_MS = 20_000;
const WINDOW_MS = 100;

/**
 * In each round all servers are started anew and kept; they take short turns on each workload, in an order that is shuffled anew
 * each time. What the machine does meanwhile it does to all of them, and ratios are taken within a turn.
 */
export const measureWith =
  (go: Go) =>
  async ({ cells, plan, rounds, random, onStart }: MeasureOptions<Plan>): Promise<CellRuns<CellResult>[]> => {
    const runs = cells.map(cell => ({ cell, outcomes: [] as CellRuns<CellResult>['outcomes'][number][] }));
    const names = [...new Set(cells.map(cell => cell.contender))];
    const keys = [...new Set(cells.map(cell => cell.workload))];
    for (let round = 0; round < rounds; round++) {
      const client = startClient(go);
      const servers = new Map<string, Running | Error>();
      for (const name of shuffled(names, random)) servers.set(name, await started(name, go, client, plan));
      for (const key of shuffled(keys, random)) {
        const workload = workloads[key]!;
        const together = runs.filter(run => run.cell.workload === key);
        for (const { cell } of together) onStart(cell, round);
        const turns = Math.max(1, Math.round(plan.turns * (workload.turns ?? 1)));
        for (let turn = 0; turn < turns; turn++) {
          // All contenders meet the same slow calls.
          const slowPlaces = workload.slowInTen
            ? Array.from({ length: 97 }, () => Math.floor(random() * 10)).join('')
            : '';
          for (const run of shuffled(together, random)) {
            const server = servers.get(run.cell.contender)!;
            try {
              if (server instanceof Error) throw server;
              const result = await takeTurn(server, client, workload, plan, slowPlaces);
              run.outcomes.push({ ok: true, result, lingered: false });
            } catch (error) {
              servers.set(run.cell.contender, error as Error);
              run.outcomes.push({ ok: false, failure: (error as Error).message });
            }
          }
        }
      }
      await client.close();
      const running = [...servers.values()].filter(server => !(server instanceof Error));
      await Promise.all(running.map(server => (server as Running).process.close()));
    }
    return runs;
  };

/** A server that has been under load for a while. */
async function started(name: string, go: Go, client: JsonProcess, plan: Plan): Promise<Running | Error> {
  try {
    const process = startServer(name, go);
    const { address } = await process.hear<{ address: string }>();
    await client.ask<LoadAnswer>(commandFor(address, {}, plan.firstMs, 0));
    return { process, address };
  } catch (error) {
    return error as Error;
  }
}

function commandFor(
  address: string,
  load: Partial<LoadCommand>,
  ms: number,
  warmUpMs: number,
  slowPlaces = '',
): LoadCommand {
  return {
    address,
    connections: 1,
    inFlight: 8,
    warmUpMs,
    ms,
    bytes: 1,
    workUs: 0,
    perSecond: 0,
    slowUs: 0,
    ...load,
    slowPlaces,
  };
}

async function takeTurn(
  { process: server, address }: Running,
  client: JsonProcess,
  { load, length = 1, metrics, series }: Loaded,
  plan: Plan,
  slowPlaces: string,
): Promise<CellResult> {
  const ms = plan.turnMs * length;
  const command = commandFor(address, load, ms, plan.warmUpMs, slowPlaces);
  const share = watchCpu();
  const before = await server.ask<Used>({});
  const answer = await withinMs(client.ask<LoadAnswer>(command), plan.warmUpMs + ms + TURN_GRACE_MS);
  const after = await server.ask<Used>({});
  const { wallMs, othersCores } = share();
  const all = figuresOf(answer, command, before, after);
  const oursCores = (after.allUs - before.allUs + answer.cpuUs) / 1000 / wallMs;
  return {
    figures: Object.fromEntries(Object.entries(all).filter(([name]) => name in metrics)),
    ...(series !== undefined && {
      series: { windows: answer.perWindow.map((calls, i) => [i * WINDOW_MS, calls] as const) },
    }),
    othersCores: Math.max(0, othersCores - oursCores),
  };
}

function figuresOf(answer: LoadAnswer, command: LoadCommand, before: Used, after: Used) {
  const { allCalls, perSecond, perWindow } = answer;
  const bits = perSecond * command.bytes * 8;
  const { median, min } = summarise(perWindow);
  // Where no call has ended there is no latency.
  const latencies = answer.calls > 0 && {
    p50: answer.p50Us,
    p90: answer.p90Us,
    p99: answer.p99Us,
    mean: answer.meanUs,
  };
  const figures: Record<string, number> = {
    ...latencies,
    rate: perSecond,
    cpu: (after.allUs - before.allUs) / allCalls,
    hostCpu: (after.hostUs - before.hostUs) / allCalls,
    clientCpu: answer.cpuUs / allCalls,
    requestBits: bits,
    responseBits: bits,
    throughput: (perSecond * command.bytes) / 2 ** 20,
    calls: answer.calls,
    dip: min / median,
    replaced: (after.replaced ?? 0) - (before.replaced ?? 0),
  };
  return figures;
}

function withinMs<T>(result: Promise<T>, ms: number): Promise<T> {
  let timer: NodeJS.Timeout;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer after ${Math.round(ms / 1000)} s`)), ms);
  });
  return Promise.race([result, late]).finally(() => clearTimeout(timer));
}
