/** The frame from which a task was called, in stacks made on lanes: what lies below it is ours (worker/context.ts). */
const OURS = /\n\s+at (?:new )?hotlaneTask /;
const FRAME = /^\s+at /;
/** The method that a sync call enters the pool by. */
const POOL_FRAME = /#block /;
const ASYNC_FRAME = /^\s+at async /;

/**
 * Rejects with an error that shows where its call was awaited: its stack, then the frames of the code that awaits
 * this promise. It costs nothing until a call fails: no stack is taken when a call is made. Instead the engine is
 * asked, just before the error is thrown, who waits for the promise that this one is going to reject.
 *
 *     RangeError: odd: 3
 *         at failOdd (file:///app/tasks.js:10:5)
 *         ── in lane 2, called from ──
 *         at async main (file:///app/main.js:12:3)
 *
 * Engines other than V8 do not tell; there the stack stays as it was made.
 *
 * @param error thrown as it is; only its stack is written to, so it must not be the user's own
 * @param lane the number of the lane whose function threw it; left out for an error of ours, whose own frames tell a user nothing
 */
export async function rejectWithCallers(error: unknown, lane?: number): Promise<never> {
  // After the first turn the caller's promise follows this one; after the second it can be seen that it does.
  await null;
  await null;
  try {
    if (error instanceof Error) joinCallers(error, lane);
  } catch {
    // A `prepareStackTrace` of the user's may throw; the call's own error comes first.
  }
  throw error;
}

/**
 * The same for a caller that is blocked: its frames are those that lie below `pool.sync`.
 *
 * @returns the error
 */
export function withCaller(error: unknown, lane: number | undefined): unknown {
  try {
    if (error instanceof Error) joinCallers(error, lane, framesBelowPool(new Error()));
  } catch {
    // As above.
  }
  return error;
}

/** Frames of who called the pool: below them are the method and the function of `pool.sync` that called it. */
function framesBelowPool({ stack }: Error): string {
  if (typeof stack !== 'string') return '';
  const lines = stack.split('\n').filter(line => FRAME.test(line));
  const last = lines.findLastIndex(line => POOL_FRAME.test(line));
  return lines
    .slice(last + 2)
    .map(line => `\n${line}`)
    .join('');
}

function joinCallers(error: Error, lane: number | undefined, callers = asyncFrames(new Error())): void {
  const stack = typeof error.stack === 'string' ? error.stack : '';
  const own = lane === undefined ? headOf(error, stack) : stack.split(OURS, 1)[0];
  const mark =
    lane === undefined ? '' : `\n    ── in lane ${lane}${callers === '' ? '' : ', called from'} ──`;
  // An error of ours keeps its own frames where nobody is known to await it.
  if (callers !== '' || lane !== undefined) setStack(error, `${own}${mark}${callers}`);
}

function asyncFrames({ stack }: Error): string {
  if (typeof stack !== 'string') return '';
  const frames = stack.split('\n').filter(line => ASYNC_FRAME.test(line));
  return frames.map(frame => `\n${frame}`).join('');
}

/** A stack without its frames: the lines with name and message. */
function headOf({ message }: Error, stack: string): string {
  const at = stack.indexOf('\n    at ', stack.indexOf(message) + message.length);
  return at < 0 ? stack : stack.slice(0, at);
}

function setStack(error: Error, stack: string): void {
  Object.defineProperty(error, 'stack', {
    value: stack,
    writable: true,
    enumerable: false,
    configurable: true,
  });
}
