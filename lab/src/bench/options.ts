import { contenders } from '../contenders/all.ts';
import { type Flags, type Given, parseFlags, renderHelp, UsageError, wholeNumber } from '../harness/cli.ts';
import { freshSeed } from '../harness/random.ts';
import { workloads } from '../workloads/all.ts';
import type { CellPlan } from './cell.ts';

export interface BenchOptions {
  readonly help: boolean;
  readonly mode: 'full' | 'quick' | 'smoke';
  readonly rounds: number;
  readonly controlRepeats: number;
  readonly plan: CellPlan;
  readonly seed: number;
  /** Where to write the results as JSON; null for nowhere. */
  readonly json: string | null;
  readonly workloads: readonly string[];
  readonly contenders: readonly string[];
}

const FLAGS: Flags = {
  quick: { help: 'Fewer and shorter repeats: about 20 s in all.' },
  smoke: { help: 'One tiny repeat: only checks that everything runs. Its figures mean nothing.' },
  json: { value: 'FILE', help: 'Also writes the results, every repeat included, to this file.' },
  rounds: { value: 'N', help: 'How often each contender is run on each workload.' },
  seed: { value: 'N', help: 'Repeats the order of an earlier run, which printed it.' },
  workload: {
    value: 'NAME',
    multiple: true,
    help: `Only this one; can be repeated: ${Object.keys(workloads).join(', ')}.`,
  },
  contender: {
    value: 'NAME',
    multiple: true,
    help: `Only this one; can be repeated: ${Object.keys(contenders).join(', ')}.`,
  },
};

const MODES = {
  full: { rounds: 7, controlRepeats: 10, plan: { warmUpMs: 400, windows: 5, windowMs: 80, latencyMs: 250 } },
  quick: { rounds: 3, controlRepeats: 5, plan: { warmUpMs: 60, windows: 3, windowMs: 30, latencyMs: 50 } },
  smoke: { rounds: 1, controlRepeats: 2, plan: { warmUpMs: 5, windows: 1, windowMs: 5, latencyMs: 5 } },
} as const;

/** @throws UsageError */
export function parseBenchOptions(args: readonly string[]): BenchOptions {
  const given = parseFlags(args, FLAGS);
  if (given.has('quick') && given.has('smoke'))
    throw new UsageError('Give `--quick` or `--smoke`, not both.');
  const mode = given.has('smoke') ? 'smoke' : given.has('quick') ? 'quick' : 'full';
  const usual = MODES[mode];
  return {
    ...usual,
    help: given.has('help'),
    mode,
    rounds: wholeNumber(given, 'rounds', 1, 1000) ?? usual.rounds,
    seed: wholeNumber(given, 'seed', 0, 2 ** 32 - 1) ?? freshSeed(),
    json: given.get('json')?.[0] ?? null,
    workloads: chosen(given, 'workload', Object.keys(workloads)),
    contenders: chosen(given, 'contender', Object.keys(contenders)),
  };
}

export function benchHelp(): string {
  return renderHelp(
    'Measures what handing a call over costs, beside other ways to do it.',
    'npm run bench -- [options]',
    FLAGS,
  );
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
