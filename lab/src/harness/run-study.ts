import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Flags, type Given, parseFlags, renderHelp, UsageError, wholeNumber } from './cli.ts';
import { type Control, judgeNoise, measureControl, type NoiseVerdict } from './control.ts';
import { renderHtml } from './html-report.ts';
import { type Cell, runInterleaved } from './interleave.ts';
import { type BarResult, type CellSummary, judgeBars, type Ratio, ratiosOf, summariseCell } from './judge.ts';
import { describeCommand, describeMachine, type Machine, printableMachine, repository } from './machine.ts';
import type { ModeName } from './modes.ts';
import { createProgress } from './progress.ts';
import { freshSeed, seededRandom } from './random.ts';
import type { CellResult, CellSpec, Curve, Study, Workload } from './study.ts';
import { renderText } from './text-report.ts';

/** All that a study found; what `results.json` holds (metrics without their functions). */
export interface StudyResults {
  readonly schema: 'hotlane-study-1';
  readonly study: string;
  readonly title: string;
  readonly about: string;
  readonly startedAt: string;
  readonly command: string;
  readonly mode: ModeName;
  readonly seed: number;
  readonly rounds: number;
  readonly machine: Machine;
  readonly subject: string;
  readonly contenders: Study<unknown>['contenders'];
  readonly workloads: Readonly<Record<string, Workload>>;
  readonly cells: readonly CellSummary[];
  readonly ratios: readonly Ratio[];
  readonly bars: readonly BarResult[];
  readonly curves: readonly Curve[];
  readonly control: { readonly before: Control; readonly after: Control; readonly noise: NoiseVerdict };
}

const FLAGS: Flags = {
  quick: { help: 'Fewer workloads, fewer and shorter repeats: at most two minutes.' },
  smoke: { help: 'One tiny repeat of a few: only checks that everything runs. Its figures mean nothing.' },
  out: {
    value: 'DIR',
    help: 'Where to write results.json, report.html and table.txt. Default: lab/out/NAME.',
  },
  rounds: { value: 'N', help: 'How often each cell is run.' },
  seed: { value: 'N', help: 'Repeats an order.' },
  workload: {
    value: 'NAME',
    multiple: true,
    help: 'Only this one, or those that begin so; can be repeated.',
  },
  contender: { value: 'NAME', multiple: true, help: 'Only this one; can be repeated.' },
};

/**
 * Runs a study as a command: measures, prints tables, writes results and report.
 *
 * @param args as given on the command line
 * @returns the exit code: 1 when a run failed, or a bar was missed by more than the spread on a quiet machine
 * @throws UsageError
 */
export async function runStudy<Plan>(study: Study<Plan>, args: readonly string[]): Promise<number> {
  const given = parseFlags(args, FLAGS);
  if (given.has('help')) {
    const names = `Workloads: ${Object.keys(study.workloads).join(', ')}.\nContenders: ${Object.keys(study.contenders).join(', ')}.\n`;
    process.stdout.write(
      `${renderHelp(study.title, `npm run lab -- ${study.name} [options]`, FLAGS)}\n${names}`,
    );
    return 0;
  }
  if (given.has('quick') && given.has('smoke'))
    throw new UsageError('Give `--quick` or `--smoke`, not both.');
  const mode: ModeName = given.has('smoke') ? 'smoke' : given.has('quick') ? 'quick' : 'full';
  const { plan, controlProcesses, rounds: usualRounds } = study.modes[mode];
  const rounds = wholeNumber(given, 'rounds', 1, 1000) ?? usualRounds;
  const seed = wholeNumber(given, 'seed', 0, 2 ** 32 - 1) ?? freshSeed();
  const out = given.get('out')?.[0] ?? join(repository, 'lab/out', study.name);
  const workloads = chooseWorkloads(study, given, mode);
  const contenders = chosen(given, 'contender', Object.keys(study.contenders));

  const startedAt = new Date().toISOString();
  const machine = describeMachine(study.packages);
  const command = describeCommand();
  process.stdout.write(
    `${printableMachine(machine, command)}\norder     seed ${seed}, ${rounds} ${rounds === 1 ? 'round' : 'rounds'}, mode ${mode}\n\n`,
  );

  const cells = workloads.flatMap(workload =>
    study.workloads[workload]!.contenders.filter(contender => contenders.includes(contender)).map(
      contender => ({
        workload,
        contender,
      }),
    ),
  );
  // Half of a smoke run is compiling; a run that measures must not share compiled code between its processes.
  if (mode === 'smoke') process.env.NODE_COMPILE_CACHE ??= join(repository, 'lab/out/compiled');
  const progress = createProgress();
  progress.begin(study.name, cells.length * rounds);
  const before = await measureControl(controlProcesses);
  let started = 0;
  const random = seededRandom(seed);
  const onStart = (cell: Cell, round: number) =>
    progress.update(started++, `round ${round + 1}: ${cell.workload}, ${cell.contender}`);
  const { entry } = study;
  const runs =
    typeof entry === 'function'
      ? await entry({ cells, plan, rounds, random, onStart })
      : await runInterleaved<CellSpec<Plan>, CellResult>({
          cells,
          atOnce: mode === 'smoke' ? 3 : 1,
          rounds,
          random,
          entry,
          spec: cell => ({ ...cell, plan }),
          timeoutMs: study.cellTimeoutMs,
          onStart,
        });
  const after = await measureControl(controlProcesses);
  progress.end();

  const summaries = runs.map(summariseCell);
  const noise = judgeNoise(before, after, quietRuns(study, summaries));
  const results: StudyResults = {
    schema: 'hotlane-study-1',
    study: study.name,
    title: study.title,
    about: study.about,
    startedAt,
    command,
    mode,
    seed,
    rounds,
    machine,
    subject: study.subject,
    contenders: pick(study.contenders, [...contenders, study.subject]),
    workloads: pick(study.workloads, workloads),
    cells: summaries,
    ratios: ratiosOf(study, runs),
    curves: (study.curves ?? []).filter(({ points }) => points.some(([, key]) => workloads.includes(key))),
    bars: judgeBars(study, runs).filter(bar => workloads.includes(bar.workload)),
    control: { before, after, noise },
  };
  const text = renderText(results);
  process.stdout.write(`${text}\n`);
  if (mode === 'smoke')
    process.stdout.write('This was a smoke run: it shows that everything runs; its figures mean nothing.\n');

  mkdirSync(out, { recursive: true });
  writeFileSync(join(out, 'results.json'), `${JSON.stringify(results, null, 1)}\n`);
  writeFileSync(join(out, 'table.txt'), `${printableMachine(machine, command)}\n\n${text}\n`);
  writeFileSync(join(out, 'report.html'), renderHtml(results));
  process.stderr.write(`results.json, table.txt and report.html are in ${out}\n`);

  if (summaries.some(cell => cell.failures.length > 0)) return 1;
  if (mode === 'smoke' || noise.tooNoisy) return 0;
  return results.bars.some(bar => bar.verdict === 'missed') ? 1 : 0;
}

/** Runs that keep another process busy on purpose do not count against the machine. */
function quietRuns<P>(study: Study<P>, cells: readonly CellSummary[]): number[] {
  return cells
    .filter(cell => !/busy machine/.test(study.workloads[cell.workload]!.title))
    .flatMap(cell => cell.othersCores);
}

function chooseWorkloads<P>(study: Study<P>, given: Given, mode: ModeName): string[] {
  const known = Object.keys(study.workloads);
  const names = given.get('workload');
  if (names === undefined) {
    return known.filter(key => mode === 'full' || study.workloads[key]!.modes.includes(mode));
  }
  for (const one of names) {
    if (!known.some(key => key.startsWith(one)))
      throw new UsageError(`\`--workload\`: there is no \`${one}\`. Known are ${known.join(', ')}.`);
  }
  return known.filter(key => names.some(one => (known.includes(one) ? key === one : key.startsWith(one))));
}

function chosen(given: Given, name: string, known: readonly string[]): readonly string[] {
  const names = given.get(name);
  if (names === undefined) return known;
  for (const one of names) {
    if (!known.includes(one))
      throw new UsageError(`\`--${name}\`: there is no \`${one}\`. Known are ${known.join(', ')}.`);
  }
  return known.filter(one => names.includes(one));
}

function pick<T>(all: Readonly<Record<string, T>>, keys: readonly string[]): Record<string, T> {
  return Object.fromEntries(Object.entries(all).filter(([key]) => keys.includes(key)));
}
