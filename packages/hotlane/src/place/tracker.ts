import { AsyncLocalStorage } from 'node:async_hooks';
import type { Tracker } from '../worker/context.ts';
import type { Invocation } from '../worker/invocation.ts';
import type { TaskFunction } from '../worker/tasks.ts';

/** For threads in which several calls run at once: each keeps its own context across what it awaits. */
export class ManyAtOnce implements Tracker {
  readonly #storage = new AsyncLocalStorage<Invocation>();

  current(): Invocation | undefined {
    return this.#storage.getStore();
  }

  run(invocation: Invocation, task: TaskFunction, args: unknown[]): unknown {
    return this.#storage.run(invocation, task, ...args);
  }
}
