import { mkdirSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname } from 'node:path';
import { type Flags, parseFlags, renderHelp, runCommand, wholeNumber } from '../harness/cli.ts';
import { judgeNoise, measureControl } from '../harness/control.ts';
import { describeCommand, describeMachine, printableMachine } from '../harness/machine.ts';
import { createProgress } from '../harness/progress.ts';
import { freshSeed, seededRandom } from '../harness/random.ts';
import { findFiles } from './inputs.ts';
import { compressJob, suggestJob } from './jobs.ts';
import { renderJob, renderVerdict } from './report.ts';
import { type Effort, type JobResult, runJob } from './run-job.ts';

const FLAGS: Flags = {
  quick: { help: 'A few seconds on a small sample: only shows that everything runs.' },
  json: { value: 'FILE', help: 'Also writes the results, every repeat included, to this file.' },
  seed: { value: 'N', help: 'Repeats the order of an earlier run, which printed it.' },
};

const EFFORTS: Readonly<
  Record<'full' | 'quick', Effort & { readonly leastTokens: number; readonly controlProcesses: number }>
> = {
  full: {
    rounds: 2,
    calibrateMs: 700,
    perCoreMs: 3_300,
    sampleMs: 2_000,
    tryOutMs: 500,
    leastTokens: 100_000,
    controlProcesses: 5,
  },
  quick: {
    rounds: 1,
    calibrateMs: 100,
    perCoreMs: 100,
    sampleMs: 100,
    tryOutMs: 30,
    leastTokens: 2_000,
    controlProcesses: 2,
  },
};

await runCommand(async () => {
  const given = parseFlags(process.argv.slice(2), FLAGS);
  if (given.has('help')) {
    process.stdout.write(
      renderHelp(
        'Two real jobs on real files: on all cores with hotlane and with piscina, and on one thread.',
        'npm start -- [options]',
        FLAGS,
      ),
    );
    return 0;
  }
  const mode = given.has('quick') ? 'quick' : 'full';
  return start(
    mode,
    wholeNumber(given, 'seed', 0, 2 ** 32 - 1) ?? freshSeed(),
    given.get('json')?.[0] ?? null,
  );
});

/** @returns the exit code: 1 when results differ */
async function start(mode: 'full' | 'quick', seed: number, json: string | null): Promise<number> {
  const startedAt = new Date().toISOString();
  const effort = EFFORTS[mode];
  const threads = availableParallelism();
  const machine = describeMachine(['hotlane', 'piscina']);
  const command = describeCommand();
  process.stdout.write(
    `${printableMachine(machine, command)}\norder     seed ${seed}, ${effort.rounds} ${effort.rounds === 1 ? 'round' : 'rounds'}\n\n`,
  );

  const progress = createProgress();
  const random = seededRandom(seed);
  const files = await findFiles();
  const before = await measureControl(effort.controlProcesses);
  const jobs: JobResult[] = [];
  for (const job of [compressJob(files), suggestJob(files, effort.leastTokens)]) {
    const result = await runJob(job, threads, effort, random, progress);
    jobs.push(result);
    process.stdout.write(`${renderJob(result)}\n\n`);
  }
  const after = await measureControl(effort.controlProcesses);

  const noise = judgeNoise(
    before,
    after,
    jobs.flatMap(job => job.othersCores),
  );
  process.stdout.write(`${renderVerdict(jobs, threads, noise.tooNoisy)}\n`);
  process.stdout.write(
    noise.tooNoisy
      ? `TOO NOISY TO JUDGE: ${noise.reasons.join('; ')}.\n`
      : 'The machine was quiet enough to judge.\n',
  );
  if (mode === 'quick')
    process.stdout.write('This was a quick run on a small sample; its figures mean little.\n');
  if (json !== null) {
    mkdirSync(dirname(json), { recursive: true });
    const results = {
      schema: 'hotlane-start-1',
      startedAt,
      command,
      mode,
      seed,
      threads,
      machine,
      jobs,
      control: { before, after, noise },
    };
    writeFileSync(json, `${JSON.stringify(results, null, 2)}\n`);
    process.stderr.write(`Results were written to ${json}.\n`);
  }
  return jobs.every(job => job.resultsEqual) ? 0 : 1;
}
