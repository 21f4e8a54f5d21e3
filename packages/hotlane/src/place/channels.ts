/** Tells subscribers of `node:diagnostics_channel` of calls and lanes. What nobody subscribed to costs nothing. */
import { channel, tracingChannel } from 'node:diagnostics_channel';
import type { CallTimes } from '../lane/call.ts';
import type { CallNews, LaneNews } from '../lane/watch.ts';

const calls = tracingChannel('hotlane:call');
const lanes = channel('hotlane:lane');
const { start, end, asyncStart, asyncEnd, error } = calls;

/** Read for each call: five getters of two constants, which the engine makes one look at the channels' shapes of. */
export function callsWanted(): boolean {
  return (
    start.hasSubscribers ||
    end.hasSubscribers ||
    asyncStart.hasSubscribers ||
    asyncEnd.hasSubscribers ||
    error.hasSubscribers
  );
}

/** What all messages of one pool say. */
export interface PoolNews {
  /** The pool's number, unique in its thread. */
  readonly pool: number;
  /** The task module's URL. */
  readonly module: string;
}

/** The message of a call's events, one object for all of them: the later ones find more in it. */
interface CallMessage extends PoolNews, CallNews {
  lane: number | undefined;
  queuedAt: number;
  startedAt: number | undefined;
  endedAt: number | undefined;
  result?: unknown;
  error?: unknown;
}

/** Events as `TracingChannel.tracePromise` publishes them. */
export function publishCall(
  pool: PoolNews,
  about: CallNews,
  times: CallTimes,
  make: () => Promise<unknown>,
): Promise<unknown> {
  const { queuedAt } = times;
  const message: CallMessage = {
    ...pool,
    ...about,
    lane: undefined,
    queuedAt,
    startedAt: undefined,
    endedAt: undefined,
  };
  const complete = () => {
    // A zero is what has not happened: the call was refused, cancelled while it waited, or its lane was lost.
    message.lane = times.lane || undefined;
    message.startedAt = times.startedAt || undefined;
    message.endedAt = times.endedAt || undefined;
  };
  // One `then` after the other: the stack of a failed call can be followed only where no promise has two (stack.ts).
  const completed = () =>
    make().then(
      value => {
        complete();
        return value;
      },
      reason => {
        complete();
        throw reason;
      },
    );
  return calls.tracePromise(completed, message);
}

export function publishLane(pool: PoolNews, { id, state, cause }: LaneNews): void {
  if (!lanes.hasSubscribers) return;
  // Later: a subscriber may make calls, or close the pool, and the pool is in the middle of something.
  queueMicrotask(() => lanes.publish({ ...pool, lane: id, state, cause }));
}
