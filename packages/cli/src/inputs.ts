import { fstatSync } from 'node:fs';
import { CommandLineError } from './args.ts';
import { openFiles } from './files.ts';
import type { Failure } from './json.ts';
import { LineSource } from './lines.ts';

/** One input: the string that the function is called with, or why it cannot be called. */
export interface Input {
  readonly text: string;
  readonly problem?: Failure;
  /** `text` only shows what came: with other bytes it could be the same. */
  readonly garbled?: true;
}

/** Where inputs come from. They are taken one at a time, as there is room. */
export interface Source extends AsyncIterable<Input> {
  /** How many there are; undefined when that is not known before the end. */
  readonly total: number | undefined;
  /** No more will be taken: lets go of whatever is open. */
  stop(): void;
}

/** @throws CommandLineError for a glob that matches nothing, and for a stdin that is a directory */
export async function openInputs(inputs: readonly string[]): Promise<Source> {
  if (inputs.length === 1 && inputs[0] === '-') {
    // Node reads a directory as if it were empty.
    if (fstatSync(0).isDirectory())
      throw new CommandLineError('stdin is a directory; expected lines of text');
    return new LineSource(process.stdin);
  }
  return openFiles(inputs);
}
