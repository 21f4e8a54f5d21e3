import { existsSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { resolveModule } from 'hotlane/modules';
import { CommandLineError } from './args.ts';
import type { Opened } from './lane.ts';

/**
 * Turns what the user wrote into the URL of a module: a URL, a path, or a package's name. Unlike in
 * `createPool`, `tasks.js` without `./` is the file, if there is one: so it is on every other command line.
 *
 * @throws CommandLineError when there is no such module
 */
export function findModule(reference: string): string {
  const path = resolve(reference);
  if (isFile(path)) return pathToFileURL(path).href;
  let url: string;
  try {
    url = resolveModule(reference);
  } catch (error) {
    throw new CommandLineError((error as Error).message);
  }
  if (!URL.canParse(url)) throw notFound(reference, path);
  if (url.startsWith('file:') && !isFile(fileURLToPath(url))) throw notFound(reference, fileURLToPath(url));
  return url;
}

/** Under this name a lane says what became of the module; no export of a user's is called that. */
export const DESCRIBE = 'hotlane map: describe';

/** What a pool of lanes can be asked: `DESCRIBE`, and the user's function, by its own name as errors tell it. */
export type LaneFunctions = Record<string, (input: string) => any>;

/**
 * The module that lanes load: it opens the user's.
 *
 * @param stream whether the function's items are wanted, not its result
 */
export function laneModule(url: string, exportName: string, stream: boolean): string {
  const lane = JSON.stringify(import.meta.resolve('#lane'));
  const source = `import { openLane } from ${lane};
const { describe, ${stream ? 'items' : 'run'}: run } = await openLane(${JSON.stringify(url)}, ${JSON.stringify(exportName)});
export { describe as ${JSON.stringify(DESCRIBE)}, run as ${JSON.stringify(exportName)} };`;
  return `data:text/javascript,${encodeURIComponent(source)}`;
}

/** @throws CommandLineError that says why the function cannot be had */
export function checkOpened(opened: Opened, reference: string, exportName: string): void {
  if (opened.state === 'ready') return;
  if (opened.state === 'not-loaded') {
    const { name, message } = opened.error;
    // Where it is wrong Node tells only when it prints the error by itself.
    const parsed = name !== 'SyntaxError' || message.includes('does not provide an export');
    const hint = parsed ? '' : ` (node --check ${reference} shows where)`;
    throw new CommandLineError(`cannot load ${reference}: ${name}: ${message}${hint}`);
  }
  const { found, functions } = opened;
  const known = functions.slice(0, 20).join(', ') + (functions.length > 20 ? ', …' : '');
  const there = functions.length === 0 ? 'it exports no functions' : `its functions are: ${known}`;
  if (found !== 'nothing') {
    throw new CommandLineError(
      `${reference} exports '${exportName}', but as ${found}, not a function; ${there}`,
    );
  }
  if (exportName === 'default' && functions.length > 0) {
    throw new CommandLineError(
      `${reference} has no default export; name a function, e.g. ${reference}#${functions[0]}; ${there}`,
    );
  }
  throw new CommandLineError(`${reference} has no export '${exportName}'; ${there}`);
}

function notFound(reference: string, path: string): CommandLineError {
  if (existsSync(path)) return new CommandLineError(`${reference} is not a file; name a module's file`);
  const other = ['.js', '.mjs', '.ts', '.cjs', '.mts'].find(end => isFile(path + end));
  if (other !== undefined)
    return new CommandLineError(`cannot find the module ${reference}; did you mean ${reference}${other}?`);
  const bare = !/^(\.{0,2}[\\/]|[a-z]+:)/i.test(reference);
  return new CommandLineError(
    `cannot find the module ${reference}: looked for ${path}${bare ? `, and for a package of that name from ${process.cwd()}` : ''}`,
  );
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}
