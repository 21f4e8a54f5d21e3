import { type ErrorCode, isHotlaneError } from '../errors.ts';

/** What the contracts check with: no test runner's, so that they run wherever there is JavaScript. */

/** One thing that a contract asks for. */
export interface ContractCase {
  /** A sentence that goes on from the contract's subject: "answers …". */
  readonly name: string;
  /** @throws when it does not hold */
  run(): Promise<void>;
}

export function check(holds: boolean, what: string): asserts holds {
  if (!holds) throw new Error(`Contract broken: ${what}`);
}

/** The same by structure, as far as JSON and the listed built-ins tell. */
export function equal(got: unknown, expected: unknown, what = 'value'): void {
  check(isSame(got, expected), `${what}: expected ${text(expected)}, got ${text(got)}`);
}

/** What a promise rejects with. */
export async function rejection(promise: Promise<unknown>, what = 'the call'): Promise<any> {
  let value: unknown;
  try {
    value = await promise;
  } catch (error) {
    return error;
  }
  throw new Error(`Contract broken: ${what} should have been rejected, and gave ${text(value)}`);
}

/** That a promise rejects with an error of ours, of this kind, with this in its message. */
export async function refused(promise: Promise<unknown>, code: ErrorCode, message = /./): Promise<any> {
  const error = await rejection(promise, `a call that ends with ${code}`);
  check(isHotlaneError(error, code), `expected ${code}, got ${error?.stack ?? text(error)}`);
  check(message.test(error.message), `expected a message like ${message}, got: ${error.message}`);
  return error;
}

/** What has not come about within so many milliseconds never will. */
const LONGEST_WAIT_MS = 20_000;

/** Waits until something is so, asking once per turn of the event loop. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  const end = Date.now() + LONGEST_WAIT_MS;
  while (!(await holds())) {
    check(Date.now() < end, `it never came about that ${holds}`);
    await pause();
  }
}

/** Lets the event loop turn. */
export function pause(ms = 1): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, ms));
}

/** The whole numbers from 0 to just below `count`. */
export function range(count: number): number[] {
  return Array.from({ length: count }, (_, i) => i);
}

function isSame(a: any, b: any): boolean {
  if (Object.is(a, b)) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Object.prototype.toString.call(a) !== Object.prototype.toString.call(b)) return false;
  if (a instanceof Date) return a.getTime() === b.getTime();
  if (a instanceof RegExp || a instanceof URL) return String(a) === String(b);
  if (a instanceof Error) return a.name === b.name && a.message === b.message && isSame({ ...a }, { ...b });
  if (a instanceof ArrayBuffer) return isSame(new Uint8Array(a), new Uint8Array(b));
  if (a instanceof Map || a instanceof Set) return isSame([...a], [...b]);
  const keys = Object.keys(a);
  return (
    keys.length === Object.keys(b).length &&
    keys.every(key => Object.hasOwn(b, key) && isSame(a[key], b[key]))
  );
}

function text(value: unknown): string {
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return String(value);
  }
}
