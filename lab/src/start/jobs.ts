import { bytes, microseconds } from '../harness/format.ts';
import { readTokens, type SourceFile } from './inputs.ts';
import { BROTLI_QUALITY, dictionary } from './tasks.ts';

export interface JobInput {
  readonly value: string;
  readonly bytes: number;
}

/** A job on the files that were found. */
export interface Job {
  readonly key: string;
  readonly title: string;
  readonly fn: 'compress' | 'suggest';
  /** What one input is, in the plural. */
  readonly unit: string;
  /** What the work grows with: what a sample is extrapolated by, and speed-ups are taken from. */
  readonly scalesWith: 'bytes' | 'calls';
  /** At least so many inputs, however slow the machine. */
  readonly least: number;
  /** All that there are, in a seeded order: a prefix is a fair sample. */
  readonly inputs: readonly JobInput[];
  /** In which order the chosen ones are handed over, by every contender. */
  readonly order: (inputs: readonly JobInput[]) => readonly JobInput[];
  readonly about: string;
}

/** Enough text for some hundred thousand names, also where node_modules is large. */
const MOST_TOKEN_BYTES = 32 * 2 ** 20;

export function compressJob(files: readonly SourceFile[]): Job {
  const total = files.reduce((sum, file) => sum + file.bytes, 0);
  return {
    key: 'compress',
    title: `brotli, quality ${BROTLI_QUALITY}, of each file`,
    fn: 'compress',
    unit: 'files',
    scalesWith: 'bytes',
    least: 8,
    inputs: files.map(({ path, bytes }) => ({ value: path, bytes })),
    order: inputs => [...inputs].sort((a, b) => b.bytes - a.bytes || (a.value < b.value ? -1 : 1)),
    about: `each call reads and compresses one .js or .md file under node_modules, largest first; ${files.length} files, ${bytes(total)} in all`,
  };
}

/** @param least how many names at least */
export function suggestJob(files: readonly SourceFile[], least: number): Job {
  const tokens = readTokens(files, MOST_TOKEN_BYTES);
  return {
    key: 'suggest',
    title: 'nearest known name for each unknown name',
    fn: 'suggest',
    unit: 'names',
    scalesWith: 'calls',
    least,
    inputs: tokens.map(token => ({ value: token, bytes: Buffer.byteLength(token) })),
    order: inputs => inputs,
    about: `each call compares one name found in those files with JavaScript's own ${dictionary.length} by edit distance; ${tokens.length} occurrences of names in all`,
  };
}

/** How long single calls took, in microseconds. */
export interface CallTimes {
  readonly mean: number;
  readonly p10: number;
  readonly p50: number;
  readonly p90: number;
}

export function printCallTimes({ mean, p10, p50, p90 }: CallTimes): string {
  return `one call takes ${microseconds(mean)} on one thread on average (median ${microseconds(p50)}, p10 ${microseconds(p10)}, p90 ${microseconds(p90)})`;
}
