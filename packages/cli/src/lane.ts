/**
 * What runs in the lanes: the user's function, and beside it what would otherwise burden the host, which is
 * one thread for all lanes: finding the function and writing its results as JSON.
 */
import { Console } from 'node:console';
import { isMainThread } from 'node:worker_threads';
import { loadTasks, type TaskFunction, type Tasks } from 'hotlane/modules';
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

/**
 * Loads the user's module.
 *
 * @param url of the module, absolute
 * @param exportName of the function in it
 */
export async function openLane(url: string, exportName: string): Promise<LaneModule> {
  sendPrintsToStderr();
  let tasks: Tasks;
  try {
    tasks = await loadTasks(url);
  } catch (error) {
    // What the loader said; that it was this module, the command says.
    const opened: Opened = { state: 'not-loaded', error: oneLine((error as Error).cause ?? error) };
    return { describe: () => opened, run: () => opened.error };
  }
  const found = tasks.kindOf(exportName);
  if (found !== 'a function') {
    const opened: Opened = { state: 'no-function', found, functions: tasks.names() };
    return { describe: () => opened, run: () => ({ name: 'Error', message: `no function ${exportName}` }) };
  }
  const task = tasks.find(exportName);
  return { describe: () => ({ state: 'ready' }), run: input => run(task, input) };
}

function run(task: TaskFunction, input: string): LaneResult | Promise<LaneResult> {
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

function oneLine(error: unknown): Failure {
  const failure = failureOf(error);
  return { ...failure, message: firstLine(failure.message) };
}
