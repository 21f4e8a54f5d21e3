import { AsyncLocalStorage } from 'node:async_hooks';
import { hotlaneTask, installedTracker, installTracker, type Tracker } from '../worker/context.ts';
import type { Invocation } from '../worker/invocation.ts';
import type { TaskFunction } from '../worker/tasks.ts';

/** For threads in which several calls run at once: each keeps its own context across what it awaits. */
export class ManyAtOnce implements Tracker {
  readonly #storage = new AsyncLocalStorage<Invocation>();

  current(): Invocation | undefined {
    return this.#storage.getStore();
  }

  run(invocation: Invocation, task: TaskFunction, args: unknown[]): unknown {
    return this.#storage.run(invocation, hotlaneTask, task, args);
  }
}

let inline: ManyAtOnce | null = null;

/**
 * The one tracker of all inline pools of this thread. It stands before the tracker that was there: in a lane,
 * the lane's own calls keep their context beside those of inline pools that they make.
 */
export function inlineTracker(): Tracker {
  if (inline === null) {
    const own = new ManyAtOnce();
    const before = installedTracker();
    installTracker({
      current: () => own.current() ?? before.current(),
      run: (invocation, task, args) => before.run(invocation, task, args),
    });
    inline = own;
  }
  return inline;
}
