/**
 * What runs in the lanes: the user's function, and beside it what would otherwise burden the host, which is
 * one thread for all lanes: finding the function and writing its results as JSON.
 */
import { Console } from 'node:console';
import { isMainThread } from 'node:worker_threads';
import { loadTasks, type TaskFunction, type Tasks } from 'hotlane/modules';
import { type Failure, failureOf, firstLine, toJson } from './json.ts';
import { isUnread, openItems } from './lane-items.ts';

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
  /** With --stream. @returns what can be iterated, if the function gave that */
  items(input: string): Promise<unknown>;
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
    return { describe: () => opened, run: () => opened.error, items: async () => [opened.error] };
  }
  const found = tasks.kindOf(exportName);
  if (found !== 'a function') {
    const opened: Opened = { state: 'no-function', found, functions: tasks.names() };
    const error = { name: 'Error', message: `no function ${exportName}` };
    return { describe: () => opened, run: () => error, items: async () => [error] };
  }
  const task = tasks.find(exportName);
  const items = (input: string) => openItems(task, input);
  Object.defineProperty(items, 'name', { value: exportName }); // errors tell it
  return { describe: () => ({ state: 'ready' }), run: input => run(task, input), items };
}

function run(task: TaskFunction, input: string): LaneResult | Promise<LaneResult> {
  try {
    const value = task(input);
    if (typeof (value as PromiseLike<unknown> | null | undefined)?.then === 'function') {
      return Promise.resolve(value).then(resultOf).catch(failureOf);
    }
    return resultOf(value);
  } catch (error) {
    return failureOf(error);
  }
}

function resultOf(value: unknown): string {
  if (isUnread(value)) {
    throw new TypeError(
      'the result is a generator or a stream; give --stream to have its items, a line each',
    );
  }
  return toJson(value);
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
