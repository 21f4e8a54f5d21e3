import { HotlaneError, show } from '../errors.ts';
import type { Demand, TaskOutcomes } from '../lane/lane.ts';
import type { ResolvedPoolOptions } from '../options.ts';
import type { ToHost, ToLane } from '../transport/layout.ts';
import { clone, snapshot } from './clone.ts';
import type { LockManager, WebWorker, WorkerError } from './dom.ts';
import { clock, cores, noKeepAlive, turn, webCodec } from './web.ts';
import {
  type LanePlatform,
  type LaneStart,
  type LaneThread,
  type ThreadEvents,
  WindowPlacement,
} from './window-lanes.ts';

/** The first that a worker says, by itself: it has `expose`, and waits to be told what to do. */
export interface Hello {
  readonly kind: 'hello';
  /** It holds this lock as long as it lives: who waits for that hears of its end, whatever it died of. */
  readonly lock: string;
}

/** What it is told then. */
export interface WebStart extends LaneStart {
  readonly kind: 'start';
  /** The task module, for a worker that has none of its own. */
  readonly module: string | null;
}

/**
 * Messages go by the worker's own channel, beside what a program may say to its worker itself. Not by a MessagePort: Firefox now
 * and then cannot read shared memory that came by one.
 */
export interface Wrapped<M> {
  readonly hotlane: M;
}

const { navigator, setTimeout } = globalThis;
const isPage = 'document' in globalThis;
const { locks } = navigator as unknown as { readonly locks: LockManager };

/**
 * Lanes that are web workers and share memory with the page.
 *
 * @param create makes a worker whose script calls `expose`
 * @param module the task module, where the script has none of its own; else null
 */
export function webPlacement(
  create: () => WebWorker,
  module: string | null,
  options: ResolvedPoolOptions,
  outcomes: TaskOutcomes,
  demand: Demand,
): WindowPlacement {
  const platform: LanePlatform = {
    clock,
    codec: webCodec,
    clone,
    cores,
    turn,
    mayBlock: !isPage,
    snapshot,
    createKeepAlive: () => noKeepAlive,
    start: (given, events) => new WebThread(create, module, given, events),
  };
  return new WindowPlacement(platform, options, outcomes, demand);
}

class WebThread implements LaneThread {
  readonly #worker: WebWorker;
  readonly #events: ThreadEvents;
  #isTold = false;
  /** What was said to it before it listened. */
  readonly #early: ToLane[] = [];
  #isEnding = false;

  constructor(create: () => WebWorker, module: string | null, given: LaneStart, events: ThreadEvents) {
    this.#events = events;
    this.#worker = made(create);
    this.#worker.addEventListener('message', ({ data }: { readonly data: Wrapped<ToHost | Hello> }) => {
      const message = data?.hotlane;
      if (message === undefined) return;
      if (message.kind !== 'hello') events.onMessage(message);
      else if (!this.#isTold && !this.#isEnding) {
        this.#isTold = true;
        this.#post({ ...given, kind: 'start', module });
        for (const early of this.#early) this.#post(early);
        locks
          .request(message.lock, () => this.#afterMessages())
          .catch(error => {
            // The page is about to go: nobody will tell of the worker's end.
            events.onError(error);
            this.#worker.terminate();
            this.#afterMessages();
          });
      }
    });
    this.#worker.addEventListener('messageerror', () =>
      events.onUnreadable(new Error('it has a value that cannot be cloned here')),
    );
    this.#worker.addEventListener('error', (event: WorkerError) => {
      if (this.#isTold) return; // of a function that nobody waited for; the console shows it
      events.onError(scriptFailed(event));
      this.terminate();
    });
  }

  post(message: ToLane, transfer?: readonly object[]): void {
    if (this.#isTold) this.#post(message, transfer);
    else this.#early.push(message); // nothing is moved to a lane that is not up
  }

  #post(message: ToLane | WebStart, transfer: readonly object[] = []): void {
    this.#worker.postMessage({ hotlane: message } satisfies Wrapped<ToLane | WebStart>, transfer as never);
  }

  /** Nothing in a page can look for messages: they come when they come. */
  receiveAll(): void {}

  terminate(): void {
    if (this.#isEnding) return;
    this.#isEnding = true;
    this.#worker.terminate();
    // It has not been told of any memory yet: whatever it does in its last moments, it does alone.
    if (!this.#isTold) this.#afterMessages();
  }

  isDead(): boolean {
    return false;
  }

  isGone(): boolean {
    return false;
  }

  close(): void {}

  /** What it said last may be on its way still. */
  #afterMessages(): void {
    setTimeout(() => this.#events.onExit());
  }
}

/** @throws HotlaneError LANE_START */
function made(create: () => WebWorker): WebWorker {
  let worker: WebWorker;
  try {
    worker = create();
  } catch (error) {
    throw new HotlaneError('LANE_START', `No worker could be made: ${(error as Error)?.message}`, {
      cause: error,
    });
  }
  if (typeof worker?.postMessage === 'function' && typeof worker.terminate === 'function') return worker;
  throw new HotlaneError(
    'LANE_START',
    `createPool: expected a function that returns a Worker, () => new Worker(new URL('./tasks.worker.js', import.meta.url), { type: 'module' }), and it returned ${show(worker)}.`,
  );
}

/** Browsers tell where a script is wrong, but not why one could not be had. */
function scriptFailed({ message, filename, lineno }: WorkerError): HotlaneError {
  if (message) {
    return new HotlaneError('LANE_START', `The worker's script failed: ${message} (${filename}:${lineno})`);
  }
  return new HotlaneError(
    'LANE_START',
    "The worker's script, or a module that it imports, could not be loaded. Browsers do not tell which, or why: it may be missing, have a MIME type that is not JavaScript's, be of another origin, or be blocked by the page's Content-Security-Policy. The console and the network panel show it.",
  );
}
