import { parseArgs } from 'node:util';

/** Something on the command line that cannot be right: one line for the user, exit code 2. */
export class CommandLineError extends Error {}

/** A checked `hotlane map` command line. */
export interface MapArguments {
  readonly help: boolean;
  readonly version: boolean;
  /** As the user wrote it, without `#export`. */
  readonly module: string;
  readonly exportName: string;
  readonly inputs: readonly string[];
  readonly lanes: number | undefined;
  readonly concurrency: number;
  readonly placement: 'thread' | 'inline';
  readonly deadlineMs: number;
  /** How often an input whose call failed is tried again. */
  readonly retries: number;
  /** The file that holds results, as the user wrote it. */
  readonly journal: string | undefined;
  readonly ordered: boolean;
  /** The function gives items, each a line of the output. */
  readonly stream: boolean;
  /** The file for trace events, as the user wrote it. */
  readonly trace: string | undefined;
  readonly quiet: boolean;
  /** The summary as one line of JSON. */
  readonly json: boolean;
}

const OPTIONS = {
  lanes: { type: 'string' },
  concurrency: { type: 'string' },
  placement: { type: 'string' },
  deadline: { type: 'string' },
  retries: { type: 'string' },
  journal: { type: 'string' },
  stream: { type: 'boolean' },
  unordered: { type: 'boolean' },
  trace: { type: 'string' },
  quiet: { type: 'boolean', short: 'q' },
  json: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean', short: 'v' },
} as const;

const MOST_LANES = 1_024;
const MOST_CONCURRENCY = 65_536;
const MOST_RETRIES = 1_000;
const UNITS_MS: Record<string, number> = { '': 1, ms: 1, s: 1_000, m: 60_000 };

/** @throws CommandLineError that says what was expected and what came */
export function parseMapArguments(argv: readonly string[]): MapArguments {
  // Not strict: Node's own texts for what is wrong are made for programmers.
  const { values, positionals, tokens } = parseArgs({
    args: [...argv],
    options: OPTIONS,
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  const given = new Set<string>();
  for (const token of tokens) {
    if (token.kind !== 'option') continue;
    checkOption(token.name, token.rawName, token.value, given);
    given.add(token.name);
  }
  const help = values.help === true;
  const version = values.version === true;
  const asks = help || version;
  if (positionals.length === 0 && !asks) {
    throw new CommandLineError(
      "expected a module: hotlane map <module[#export]> [inputs…], e.g. hotlane map ./tasks.js#resize 'img/*.png'",
    );
  }
  const { module, exportName } = splitReference(positionals[0] ?? '', asks);
  const inputs = positionals.slice(1);
  if (inputs.length === 0 && !asks) {
    throw new CommandLineError(
      `no inputs: expected paths, globs ('img/**/*.png'), or - for lines on stdin, after ${positionals[0]}`,
    );
  }
  if (inputs.includes('-') && inputs.length > 1) {
    throw new CommandLineError(
      "'-' (lines on stdin) stands alone; give it without other inputs, or write ./- for a file of that name",
    );
  }
  if (values.journal === '') {
    throw new CommandLineError(
      "--journal expects the name of a file, e.g. --journal results.journal, got ''",
    );
  }
  if (values.trace === '') {
    throw new CommandLineError("--trace expects the name of a file, e.g. --trace run.trace.json, got ''");
  }
  if (values.quiet === true && values.json === true) {
    throw new CommandLineError('--json asks for a summary and --quiet for none; give one of them');
  }
  const retries = values.retries === undefined ? 0 : wholeNumber('retries', values.retries, 0, MOST_RETRIES);
  if (values.stream === true && retries > 0) {
    throw new CommandLineError(
      '--stream cannot be given with --retries: items that are in the output cannot be taken back; leave one out',
    );
  }
  if (values.stream === true && values.journal !== undefined) {
    throw new CommandLineError(
      '--stream cannot be given with --journal, which holds one result for each input; leave one out',
    );
  }
  const placement = choice(values.placement);
  return {
    help,
    version,
    module,
    exportName,
    inputs,
    lanes: values.lanes === undefined ? undefined : wholeNumber('lanes', values.lanes, 1, MOST_LANES),
    concurrency:
      values.concurrency === undefined
        ? 1
        : wholeNumber('concurrency', values.concurrency, 1, MOST_CONCURRENCY),
    placement,
    deadlineMs:
      values.deadline === undefined ? Number.POSITIVE_INFINITY : duration('deadline', values.deadline),
    retries,
    journal: values.journal === undefined ? undefined : String(values.journal),
    ordered: values.unordered !== true,
    stream: values.stream === true,
    trace: values.trace === undefined ? undefined : String(values.trace),
    quiet: values.quiet === true,
    json: values.json === true,
  };
}

function checkOption(name: string, rawName: string, value: string | undefined, given: Set<string>): void {
  const known = Object.keys(OPTIONS);
  if (!Object.hasOwn(OPTIONS, name)) {
    const close = nearest(name, known);
    const expected = known.map(option => `--${option}`).join(', ');
    throw new CommandLineError(
      `unknown option ${rawName}; ${close === undefined ? '' : `did you mean --${close}? `}expected ${expected}`,
    );
  }
  const takesValue = OPTIONS[name as keyof typeof OPTIONS].type === 'string';
  if (takesValue && value === undefined)
    throw new CommandLineError(`${rawName} expects a value, e.g. --${name} ${example(name)}`);
  if (!takesValue && value !== undefined)
    throw new CommandLineError(`${rawName} takes no value, got '${value}'`);
  if (takesValue && given.has(name)) throw new CommandLineError(`${rawName} was given twice; give it once`);
}

function example(name: string): string {
  const examples: Record<string, string> = {
    lanes: '4',
    concurrency: '8',
    placement: 'thread',
    deadline: '500ms',
    retries: '2',
    journal: 'results.journal',
    trace: 'run.trace.json',
  };
  return examples[name] ?? '…';
}

/** `./tasks.js#resize` → module and export. A # before a slash belongs to the path. */
function splitReference(reference: string, asks: boolean): { module: string; exportName: string } {
  const at = reference.lastIndexOf('#');
  if (at < 0 || /[\\/]/.test(reference.slice(at))) {
    if (reference === '' && !asks) throw new CommandLineError("expected a module first, got ''");
    return { module: reference, exportName: 'default' };
  }
  const module = reference.slice(0, at);
  const exportName = reference.slice(at + 1);
  if (module === '' || exportName === '') {
    throw new CommandLineError(`expected module#export, e.g. ./tasks.js#resize, got '${reference}'`);
  }
  return { module, exportName };
}

function wholeNumber(name: string, text: unknown, least: number, most: number): number {
  const value = /^\d+$/.test(String(text)) ? Number(text) : Number.NaN;
  if (!(value >= least && value <= most)) {
    throw new CommandLineError(`--${name} expects a whole number from ${least} to ${most}, got '${text}'`);
  }
  return value;
}

function choice(value: unknown): 'thread' | 'inline' {
  if (value === undefined || value === 'thread' || value === 'inline') return value ?? 'thread';
  throw new CommandLineError(`--placement expects thread or inline, got '${value}'`);
}

/** Milliseconds of `500`, `500ms`, `2s`, `1.5m`. */
function duration(name: string, text: unknown): number {
  const match = /^(\d+(?:\.\d+)?|\.\d+)\s*([a-z]*)$/.exec(String(text));
  const unit =
    match === null ? undefined : Object.hasOwn(UNITS_MS, match[2]!) ? UNITS_MS[match[2]!] : undefined;
  const ms = unit === undefined ? Number.NaN : Number(match![1]) * unit;
  if (!(ms > 0)) {
    throw new CommandLineError(
      `--${name} expects milliseconds above 0 (500, 500ms) or a time with a unit (2s, 1.5m), got '${text}'`,
    );
  }
  return ms;
}

/** The known word that the given one is most likely a slip of; undefined when none is near. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  let best: string | undefined;
  let least = Math.max(1, Math.floor(word.length / 3)) + 1;
  for (const candidate of known) {
    const distance = editDistance(word, candidate);
    if (distance < least) {
      best = candidate;
      least = distance;
    }
  }
  return best;
}

/** Insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`. */
function editDistance(a: string, b: string): number {
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, j) => j)];
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1;
      row[j] = Math.min(row[j - 1]! + 1, rows[i - 1]![j]! + 1, rows[i - 1]![j - 1]! + same);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        row[j] = Math.min(row[j]!, rows[i - 2]![j - 2]! + 1);
      }
    }
    rows.push(row);
  }
  return rows[a.length]![b.length]!;
}
