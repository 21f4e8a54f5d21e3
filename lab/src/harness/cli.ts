/** One option of a command. */
export interface Flag {
  /** What a value is called in the help text; without it the option takes none. */
  readonly value?: string;
  /** May be given more than once. @default false */
  readonly multiple?: boolean;
  readonly help: string;
}

export type Flags = Readonly<Record<string, Flag>>;

/** What was given: each option's values, in order; an option without a value has `''` for each time. */
export type Given = ReadonlyMap<string, readonly string[]>;

/** Says what is wrong with a command line; its message is for the user, without a stack. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/**
 * Reads a command line: `--name`, `--name value` and `--name=value`. `--help` is always known.
 *
 * @throws UsageError for anything that is not known, for a missing value and for one too many
 */
export function parseFlags(args: readonly string[], flags: Flags): Given {
  const given = new Map<string, string[]>();
  const known = () => [...Object.keys(flags), 'help'].map(name => `--${name}`).join(', ');
  for (let i = 0; i < args.length; i++) {
    const arg = args[i]!;
    const [, name, inline] = /^--([^=]+)(?:=(.*))?$/s.exec(arg) ?? [];
    const flag =
      name === 'help' ? HELP : name !== undefined && Object.hasOwn(flags, name) ? flags[name] : undefined;
    if (name === undefined || flag === undefined) {
      const what = arg.startsWith('-') ? 'There is no option' : 'Expected options only, got';
      throw new UsageError(`${what} \`${arg}\`. Known are ${known()}.`);
    }
    let value = '';
    if (flag.value !== undefined) {
      const next = inline ?? args[++i];
      if (next === undefined || next === '' || (inline === undefined && next.startsWith('--'))) {
        throw new UsageError(`\`--${name}\` needs a value: --${name} ${flag.value}.`);
      }
      value = next;
    } else if (inline !== undefined) throw new UsageError(`\`--${name}\` takes no value, got \`${inline}\`.`);
    const values = given.get(name);
    if (values !== undefined && !flag.multiple) throw new UsageError(`\`--${name}\` was given twice.`);
    if (values === undefined) given.set(name, [value]);
    else values.push(value);
  }
  return given;
}

const HELP: Flag = { help: 'Prints this.' };

export function renderHelp(summary: string, usage: string, flags: Flags): string {
  const rows = Object.entries({ ...flags, help: HELP }).map(([name, flag]) => [
    `--${name}${flag.value === undefined ? '' : ` ${flag.value}`}`,
    flag.help,
  ]);
  const width = Math.max(...rows.map(([name]) => name!.length));
  return `${summary}\n\nUsage: ${usage}\n\n${rows.map(([name, help]) => `  ${name!.padEnd(width)}  ${help}`).join('\n')}\n`;
}

/** @throws UsageError unless it is a whole number within the bounds */
export function wholeNumber(given: Given, name: string, least: number, most: number): number | undefined {
  const text = given.get(name)?.[0];
  if (text === undefined) return undefined;
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < least || value > most) {
    throw new UsageError(`\`--${name}\`: expected a whole number from ${least} to ${most}, got \`${text}\`.`);
  }
  return value;
}

/** Runs a command; a mistake in how it was called is told in one line. */
export async function runCommand(main: () => Promise<number>): Promise<void> {
  try {
    process.exitCode = await main();
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 2;
  }
}
