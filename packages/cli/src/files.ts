import { constants, lstatSync } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { isAbsolute, resolve } from 'node:path';
import { glob, isDynamicPattern } from 'tinyglobby';
import { CommandLineError } from './args.ts';
import type { Input, Source } from './inputs.ts';
import type { Failure } from './json.ts';

interface FileInput {
  readonly path: string;
  /** Named by the user, so that nobody has seen yet whether it is there. */
  readonly unseen: boolean;
}

/**
 * Paths and globs as inputs. Globs are expanded before anything runs; each adds only files that are not
 * among the inputs yet. Paths are passed as given, and looked at when their turn comes.
 *
 * @throws CommandLineError for a glob that matches nothing
 */
export async function openFiles(inputs: readonly string[]): Promise<Source> {
  const isPath = (input: string) => exists(input) || !isDynamicPattern(input);
  const ignore = inputs
    .filter(input => input.startsWith('!') && !exists(input))
    .map(input => slashes(input.slice(1)));
  const files: FileInput[] = [];
  const seen = new Set<string>();
  for (const input of inputs) {
    if (input.startsWith('!') && !exists(input)) continue;
    if (isPath(input)) {
      seen.add(resolve(input));
      files.push({ path: input, unseen: true });
      continue;
    }
    const matches = await expand(input, ignore);
    if (matches.length === 0)
      throw new CommandLineError(
        `no file matches ${input}${ignore.length > 0 ? ' and is not left out by a !glob' : ''}, in ${process.cwd()}`,
      );
    for (const path of matches) {
      const absolute = resolve(path);
      if (seen.has(absolute)) continue;
      seen.add(absolute);
      files.push({ path, unseen: false });
    }
  }
  if (files.length === 0)
    throw new CommandLineError("no inputs: expected a path or a glob besides those that begin with '!'");
  return new FileSource(files);
}

class FileSource implements Source {
  readonly total: number;
  readonly #files: readonly FileInput[];

  constructor(files: readonly FileInput[]) {
    this.#files = files;
    this.total = files.length;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Input> {
    for (const { path, unseen } of this.#files) {
      const problem = unseen ? await problemOf(path) : undefined;
      yield problem === undefined ? { text: path } : { text: path, problem };
    }
  }

  stop(): void {}
}

async function expand(pattern: string, ignore: readonly string[]): Promise<string[]> {
  try {
    const files = await glob(slashes(pattern), {
      ignore,
      absolute: isAbsolute(pattern),
      expandDirectories: false,
    });
    return files.sort();
  } catch (error) {
    throw new CommandLineError(`cannot expand ${pattern}: ${(error as Error).message}`);
  }
}

/** In patterns a backslash escapes; on Windows people write paths with it. */
function slashes(pattern: string): string {
  return process.platform === 'win32' ? pattern.replaceAll('\\', '/') : pattern;
}

/** A file may be named `[id].ts`, and a shell may have expanded a glob to it: what exists is a path. */
function exists(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch {
    return false;
  }
}

async function problemOf(path: string): Promise<Failure | undefined> {
  try {
    if ((await stat(path)).isDirectory()) {
      const inside = path.replace(/[\\/]+$/, '');
      return {
        name: 'Error',
        message: `is a directory; use '${inside}/**' to name the files in it`,
        code: 'EISDIR',
      };
    }
    await access(path, constants.R_OK);
    return undefined;
  } catch (error) {
    const { code = 'EIO', message } = error as NodeJS.ErrnoException;
    return { name: 'Error', message: TEXTS[code] ?? message, code };
  }
}

const TEXTS: Record<string, string> = {
  ENOENT: "no such file; inputs name files, or are lines on stdin with '-'",
  ENOTDIR: 'no such file; a part of its path is not a directory',
  EACCES: 'may not be read; permission denied',
};
