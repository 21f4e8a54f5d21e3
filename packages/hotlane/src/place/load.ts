import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { createRequire, isBuiltin } from 'node:module';
import { join, resolve as resolvePath } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { HotlaneError, show } from '../errors.ts';
import { Tasks } from '../worker/tasks.ts';

/** What a pool's first argument may be: see `createPool`. */
export type ModuleReference = URL | string;

/**
 * Turns what the user gave into one absolute URL, so that all lanes load the same module.
 *
 * A URL stays as it is; a path is taken from the working directory; anything else is a package's name, looked
 * up from the working directory as `require` would, so that a pool in an application finds its dependencies.
 *
 * @throws HotlaneError OPTION for what can be neither
 */
export function resolveModule(reference: ModuleReference): string {
  if (reference instanceof URL) return checkUrl(reference.href);
  if (typeof reference !== 'string' || reference === '') {
    throw new HotlaneError(
      'OPTION',
      `Task module: expected a URL (new URL('./tasks.js', import.meta.url)), a path or a package name, got ${show(reference)}.`,
    );
  }
  if (/^[a-z][a-z0-9+.-]+:/i.test(reference) && !/^[a-z]:[\\/]/i.test(reference)) return checkUrl(reference);
  if (/^(\.{0,2}[\\/]|\.{1,2}$|[a-z]:[\\/])/i.test(reference))
    return pathToFileURL(resolvePath(reference)).href;
  return findPackage(reference) ?? reference; // unfound: each lane looks again when it starts
}

/** A package's URL, looked up from the working directory, as a module there would. */
function findPackage(name: string): string | null {
  const require = createRequire(resolvePath('package.json'));
  try {
    const found = require.resolve(name);
    return isBuiltin(found) ? `node:${found.replace(/^node:/, '')}` : pathToFileURL(found).href;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_PACKAGE_PATH_NOT_EXPORTED') return null;
    return findForImport(require.resolve.paths(name) ?? [], name);
  }
}

/** For packages that export to `import` only, which `require.resolve` cannot see. */
function findForImport(folders: readonly string[], name: string): string | null {
  const [, packageName, subpath = ''] = /^((?:@[^/]+\/)?[^/]+)(\/.*)?$/.exec(name) ?? [];
  for (const folder of packageName === undefined ? [] : folders) {
    const manifest = join(folder, packageName, 'package.json');
    if (!existsSync(manifest)) continue;
    const { exports } = JSON.parse(readFileSync(manifest, 'utf8'));
    const hasPaths =
      typeof exports === 'object' &&
      exports !== null &&
      Object.keys(exports).some(key => key.startsWith('.'));
    const target = underImport(hasPaths ? exports[`.${subpath}`] : subpath === '' ? exports : undefined);
    return target === null ? null : pathToFileURL(join(folder, packageName, target)).href;
  }
  return null;
}

/** Follows conditions in the order in which they stand, as the loader does. */
function underImport(target: unknown): string | null {
  if (typeof target === 'string') return target;
  if (typeof target !== 'object' || target === null) return null;
  for (const [condition, value] of Object.entries(target)) {
    if (!['node', 'import', 'module-sync', 'default'].includes(condition)) continue;
    const found = underImport(value);
    if (found !== null) return found;
  }
  return null;
}

function checkUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url !== null && (url.protocol === 'node:' || url.protocol === 'data:')) return url.href;
  if (url?.protocol === 'file:' && url.host === '') return url.href;
  throw new HotlaneError(
    'OPTION',
    `Task module: expected a file:, node: or data: URL, got ${show(text)}. Code is loaded only from this machine.`,
  );
}

/**
 * Loads a task module.
 *
 * @param module as `resolveModule` gave it
 * @throws HotlaneError LANE_START that names what was looked for, with the loader's error as cause
 */
export async function loadTasks(module: string): Promise<Tasks> {
  const url = URL.canParse(module) ? module : findPackage(module);
  if (url === null) throw new HotlaneError('LANE_START', describeMissingPackage(module));
  let namespace: object;
  try {
    // Through a module of our own: a namespace that exports `then` would be taken for a promise by `import()`.
    const wrapper = `export * as tasks from ${JSON.stringify(url)}`;
    namespace = (await import(`data:text/javascript,${encodeURIComponent(wrapper)}`)).tasks;
  } catch (error) {
    throw new HotlaneError('LANE_START', describeFailure(url, error), { cause: error });
  }
  return new Tasks(commonJsExports(url) ?? namespace, url);
}

function describeFailure(url: string, error: unknown): string {
  const code = (error as NodeJS.ErrnoException)?.code;
  const path = url.startsWith('file:') ? fileURLToPath(url) : null;
  const wanted = path ?? url;
  // The same code is given when something that the module imports is missing.
  const isNotFound = code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND';
  if (isNotFound && path !== null && !existsSync(path)) {
    return `Cannot find the task module: looked for ${wanted}. Pass new URL('./tasks.js', import.meta.url), or a path from the working directory ${process.cwd()}.`;
  }
  if (code === 'ERR_UNSUPPORTED_DIR_IMPORT')
    return `The task module ${wanted} is a directory; name a file in it.`;
  const what = error instanceof Error ? `${error.name}: ${error.message.split('\n', 1)[0]}` : String(error);
  return `The task module ${wanted} failed to load: ${what}${hintFor(error, code)}`;
}

function hintFor(error: unknown, code: string | undefined): string {
  if (code === 'ERR_UNKNOWN_FILE_EXTENSION' || code === 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX') {
    return '. If it is TypeScript: compile it, or use a Node that runs it from source (22.18, 24 and later, without enums and the like)';
  }
  // Where it is, Node tells only when it prints such an error by itself.
  return error instanceof SyntaxError ? '. (`node --check` and the path shows where)' : '';
}

function describeMissingPackage(name: string): string {
  const path = resolvePath(name);
  const hint = existsSync(path)
    ? `There is a file of that name: write ./${name}.`
    : 'For a file, begin the path with ./ or /.';
  return `Cannot find the package ${show(name)}: looked in node_modules from ${process.cwd()} upwards. ${hint}`;
}

/** The `module.exports` of a CommonJS module: its functions are all exports, also those `import` cannot see. */
function commonJsExports(url: string): object | null {
  if (!url.startsWith('file:')) return null;
  const loaded = createRequire(url).cache[realpathSync(fileURLToPath(url))];
  if (loaded === undefined) return null;
  const exports: unknown = loaded.exports;
  if (typeof exports === 'function') return { ...exports, default: exports };
  return typeof exports === 'object' && exports !== null ? exports : {};
}
