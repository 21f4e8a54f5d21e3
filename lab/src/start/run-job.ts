import { runChild } from '../harness/child.ts';
import type { Progress } from '../harness/progress.ts';
import { shuffled } from '../harness/random.ts';
import { median, type Summary, summarise } from '../harness/stats.ts';
import type { CallTimes, Job, JobInput } from './jobs.ts';
import type { RunResult, RunSpec, Way } from './run.ts';

/** How much time a job may take. */
export interface Effort {
  readonly rounds: number;
  /** One thread runs for so long to find out how much work there is. */
  readonly calibrateMs: number;
  /** So much work for each core is chosen from the inputs. */
  readonly perCoreMs: number;
  /** One thread is given a sample of about so much work. */
  readonly sampleMs: number;
  /** For each of Piscina's settings that is tried out: about so much work for each core. */
  readonly tryOutMs: number;
}

/** One way to do one job, all its repeats together. */
export interface WaySummary {
  readonly way: Way;
  readonly settings: string;
  readonly calls: number;
  readonly bytes: number;
  readonly ms: Summary;
  readonly callsPerSecond: Summary;
  /** CPU time of all threads: what is more than one thread takes is spent on handing over and waiting. */
  readonly cpuMs: Summary;
  /** Against one thread, in work done per second, paired by round. */
  readonly speedUp: Summary;
}

export interface JobResult {
  readonly key: string;
  readonly title: string;
  readonly about: string;
  readonly unit: string;
  readonly calls: number;
  /** Fewer than there were: a sample of the inputs, to keep within the time. */
  readonly sampled: boolean;
  readonly sampleEvery: number;
  readonly callUs: CallTimes;
  readonly inFlight: number;
  readonly ways: readonly WaySummary[];
  /** How long all inputs would take on one thread, from its sample. */
  readonly oneThreadMs: number;
  readonly resultsEqual: boolean;
  readonly othersCores: readonly number[];
}

const WAYS: readonly Way[] = ['one thread', 'hotlane', 'piscina'];
const TASKS_PER_THREAD = [1, 4, 64];
const IN_FLIGHT_PER_THREAD = 64;
const RUN_TIMEOUT_MS = 120_000;

/** @throws Error when any run fails: then there is nothing to compare */
export async function runJob(
  job: Job,
  threads: number,
  effort: Effort,
  random: () => number,
  progress: Progress,
): Promise<JobResult> {
  const inFlight = IN_FLIGHT_PER_THREAD * threads;
  const usual = {
    fn: job.fn,
    threads,
    inFlight,
    tasksPerThread: 1,
    sampleEvery: 1,
    limitMs: Number.POSITIVE_INFINITY,
  };
  const run = async (label: string, spec: RunSpec, expected: number) => {
    progress.begin(`${job.key}: ${label}`, expected);
    const entry = new URL('./run-entry.ts', import.meta.url);
    const outcome = await runChild<RunSpec, RunResult, number>(entry, spec, {
      timeoutMs: RUN_TIMEOUT_MS,
      onProgress: done => progress.update(done),
    });
    progress.end();
    if (!outcome.ok) throw new Error(`${job.key}, ${label}: ${outcome.failure}`);
    return outcome.result;
  };

  // How much work is it, and how much of it fits?
  const all = job.inputs;
  const values = all.map(input => input.value);
  const first = await run(
    'one thread, to see how long it takes',
    { ...usual, way: 'one thread', inputs: values, limitMs: effort.calibrateMs },
    all.length,
  );
  const workOf = (inputs: readonly JobInput[]) =>
    job.scalesWith === 'calls' ? inputs.length : inputs.reduce((sum, input) => sum + input.bytes, 0);
  const workPerMs = workOf(all.slice(0, first.calls)) / first.ms;
  const chosen = job.order(takeWork(all, effort.perCoreMs * threads * workPerMs, job));
  const inputs = chosen.map(input => input.value);
  const everyFor = (ms: number) => Math.max(1, Math.ceil(workOf(chosen) / workPerMs / ms));
  const sampleEvery = everyFor(effort.sampleMs);
  const sample = chosen.filter((_, i) => i % sampleEvery === 0);

  // Piscina's best setting for this job, tried out on a part of the inputs.
  const tryEvery = everyFor(effort.tryOutMs * threads);
  const part = inputs.filter((_, i) => i % tryEvery === 0);
  let tasksPerThread = 1;
  let shortest = Number.POSITIVE_INFINITY;
  for (const tasks of TASKS_PER_THREAD) {
    const label = `piscina, trying concurrentTasksPerWorker ${tasks}`;
    const { ms } = await run(
      label,
      { ...usual, way: 'piscina', inputs: part, tasksPerThread: tasks },
      part.length,
    );
    if (ms >= shortest) continue;
    shortest = ms;
    tasksPerThread = tasks;
  }

  const results: Record<Way, RunResult[]> = { 'one thread': [], hotlane: [], piscina: [] };
  for (let round = 0; round < effort.rounds; round++) {
    for (const way of shuffled(WAYS, random)) {
      const expected = way === 'one thread' ? sample.length : inputs.length;
      const spec = { ...usual, way, inputs, tasksPerThread, sampleEvery };
      results[way].push(await run(`${way}, round ${round + 1} of ${effort.rounds}`, spec, expected));
    }
  }

  const done = (way: Way) => (way === 'one thread' ? sample : chosen);
  const speed = (way: Way, { ms }: RunResult) => workOf(done(way)) / ms;
  const settings: Record<Way, string> = {
    'one thread':
      sampleEvery === 1
        ? 'plain calls in a loop'
        : `plain calls in a loop, on one in ${sampleEvery} of the ${job.unit}`,
    hotlane: `lanes: ${threads}, ${inFlight} in flight`,
    piscina: `${threads} threads, concurrentTasksPerWorker: ${tasksPerThread} (fastest of ${TASKS_PER_THREAD.join(', ')} on a part), ${inFlight} in flight`,
  };
  const ways = WAYS.map(way => {
    const runs = results[way];
    return {
      way,
      settings: settings[way],
      calls: done(way).length,
      bytes: done(way).reduce((sum, input) => sum + input.bytes, 0),
      ms: summarise(runs.map(({ ms }) => ms)),
      cpuMs: summarise(runs.map(({ cpuMs }) => cpuMs)),
      callsPerSecond: summarise(runs.map(({ calls, ms }) => (calls / ms) * 1000)),
      speedUp: summarise(
        runs.map((result, round) => speed(way, result) / speed('one thread', results['one thread'][round]!)),
      ),
    };
  });
  const everyRun = Object.values(results).flat();
  return {
    key: job.key,
    title: job.title,
    about: job.about,
    unit: job.unit,
    calls: chosen.length,
    sampled: chosen.length < all.length,
    sampleEvery,
    callUs: medianTimes(results['one thread']),
    inFlight,
    ways,
    oneThreadMs: (workOf(chosen) / workOf(sample)) * ways[0]!.ms.median,
    resultsEqual:
      new Set(everyRun.map(one => one.sampleChecksum)).size === 1 &&
      new Set([...results.hotlane, ...results.piscina].map(one => one.checksum)).size === 1,
    othersCores: everyRun.map(one => one.othersCores),
  };
}

/** The first inputs, in their seeded order, until they come to so much work. */
function takeWork(
  inputs: readonly JobInput[],
  most: number,
  { scalesWith, least }: Job,
): readonly JobInput[] {
  let work = 0;
  let length = 0;
  for (const input of inputs) {
    work += scalesWith === 'calls' ? 1 : input.bytes;
    if (work > most && length >= least) break;
    length++;
  }
  return inputs.slice(0, length);
}

function medianTimes(runs: readonly RunResult[]): CallTimes {
  const of = (share: keyof CallTimes) => median(runs.map(({ callUs }) => callUs![share]));
  return { mean: of('mean'), p10: of('p10'), p50: of('p50'), p90: of('p90') };
}
