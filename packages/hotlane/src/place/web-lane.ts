/** Runs in a web worker: serves the calls of one lane until the page ends the worker. */
import { HotlaneError } from '../errors.ts';
import type { LaneLoop } from '../transport/lane-loop.ts';
import { HOST_ASLEEP, type ToHost, type ToLane } from '../transport/layout.ts';
import { ringBlockedHost } from '../transport/wake.ts';
import { OneAtATime, UntilItAwaits } from '../worker/context.ts';
import { Tasks } from '../worker/tasks.ts';
import { joinBudget } from './budget.ts';
import { clone } from './clone.ts';
import type { LockManager } from './dom.ts';
import { serveLane } from './serve-lane.ts';
import { cores, now, turn, webCodec } from './web.ts';
import type { Hello, WebStart, Wrapped } from './web-thread.ts';

/** What is used of the DOM's `DedicatedWorkerGlobalScope`. */
interface Scope {
  readonly document?: unknown;
  readonly location: { readonly href: string };
  readonly navigator: { readonly locks: LockManager };
  postMessage(message: Wrapped<ToHost | Hello>, transfer?: never): void;
  addEventListener(
    type: 'message' | 'messageerror',
    listener: (event: { readonly data: Wrapped<ToLane | WebStart> }) => void,
  ): void;
}
const scope = globalThis as unknown as Scope;
const { crypto, setTimeout } = globalThis;

let isExposed = false;

/**
 * Lets a pool of the page call the functions of a module, in the worker that this is called in:
 *
 * ```js
 * import { expose } from 'hotlane/web-worker';
 * import * as tasks from './tasks.js';
 * expose(tasks);
 * ```
 *
 * @param tasks an object with the functions, as `import * as tasks` gives it
 * @throws HotlaneError OPTION when it is not called in a worker's script, or a second time
 */
export function expose(tasks: object): void {
  if (typeof tasks !== 'object' || tasks === null) {
    throw new HotlaneError('OPTION', 'expose: expected a module, import * as tasks from …; expose(tasks).');
  }
  serve(() => Promise.resolve(tasks));
}

/** @param load given the pool's task module, where it has one */
export function serve(load: (module: string | null) => Promise<object>): void {
  if (typeof scope.postMessage !== 'function' || scope.document !== undefined) {
    throw new HotlaneError(
      'OPTION',
      'expose: this is no worker. Call it in the script that createPool(() => new Worker(…)) starts.',
    );
  }
  if (isExposed)
    throw new HotlaneError('OPTION', 'expose: it was called before; a worker serves one module.');
  isExposed = true;
  const early: ToLane[] = [];
  let lane: LaneLoop | null = null;
  scope.addEventListener('message', ({ data }) => {
    const message = data?.hotlane;
    if (message === undefined) return;
    if (message.kind !== 'start') {
      if (lane === null) early.push(message);
      else lane.receive(message);
      return;
    }
    void start(message, load, made => {
      lane = made;
      for (const waiting of early.splice(0)) made.receive(waiting);
    });
  });
  scope.addEventListener('messageerror', () => lane?.onUnreadable(new Error('they cannot be cloned here')));
  const lock = `hotlane ${crypto.randomUUID()}`;
  const held = scope.navigator.locks.request(lock, () => {
    scope.postMessage({ hotlane: { kind: 'hello', lock } });
    return new Promise(() => {});
  });
  // As an error of the script: the page hears of those, not of rejections.
  held.catch(error =>
    setTimeout(() => {
      throw error;
    }),
  );
}

/** @param onMade is given the lane's loop, before it says that it is up */
async function start(
  told: WebStart,
  load: (module: string | null) => Promise<object>,
  onMade: (lane: LaneLoop) => void,
): Promise<void> {
  const control = new Int32Array(told.window.control, 0, HOST_ASLEEP + 1);
  const post = (message: ToHost, transfer: readonly object[] = []) => {
    scope.postMessage({ hotlane: message }, transfer as never);
    ringBlockedHost(control);
  };
  await serveLane(
    told,
    { codec: webCodec, cores, now, turn, post, clone, heapBytes: noHeapBytes },
    told.concurrency === 1 ? new OneAtATime() : new UntilItAwaits(),
    joinBudget(told.budget, told.cell, cores),
    async () => new Tasks(await load(told.module), told.module ?? scope.location.href),
    onMade,
  );
}

/** Browsers do not tell; pools there have no limit of it. */
function noHeapBytes(): number {
  return 0;
}
