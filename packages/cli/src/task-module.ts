import { existsSync, readFileSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { CommandLineError } from './args.ts';
import type { Opened } from './lane.ts';

/**
 * Turns what the user wrote into the URL of a module: a URL, a path, or a package's name. Unlike in
 * `createPool`, `tasks.js` without `./` is the file, if there is one: so it is on every other command line.
 *
 * @throws CommandLineError when there is no such module
 */
export function findModule(reference: string): string {
  if (/^[a-z][a-z0-9+.-]+:/i.test(reference) && !/^[a-z]:[\\/]/i.test(reference)) return findUrl(reference);
  const path = resolve(reference);
  if (isFile(path)) return pathToFileURL(path).href;
  if (/^(\.{0,2}[\\/]|\.{1,2}$|[a-z]:[\\/])/i.test(reference)) throw notFound(reference, path);
  return findPackage(reference) ?? fail(notFound(reference, path));
}

/** Under this name a lane says what became of the module; no export of a user's is called that. */
export const DESCRIBE = 'hotlane map: describe';

/** What a pool of lanes can be asked: `DESCRIBE`, and the user's function, by its own name as errors tell it. */
export type LaneFunctions = Record<string, (input: string) => Promise<any>>;

/** The module that lanes load: it opens the user's. */
export function laneModule(url: string, exportName: string): string {
  const lane = JSON.stringify(import.meta.resolve('#lane'));
  const source = `import { openLane } from ${lane};
const { describe, run } = await openLane(${JSON.stringify(url)}, ${JSON.stringify(exportName)});
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

function findUrl(reference: string): string {
  let url: URL;
  try {
    url = new URL(reference);
  } catch {
    throw new CommandLineError(`expected a path, a file: URL or a package's name, got '${reference}'`);
  }
  if (url.protocol === 'node:' || url.protocol === 'data:') return url.href;
  if (url.protocol !== 'file:') {
    throw new CommandLineError(
      `expected a path, a file: URL or a package's name, got '${reference}'; code is loaded only from this machine`,
    );
  }
  let path: string;
  try {
    path = fileURLToPath(url);
  } catch {
    throw new CommandLineError(`expected a file: URL with an absolute path (file:///…), got '${reference}'`);
  }
  if (!isFile(path)) throw notFound(reference, path);
  return url.href;
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

function fail(error: Error): never {
  throw error;
}

/** Looks a package up from the working directory, as a module there would. */
function findPackage(name: string): string | undefined {
  const require = createRequire(resolve('package.json'));
  try {
    const found = require.resolve(name);
    return /[\\/]/.test(found) ? pathToFileURL(found).href : `node:${found.replace(/^node:/, '')}`;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_PACKAGE_PATH_NOT_EXPORTED') return undefined;
    return findForImport(require.resolve.paths(name) ?? [], name);
  }
}

/** For packages that export to `import` only, which `require.resolve` cannot see. */
function findForImport(folders: readonly string[], name: string): string | undefined {
  const [, packageName, subpath] = /^((?:@[^/]+\/)?[^/]+)(\/.*)?$/.exec(name) ?? [];
  if (packageName === undefined) return undefined;
  for (const folder of folders) {
    const manifest = join(folder, packageName, 'package.json');
    if (!isFile(manifest)) continue;
    const { exports } = JSON.parse(readFileSync(manifest, 'utf8'));
    const isMap =
      typeof exports === 'object' &&
      exports !== null &&
      Object.keys(exports).some(key => key.startsWith('.'));
    const target = underImport(
      isMap ? exports[`.${subpath ?? ''}`] : subpath === undefined ? exports : undefined,
    );
    return target === undefined ? undefined : pathToFileURL(join(dirname(manifest), target)).href;
  }
  return undefined;
}

function underImport(target: unknown): string | undefined {
  if (typeof target === 'string') return target;
  if (typeof target !== 'object' || target === null) return undefined;
  for (const [condition, value] of Object.entries(target)) {
    if (!['node', 'import', 'module-sync', 'default'].includes(condition)) continue;
    const found = underImport(value);
    if (found !== undefined) return found;
  }
  return undefined;
}
