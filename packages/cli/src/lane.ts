/**
 * What runs in the lanes: the user's function, and beside it what would otherwise burden the host, which is
 * one thread for all lanes: finding the function and writing its results as JSON.
 */
import { Console } from 'node:console';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { isMainThread } from 'node:worker_threads';
import { type Failure, failureOf, firstLine, toJson } from './json.ts';

/** The value's JSON text, or why there is none. */
export type LaneResult = string | Failure;

/** What became of the module; told to the host before any input is taken. */
export type Opened =
  | { readonly state: 'ready' }
  | { readonly state: 'not-loaded'; readonly error: Failure }
  | {
      readonly state: 'no-function';
      readonly found: 'nothing' | 'a class' | 'a value';
      readonly functions: readonly string[];
    };

/** The functions that a lane serves to the host. */
export interface LaneModule {
  describe(): Opened;
  run(input: string): LaneResult | Promise<LaneResult>;
}

type Task = (input: string) => unknown;

/**
 * Loads the user's module.
 *
 * @param url of the module, absolute
 * @param exportName of the function in it
 */
export async function openLane(url: string, exportName: string): Promise<LaneModule> {
  sendPrintsToStderr();
  let namespace: object;
  try {
    // Through a module of our own: a namespace that exports `then` would be taken for a promise by `import()`.
    const wrapper = `export * as tasks from ${JSON.stringify(url)}`;
    namespace = (await import(`data:text/javascript,${encodeURIComponent(wrapper)}`)).tasks;
  } catch (error) {
    const opened: Opened = { state: 'not-loaded', error: oneLine(error) };
    return { describe: () => opened, run: () => opened.error };
  }
  const exports = commonJsExports(url) ?? namespace;
  const found = own(exports, exportName);
  if (!isCallable(found)) {
    const opened: Opened = {
      state: 'no-function',
      found: found === undefined ? 'nothing' : typeof found === 'function' ? 'a class' : 'a value',
      functions: Object.keys(exports).filter(name => isCallable(own(exports, name))),
    };
    return { describe: () => opened, run: () => ({ name: 'Error', message: `no function ${exportName}` }) };
  }
  return { describe: () => ({ state: 'ready' }), run: input => run(found, input) };
}

function run(task: Task, input: string): LaneResult | Promise<LaneResult> {
  try {
    const value = task(input);
    if (typeof (value as PromiseLike<unknown> | null | undefined)?.then === 'function') {
      return Promise.resolve(value).then(toJson).catch(failureOf);
    }
    return toJson(value);
  } catch (error) {
    return failureOf(error);
  }
}

/** The results have stdout for themselves. */
function sendPrintsToStderr(): void {
  globalThis.console = new Console({ stdout: process.stderr, stderr: process.stderr });
  if (!isMainThread) process.stdout.write = process.stderr.write.bind(process.stderr);
}

function own(holder: object, key: string): unknown {
  return Object.hasOwn(holder, key) ? (holder as Record<string, unknown>)[key] : undefined;
}

function isCallable(value: unknown): value is Task {
  return typeof value === 'function' && !/^class\b/.test(Function.prototype.toString.call(value));
}

/** The `module.exports` of a CommonJS module: its functions are all exports, also those `import` cannot see. */
function commonJsExports(url: string): object | null {
  if (!url.startsWith('file:')) return null;
  const exports: unknown = createRequire(url).cache[fileURLToPath(url)]?.exports;
  if (typeof exports === 'function') return Object.assign(Object.create(null), exports, { default: exports });
  return typeof exports === 'object' && exports !== null ? exports : null;
}

function oneLine(error: unknown): Failure {
  const failure = failureOf(error);
  return { ...failure, message: firstLine(failure.message) };
}
