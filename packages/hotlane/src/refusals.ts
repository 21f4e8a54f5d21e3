/** The errors that a pool gives its callers: what was expected, what came, what to do. */
import { HotlaneError, isHotlaneError } from './errors.ts';
import type { Call } from './lane/call.ts';
import type { Lane } from './lane/lane.ts';

/** Calls that were held, unstarted, by so many lanes that were lost are taken for the cause of it. */
export const MOST_LOSSES = 3;

/** @param name of the call's function */
export function overdue(name: string, call: Call): HotlaneError {
  return new HotlaneError(
    'DEADLINE',
    `\`${name}\` did not finish within its deadline of ${call.watch!.deadlineMs} ms, waiting included.`,
  );
}

export function laneLost(
  lane: Lane,
  name: string,
  call: Call,
  when: 'while it ran' | 'before it began',
): HotlaneError {
  const why = isHotlaneError(lane.cause)
    ? lane.cause.message
    : `Its thread ended with: ${(lane.cause as Error)?.message ?? 'no error'}.`;
  const then =
    when === 'while it ran'
      ? call.rests > 0
        ? `It has run again as often as \`retries\` allows.`
        : 'The call may have had effects, so it was not run again.'
      : call.only
        ? 'It was meant for this lane only.'
        : `${MOST_LOSSES} lanes were lost that held it, so it was given up.`;
  return new HotlaneError('LANE_LOST', `Lane ${lane.id} was lost ${when} \`${name}\`. ${why} ${then}`, {
    cause: lane.cause,
  });
}

export function lostIdle(lane: Lane): HotlaneError {
  const { id, cause } = lane;
  if (isHotlaneError(cause)) return cause;
  const what = cause instanceof Error ? cause.message : String(cause);
  return new HotlaneError('LANE_LOST', `Lane ${id} was lost while it ran no call: ${what}`, { cause });
}

export function overGrace(lane: Lane, name: string, graceMs: number, reason: unknown): HotlaneError {
  return new HotlaneError(
    'LANE_LOST',
    `Lane ${lane.id} was ended: \`${name}\` went on for ${graceMs} ms after its call was cancelled.`,
    { cause: reason },
  );
}

export function cannotStart(cause: unknown): HotlaneError {
  const known = isHotlaneError(cause, 'LANE_START');
  const message = known
    ? cause.message
    : `No lane could be started: ${(cause as Error)?.message ?? String(cause)}`;
  return new HotlaneError('LANE_START', message, { cause: known ? cause.cause : cause });
}

export function cannotBlock(name: string): HotlaneError {
  return new HotlaneError(
    'OPTION',
    `\`${name}\` cannot finish while this thread is blocked: with placement 'inline' it runs on this thread. For \`pool.sync\` it must be synchronous, and a lane must be up and free: \`await pool.ready()\` before. The main thread of a page cannot block at all: use \`pool.call\`, or make the pool in a worker.`,
  );
}

export function cannotTalk(): HotlaneError {
  return new HotlaneError(
    'NOT_CLONEABLE',
    'A callback or a stream cannot be passed to `pool.sync`: this thread, which they belong to, is blocked until the call settles.',
  );
}

export function queueFull(maxQueue: number, unfinished: number): HotlaneError {
  return new HotlaneError(
    'QUEUE_FULL',
    `The pool's queue is full: \`maxQueue\` is ${maxQueue}, and ${unfinished} calls are unfinished. The call was not accepted; try later, or raise maxQueue.`,
  );
}

/** @param queued how many bytes the arguments of unfinished calls take */
export function bytesFull(bytes: number, queued: number, most: number): HotlaneError {
  return new HotlaneError(
    'QUEUE_FULL',
    `The arguments take ${bytes} bytes; with ${queued} bytes of unfinished calls that is more than \`maxQueuedBytes\`, ${most}. The call was not accepted; try later, or raise maxQueuedBytes.`,
  );
}

export function tooManyNames(): HotlaneError {
  return new HotlaneError(
    'TOO_LARGE',
    'This pool was asked for too many different function names: some thousand, or very long ones. Names should come from code, not from data.',
  );
}
