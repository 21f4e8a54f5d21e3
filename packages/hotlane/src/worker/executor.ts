import { isPlain, whenSettled } from '../call/intrinsics.ts';
import { HotlaneError } from '../errors.ts';
import { type Carried, inside } from './carried.ts';
import { type Tracker, transfersOf } from './context.ts';
import { Invocation, type InvocationHost } from './invocation.ts';
import type { LaneTalk } from './talk.ts';
import type { TaskFunction } from './tasks.ts';

/** Where answers go. */
export interface Answers {
  /** @param transfer what moves with the value instead of being copied */
  answer(ticket: number, failed: boolean, value: unknown, transfer: readonly object[]): void;
}

const NOTHING: readonly object[] = [];
/** The host puts the function's name in: other DEADLINE errors are the function's own. */
export const OVERDUE = 'The call did not finish within its deadline, waiting included.';

/** Runs functions and sees that each gives exactly one answer. Knows nothing of how calls come and go. */
export class Executor {
  /** How many calls are running, those that wait for something included. */
  running = 0;
  readonly #answers: Answers;
  readonly #host: InvocationHost;
  readonly #tracker: Tracker;
  /** Those that wait for something, by ticket. */
  readonly #waiting: (Invocation | undefined)[] = [];

  constructor(answers: Answers, host: InvocationHost, tracker: Tracker) {
    this.#answers = answers;
    this.#host = host;
    this.#tracker = tracker;
  }

  /**
   * @param ticket a small whole number that no other running call has
   * @param talk what it says while it runs; when its results are a stream, they go there
   * @param carried what came along with it
   */
  run(
    ticket: number,
    task: TaskFunction,
    args: unknown[],
    deadlineAt: number,
    talk: LaneTalk | null,
    carried: Carried | null,
  ): void {
    const invocation = new Invocation(ticket, deadlineAt, this.#host);
    this.running++;
    if (talk !== null) {
      invocation.talk = talk;
      if (talk.streams) {
        const fn = task;
        task = (...given) => talk.pump(fn(...given), fn.name);
      }
    }
    if (carried !== null) task = inside(carried, task); // a generator too runs inside of it, from item to item
    let result: unknown;
    try {
      result = this.#tracker.run(invocation, task, args);
      if (isThenable(result)) {
        this.#waiting[ticket] = invocation;
        // Through a promise of our own where it is not a plain one: a foreign `then` may answer twice, or throw.
        const thenable = result;
        whenSettled(
          isPlain(thenable) ? thenable : new Promise(resolve => resolve(thenable)),
          value => this.#settle(invocation, false, value),
          error => this.#settle(invocation, true, error),
        );
        return;
      }
    } catch (error) {
      this.#end(invocation, true, error);
      return;
    }
    this.#end(invocation, false, result);
  }

  /** Fires the signal of a call that waits for something. One that has ended already does not mind. */
  abort(ticket: number, reason: unknown): void {
    this.#waiting[ticket]?.abort(reason);
  }

  #settle(invocation: Invocation, failed: boolean, value: unknown): void {
    this.#waiting[invocation.ticket] = undefined;
    this.#end(invocation, failed, value);
  }

  #end(invocation: Invocation, failed: boolean, value: unknown): void {
    this.running--;
    invocation.ended = true;
    if (invocation.overdue) {
      // The function stopped since its time is up, before the host's own timer came to it.
      failed = true;
      value = new HotlaneError('DEADLINE', OVERDUE);
    }
    this.#answers.answer(invocation.ticket, failed, value, failed ? NOTHING : transfersOf(value));
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    typeof value === 'object' && value !== null && typeof (value as PromiseLike<unknown>).then === 'function'
  );
}
