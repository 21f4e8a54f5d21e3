import { AsyncLocalStorage } from 'node:async_hooks';
import { availableParallelism } from 'node:os';
import { getHeapStatistics } from 'node:v8';
import type { Clock } from '../lane/clock.ts';

/**
 * What Node gives to hosts and lanes alike. Taken once: fake timers of a test, on the host or in a task, must not
 * stop a pool.
 */
const { setTimeout, clearTimeout, setInterval, clearInterval, setImmediate, performance } = globalThis;
const elapsed = performance.now.bind(performance);

// `performance.now()` counts from each thread's own start; with this it is the same clock everywhere.
const origin = clockOrigin();

/** Of several looks at both clocks, the one that took the least: a thread that lost its core between the two is milliseconds off. */
function clockOrigin(): number {
  let [least, found] = [Number.POSITIVE_INFINITY, 0];
  for (let look = 0; look < 8; look++) {
    const before = elapsed();
    const common = Number(process.hrtime.bigint()) / 1e6;
    const after = elapsed();
    if (after - before >= least) continue;
    least = after - before;
    found = common - (before + after) / 2;
  }
  return found;
}

export function now(): number {
  return elapsed() + origin;
}

export const clock: Clock = {
  now,
  setTimer: (ms, onTime) => (ms === Number.POSITIVE_INFINITY ? undefined : setTimeout(onTime, ms).unref()),
  clearTimer: timer => clearTimeout(timer as NodeJS.Timeout),
  random: Math.random,
};

export function turn(next: () => void): void {
  setImmediate(next);
}

/**
 * Runs something apart from the async context of whoever made it run: a call that waited would see that of the call
 * before it. A thread has a context of its own by nature.
 */
export const apart: (run: () => void) => void = AsyncLocalStorage.snapshot();

/**
 * Holds the process while it is on: one timer that never fires. Pools turn it on and off with nearly every call that they
 * sleep through, so it is made once: to make a timer costs as much as all else of such a call.
 */
export class KeepAlive {
  readonly #timer = setInterval(() => {}, 2 ** 31 - 1).unref();

  set(on: boolean): void {
    if (on) this.#timer.ref();
    else this.#timer.unref();
  }

  /** Lets go of the timer; may be called twice. */
  dispose(): void {
    clearInterval(this.#timer);
  }
}

export const cores = availableParallelism();

export function usedHeapBytes(): number {
  return getHeapStatistics().used_heap_size;
}

/** How Node tells of what nobody waits for: on stderr, or wherever the process listens for its warnings. */
export function warn(error: Error): void {
  process.emitWarning(error);
}
