/** How values and errors are written. Runs in the lanes, so that it costs the host nothing. */
import { inspect } from 'node:util';

/** An error as it stands in the output. */
export interface Failure {
  readonly name: string;
  readonly message: string;
  readonly code?: string | number;
}

/**
 * A value as JSON text, on one line. What JSON cannot hold is turned into what it can; see `mapHelp`.
 *
 * @throws TypeError for a value that contains itself or is nested too deeply; and whatever a `toJSON` throws
 */
export function toJson(value: unknown): string {
  try {
    return JSON.stringify(value, replace) ?? 'null';
  } catch (error) {
    if (error instanceof TypeError && error.message.startsWith('Converting circular structure')) {
      throw new TypeError('the result cannot be written as JSON: it contains itself', { cause: error });
    }
    if (error instanceof RangeError) {
      // Of the stack: a Map within itself is a new array each time, which JSON does not recognise.
      const why =
        error.message === 'Invalid string length' ? 'too long' : 'nested too deeply, or contains itself';
      throw new TypeError(`the result cannot be written as JSON: it is ${why}`, { cause: error });
    }
    throw error;
  }
}

function replace(this: unknown, key: string, value: unknown): unknown {
  if (typeof value === 'bigint') return value.toString();
  if (typeof value !== 'object' || value === null) return value;
  // Buffer has a toJSON that has been applied to `value` by now.
  const original = (this as Record<string, unknown>)[key];
  if (typeof original !== 'object' || original === null) return value;
  if (ArrayBuffer.isView(original)) return view(original);
  if (value !== original) return value;
  if (value instanceof Map) return [...value];
  if (value instanceof Set) return [...value];
  if (value instanceof ArrayBuffer || value instanceof SharedArrayBuffer)
    return base64(new Uint8Array(value));
  if (value instanceof RegExp) return String(value);
  if (value instanceof Error) return failureOf(value);
  return value;
}

function view(value: ArrayBufferView): unknown {
  if (value instanceof Uint8Array || value instanceof Uint8ClampedArray || value instanceof DataView)
    return base64(value);
  return Array.from(value as unknown as ArrayLike<unknown>);
}

function base64({ buffer, byteOffset, byteLength }: ArrayBufferView): string {
  return Buffer.from(buffer as ArrayBuffer, byteOffset, byteLength).toString('base64');
}

/** Whatever was thrown, as it stands in the output. Never throws. */
export function failureOf(error: unknown): Failure {
  try {
    if (typeof error === 'object' && error !== null && typeof (error as Error).message === 'string') {
      const { name, message, code } = error as { name?: unknown; message: string; code?: unknown };
      const failure = { name: typeof name === 'string' && name !== '' ? name : 'Error', message };
      return typeof code === 'string' || typeof code === 'number' ? { ...failure, code } : failure;
    }
    return {
      name: 'Error',
      message:
        typeof error === 'string'
          ? error
          : `threw ${inspect(error, { breakLength: Number.POSITIVE_INFINITY })}`,
    };
  } catch {
    return { name: 'Error', message: 'threw something that cannot be looked at' };
  }
}

/** The first line of an error's text: what fits into one line of a terminal. */
export function firstLine(message: string): string {
  const end = message.search(/[\r\n]/);
  return end < 0 ? message : message.slice(0, end);
}
