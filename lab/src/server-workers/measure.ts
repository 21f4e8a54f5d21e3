import { watchCpu } from '../harness/cpu.ts';
import type { Cell, CellRuns } from '../harness/interleave.ts';
import type { JsonProcess } from '../harness/json-process.ts';
import { shuffled } from '../harness/random.ts';
import { summarise } from '../harness/stats.ts';
import type { CellResult, MeasureOptions } from '../harness/study.ts';
import { type DriverName, drive, drivers } from './drivers.ts';
import type { Driven, LoadAnswer, LoadCommand } from './load.ts';
import type { Plan } from './plan.ts';
import { type Go, prepareDriver, runProgram, startClient, startServer } from './processes.ts';
import type { Used, UsedCommand } from './server-entry.ts';
import { type Loaded, workloads } from './workloads.ts';

interface Running {
  readonly process: JsonProcess;
  readonly address: string;
}

/** Has a server called, and tells what came of it. */
type Generate = (command: LoadCommand) => Promise<Driven & Partial<LoadAnswer>>;

/** A server that answers no more is not waited for longer than this beyond its turn. */
const TURN_GRACE_MS = 20_000;
const WINDOW_MS = 100;

/**
 * In each round all servers are started anew and kept; they take short turns on each workload, in an order that is shuffled anew
 * each time. What the machine does meanwhile it does to all of them, and ratios are taken within a turn.
 */
export const measureWith =
  (go: Go) =>
  async ({
    cells: wanted,
    plan,
    rounds,
    random,
    onStart,
  }: MeasureOptions<Plan>): Promise<CellRuns<CellResult>[]> => {
    const binaries = await findDrivers(wanted, go);
    const cells = wanted.filter(({ workload }) => {
      const { driver } = workloads[workload]!;
      return driver === undefined || binaries.has(driver);
    });
    const runs = cells.map(cell => ({ cell, outcomes: [] as CellRuns<CellResult>['outcomes'][number][] }));
    const names = [...new Set(cells.map(cell => cell.contender))];
    const keys = [...new Set(cells.map(cell => cell.workload))];
    for (let round = 0; round < rounds; round++) {
      const client = startClient(go);
      const servers = new Map<string, Running | Error>();
      for (const name of shuffled(names, random)) servers.set(name, await started(name, go, client, plan));
      // Heaps are watched last, so that no server is timed after its heap was watched.
      const inOrder = shuffled(keys, random).sort((a, b) => isWatched(a) - isWatched(b));
      for (const key of inOrder) {
        const workload = workloads[key]!;
        const generate = generatorFor(workload, client, binaries, go);
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
              const result = await takeTurn(server, generate, workload, plan, slowPlaces);
              run.outcomes.push({ ok: true, result, lingered: false });
            } catch (error) {
              servers.set(run.cell.contender, error as Error);
              if (!(server instanceof Error)) await server.process.close();
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

const isWatched = (key: string) => Number(workloads[key]!.heapInterval !== undefined);

/** The programs of load generators that cells ask for; what is missing is told. */
async function findDrivers(cells: readonly Cell[], go: Go): Promise<Map<DriverName, string>> {
  const binaries = new Map<DriverName, string>();
  for (const name of new Set(cells.flatMap(cell => workloads[cell.workload]!.driver ?? []))) {
    const driver = await prepareDriver(name, go);
    if ('binary' in driver) binaries.set(name, driver.binary);
    else process.stderr.write(`Rows of ${drivers[name].name} are left out. ${driver.missing}\n`);
  }
  return binaries;
}

function generatorFor(
  { driver }: Loaded,
  client: JsonProcess,
  binaries: ReadonlyMap<DriverName, string>,
  go: Go,
): Generate {
  if (driver === undefined) return command => client.ask<LoadAnswer>(command);
  const run = (args: readonly string[]) => runProgram([binaries.get(driver)!, ...args], go);
  return command => drive(drivers[driver], command, run);
}

/** A server that has been under load for a while. */
async function started(name: string, go: Go, client: JsonProcess, plan: Plan): Promise<Running | Error> {
  const process = startServer(name, go);
  try {
    const { address } = await process.hear<{ address: string }>();
    await client.ask<LoadAnswer>(commandFor(address, {}, plan.firstMs, 0));
    return { process, address };
  } catch (error) {
    await process.close();
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
  generate: Generate,
  { load, length = 1, metrics, series, heapInterval }: Loaded,
  plan: Plan,
  slowPlaces: string,
): Promise<CellResult> {
  const ms = plan.turnMs * length;
  const command = commandFor(address, load, ms, plan.warmUpMs, slowPlaces);
  const share = watchCpu();
  const used = (heaps: UsedCommand) => server.ask<Used>(heapInterval === undefined ? {} : heaps);
  const before = await used({ watchHeaps: heapInterval });
  const answer = await withinMs(generate(command), plan.warmUpMs + ms + TURN_GRACE_MS);
  const after = await used({ sumUpHeaps: true });
  const { wallMs, othersCores } = share();
  const all = figuresOf(answer, command, before, after);
  const oursCores = (after.allUs - before.allUs + answer.cpuUs) / 1000 / wallMs;
  return {
    figures: Object.fromEntries(Object.entries(all).filter(([name]) => name in metrics)),
    ...(series !== undefined && {
      series: { windows: answer.perWindow!.map((calls, i) => [i * WINDOW_MS, calls] as const) },
    }),
    othersCores: Math.max(0, othersCores - oursCores),
  };
}

function figuresOf(
  answer: Driven & Partial<LoadAnswer>,
  command: LoadCommand,
  before: Used,
  after: Used,
): Record<string, number> {
  const { allCalls, perSecond, perWindow = [], meanUs } = answer;
  const bits = perSecond * command.bytes * 8;
  const { median, min } = summarise(perWindow);
  // Where no call has ended there is no latency.
  const latencies = answer.calls > 0 && {
    p50: answer.p50Us,
    p90: answer.p90Us,
    p99: answer.p99Us,
    ...(meanUs !== undefined && { mean: meanUs }),
  };
  return {
    ...latencies,
    ...allocatedBetween(before, after, allCalls),
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
}

function allocatedBetween(
  { allocated: before }: Used,
  { allocated: after }: Used,
  calls: number,
): Record<string, number> {
  if (before === undefined || after === undefined) return {};
  return {
    bytes: (after.all.bytes - before.all.bytes) / calls,
    hostBytes: (after.host.bytes - before.host.bytes) / calls,
    allocations: (after.all.allocations - before.all.allocations) / calls,
    hostAllocations: (after.host.allocations - before.host.allocations) / calls,
  };
}

function withinMs<T>(result: Promise<T>, ms: number): Promise<T> {
  let timer: NodeJS.Timeout;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer after ${Math.round(ms / 1000)} s`)), ms);
  });
  return Promise.race([result, late]).finally(() => clearTimeout(timer));
}
