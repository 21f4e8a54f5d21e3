import { registerError } from '../call/error-classes.ts';
import { context } from '../worker/context.ts';

/** The task module of the call contract: nothing in it but JavaScript, so that it runs in every kind of lane. */

export const aValue = 42;
export class AClass {}

/** A class of errors that both sides know. */
export class ContractError extends RangeError {
  readonly field: string;
  constructor(field: string) {
    super(`${field} is wrong`);
    this.field = field;
  }
}
registerError(ContractError, { name: 'hotlane.ContractError' });

export function add(a: number, b: number): number {
  return a + b;
}

export function echo(value: any): any {
  return value;
}

export async function later<T>(value: T, ms: number): Promise<T> {
  await new Promise(resolve => setTimeout(resolve, ms));
  return value;
}

export function throwThis(value: unknown): never {
  throw value;
}

export function throwOwn(kind: 'type' | 'coded' | 'many' | 'registered'): never {
  if (kind === 'type') throw new TypeError('no');
  if (kind === 'many') throw new AggregateError([new TypeError('a'), 2], 'two');
  if (kind === 'registered') throw new ContractError('age');
  throw Object.assign(new Error('coded', { cause: new SyntaxError('deeper') }), {
    code: 'E_CODED',
    tries: 3,
  });
}

export function returnFunction(): unknown {
  return { rows: [{ format: () => 1 }] };
}

export function laneId(): number {
  return context.laneId;
}

let count = 0;
/** How often `bump` was called in this lane, this time included. */
export function bump(): number {
  return ++count;
}

export function counted(): number {
  return count;
}

/** Waits until its call is cancelled; tells how often that came about, and with what, to `lastReason`. */
export async function untilCancelled(): Promise<void> {
  const { signal } = context;
  if (!signal.aborted) await new Promise(resolve => signal.addEventListener('abort', resolve));
  reason = signal.reason;
}

let reason: unknown;
export function lastReason(): unknown {
  return reason;
}

/** Never settles, and does not look whether its call was cancelled; its event loop turns. */
export function never(): Promise<never> {
  return new Promise(() => {});
}

/** Never returns, and its event loop does not turn. */
export function loopForever(): never {
  for (;;);
}

/** Loops until the call is cancelled or its deadline passes. */
export function loopUntilAborted(): string {
  while (!context.aborted());
  return 'stopped';
}

/** Loops for so many milliseconds. */
export function block(ms: number): void {
  const end = Date.now() + ms;
  while (Date.now() < end);
}

export function moveBack(bytes: number): Uint8Array {
  const result = new Uint8Array(bytes).fill(7);
  return context.transfer(result, [result.buffer]);
}

export function addTo(shared: Int32Array, index: number): number {
  return Atomics.add(shared, index, 1);
}

let ticks = 0;
export function startTicking(): void {
  setInterval(() => ticks++, 2);
}

export function ticksSoFar(): number {
  return ticks;
}

/** Ends what runs it, where that can be done from inside, and never answers. */
export function exit(): Promise<never> {
  const { process, close } = globalThis as { process?: { exit(code: number): never }; close?: () => void };
  if (process !== undefined) process.exit(1);
  close?.(); // a worker of the web is closed when its event loop turns
  return new Promise(() => {});
}

let cleanedUp = 0;
export function* numbersTo(n: number, failAt: number): Generator<number> {
  try {
    for (let i = 0; i < n; i++) {
      if (i === failAt) throw new RangeError(`no item ${i}`);
      yield i;
    }
  } finally {
    cleanedUp++;
  }
}

export function timesCleanedUp(): number {
  return cleanedUp;
}

export async function sum(numbers: AsyncIterable<number>): Promise<number> {
  let total = 0;
  for await (const n of numbers) total += n;
  return total;
}

/** Calls a function of the host's so many times, then tells another that it is done. */
export async function ask(
  fn: (i: number) => number | Promise<number>,
  done: () => void,
  times: number,
): Promise<number[]> {
  const answers: number[] = [];
  for (let i = 0; i < times; i++) answers.push(await fn(i));
  done();
  return answers;
}

const lists = new Map<unknown, { list: number[]; now: number }>();
/** Keeps a list per key in the lane's memory, and tells how many calls of a key run at once. */
export async function append(key: unknown, value: number): Promise<{ list: number[]; atOnce: number }> {
  const own = lists.get(key) ?? { list: [], now: 0 };
  lists.set(key, own);
  const atOnce = ++own.now;
  await new Promise(resolve => setTimeout(resolve, value % 3));
  own.list.push(value);
  own.now--;
  return { list: [...own.list], atOnce };
}
