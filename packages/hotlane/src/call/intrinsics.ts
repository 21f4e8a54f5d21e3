/**
 * Built-ins that both sides cannot do without, taken once, before any task module is loaded: a task that patches
 * the globals of its thread may harm itself, but must not keep its answers, or those of others, from coming.
 */
export const {
  load: atomicLoad,
  store: atomicStore,
  add: atomicAdd,
  and: atomicAnd,
  or: atomicOr,
  compareExchange: atomicCompareExchange,
  notify: atomicNotify,
  wait: atomicWait,
  waitAsync: atomicWaitAsync,
} = Atomics;

/** Tests that fake the timers of a host may fake this too, and must not hang its pools. */
export const soon: (next: () => void) => void = queueMicrotask;

const { then: plainThen } = Promise.prototype;
const { apply } = Reflect;

const { getPrototypeOf, hasOwn } = Object;
const promisePrototype = Promise.prototype;

/** Whether a promise-like is a promise of the platform's, and has no `then` of its own. */
export function isPlain(promise: PromiseLike<unknown>): promise is Promise<unknown> {
  return (
    promise.then === plainThen || (getPrototypeOf(promise) === promisePrototype && !hasOwn(promise, 'then'))
  );
}

/** `promise.then(onValue, onError)` with the platform's own `then`. */
export function whenSettled(
  promise: Promise<unknown>,
  onValue: (value: unknown) => void,
  onError?: (reason: unknown) => void,
): void {
  apply(plainThen, promise, [onValue, onError]);
}
