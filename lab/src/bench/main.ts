import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { loadContender } from '../contenders/all.ts';
import { runCommand } from '../harness/cli.ts';
import { judgeNoise, measureControl } from '../harness/control.ts';
import { runInterleaved } from '../harness/interleave.ts';
import { describeCommand, describeMachine, printableMachine } from '../harness/machine.ts';
import { createProgress } from '../harness/progress.ts';
import { seededRandom } from '../harness/random.ts';
import { workloads as allWorkloads } from '../workloads/all.ts';
import type { CellResult, CellSpec } from './cell.ts';
import { type BenchOptions, benchHelp, parseBenchOptions } from './options.ts';
import { renderReport } from './report.ts';
import { judgeBars, ratiosOf, summariseCell } from './results.ts';

/** A cell that takes longer than this has hung. */
const CELL_TIMEOUT_MS = 60_000;

await runCommand(async () => {
  const options = parseBenchOptions(process.argv.slice(2));
  if (options.help) {
    process.stdout.write(benchHelp());
    return 0;
  }
  return runBench(options);
});

/** @returns the exit code: 1 when any run of any contender failed */
async function runBench(options: BenchOptions): Promise<number> {
  const { mode, seed, rounds, plan } = options;
  const startedAt = new Date().toISOString();
  const machine = describeMachine(['hotlane', 'piscina']);
  const command = describeCommand();
  const workloads = Object.fromEntries(options.workloads.map(key => [key, allWorkloads[key]!]));
  const contenders: Record<string, { name: string; settings: string }> = {};
  for (const key of options.contenders) {
    const { name, settings } = await loadContender(key);
    contenders[key] = { name, settings };
  }
  process.stdout.write(
    `${printableMachine(machine, command)}\norder     seed ${seed}, ${rounds} ${rounds === 1 ? 'round' : 'rounds'}, mode ${mode}\n\n`,
  );

  const cells = options.workloads.flatMap(workload =>
    options.contenders.map(contender => ({ workload, contender })),
  );
  const progress = createProgress();
  progress.begin('bench', cells.length * rounds);
  const before = await measureControl(options.controlRepeats);
  let started = 0;
  const runs = await runInterleaved<CellSpec, CellResult>({
    cells,
    rounds,
    random: seededRandom(seed),
    entry: new URL('./cell-entry.ts', import.meta.url),
    spec: cell => ({ ...cell, plan }),
    timeoutMs: CELL_TIMEOUT_MS,
    onStart: (cell, round) =>
      progress.update(started++, `round ${round + 1}: ${cell.workload}, ${cell.contender}`),
  });
  const after = await measureControl(options.controlRepeats);
  progress.end();

  const summaries = runs.map(summariseCell);
  const ratios = ratiosOf(runs);
  const bars = judgeBars(ratios);
  const noise = judgeNoise(
    before,
    after,
    summaries.flatMap(cell => cell.othersCores.values),
  );
  const report = renderReport({
    workloads,
    contenders,
    cells: summaries,
    ratios,
    bars,
    before,
    after,
    noise,
  });
  process.stdout.write(`${report}\n`);
  if (mode === 'smoke')
    process.stdout.write('This was a smoke run: it shows that everything runs; its figures mean nothing.\n');

  if (options.json !== null) {
    const titles = Object.fromEntries(Object.entries(workloads).map(([key, { title }]) => [key, title]));
    const results = {
      schema: 'hotlane-bench-1',
      startedAt,
      command,
      mode,
      seed,
      rounds,
      plan,
      machine,
      workloads: titles,
      contenders,
      cells: summaries,
      ratios,
      bars,
      control: { before, after, noise },
    };
    mkdirSync(dirname(options.json), { recursive: true });
    writeFileSync(options.json, `${JSON.stringify(results, null, 2)}\n`);
    process.stderr.write(`Results were written to ${options.json}.\n`);
  }
  return summaries.some(cell => cell.failures.length > 0) ? 1 : 0;
}
