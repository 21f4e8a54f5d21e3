/** What a handler may return instead of calling back, or of writing to its call. */
import type { Writable } from 'node:stream';
import type { Handler } from './find.ts';

/**
 * Takes the message that a handler returns, or promises. Nothing is no answer where the handler takes a callback: it is
 * async for its own sake, and calls back.
 */
export function takeMessage(
  returned: unknown,
  handler: Handler,
  reply: (message: unknown) => void,
  fail: (error: unknown) => void,
): void {
  const takesCallback = handler.length > 1;
  if (isThenable(returned)) {
    Promise.resolve(returned).then(message => {
      if (message !== undefined || !takesCallback) reply(message);
    }, fail);
  } else if (returned !== undefined && !takesCallback) {
    reply(returned);
  }
}

/**
 * A generator that a handler returned, or promised. Streams can be iterated too, and `call => call.on(…)` returns one: that
 * is no answer, so only what has `next` counts.
 */
export type Items = AsyncIterator<unknown> | Iterator<unknown>;

function itemsOf(made: unknown): Items | undefined {
  const generator = made as Partial<Items> | null | undefined;
  return typeof generator === 'object' && typeof generator?.next === 'function'
    ? (generator as Items)
    : undefined;
}

/**
 * Writes what a generator yields, as fast as it is taken, and ends the call. What is no generator means nothing: the handler
 * writes by itself.
 *
 * @param opened is given the generator, for whoever wants to end it early
 */
export async function takeItems(
  returned: unknown,
  call: Writable,
  opened?: (items: Items) => void,
): Promise<void> {
  const items = itemsOf(isThenable(returned) ? await returned : returned);
  if (items === undefined) return;
  opened?.(items);
  try {
    for (;;) {
      const { done, value } = await items.next();
      if (call.destroyed) return;
      if (done) break;
      if (!call.write(value)) await drained(call);
    }
  } finally {
    await items.return?.();
  }
  call.end();
}

/** Resolves when there is room for more, or nobody wants more. */
export function drained(stream: Writable): Promise<void> {
  if (stream.destroyed) return Promise.resolve();
  return new Promise(resolve => {
    const done = () => {
      stream.off('drain', done).off('close', done);
      resolve();
    };
    stream.on('drain', done).on('close', done);
  });
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as PromiseLike<unknown> | null | undefined)?.then === 'function';
}
