import { storagesNamed } from '../call/storages.ts';
import { insideTrace, type TraceHeaders } from '../call/traces.ts';
import { hotlaneTask } from './context.ts';
import type { TaskFunction } from './tasks.ts';

/**
 * What came along with a call: it travels as one more argument behind the call's own, and is there only when a flag of the
 * call says so.
 */
export interface Carried {
  /** Stores by the names of their storages. */
  readonly stores?: Readonly<Record<string, unknown>>;
  readonly trace?: TraceHeaders;
}

/** Taken before a task module may patch it. */
const { keys } = Object;

/** A task that runs inside what came along with its call. A storage that is unknown here is one that no task reads. */
export function inside({ stores, trace }: Carried, task: TaskFunction): TaskFunction {
  return (...args) => {
    let run = () => hotlaneTask(task, args);
    if (stores !== undefined) {
      for (const name of keys(stores)) {
        for (const storage of storagesNamed(name)) {
          const inner = run;
          run = () => storage.run(stores[name], inner);
        }
      }
    }
    return trace === undefined ? run() : insideTrace(trace, run);
  };
}
