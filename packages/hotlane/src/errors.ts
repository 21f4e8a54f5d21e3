/**
 * Every error that Hotlane itself raises. The code is stable and is what a program should test;
 * the message says what was expected, what came, and what to do about it.
 */

const BRAND: unique symbol = Symbol.for('hotlane.error') as never;

/** The stable part of each code: `error.code` is `ERR_HOTLANE_` followed by one of these. */
export type ErrorCode =
  | 'LANE_LOST'
  | 'LANE_START'
  | 'QUEUE_FULL'
  | 'NO_FUNCTION'
  | 'NOT_CLONEABLE'
  | 'TOO_LARGE'
  | 'DEADLINE'
  | 'CLOSED'
  | 'PROTOCOL'
  | 'OPTION';

export class HotlaneError extends Error {
  /** `ERR_HOTLANE_` and the reason; it never changes between versions. */
  readonly code: `ERR_HOTLANE_${ErrorCode}`;

  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = `ERR_HOTLANE_${code}`;
  }

  get [BRAND](): true {
    return true;
  }

  static {
    // On the prototype, so that it is neither an own property nor in the way of structured clones.
    Object.defineProperty(HotlaneError.prototype, 'name', {
      value: 'HotlaneError',
      writable: true,
      configurable: true,
    });
  }
}

/**
 * Tells whether a value is an error of Hotlane's, also one from another copy of the library.
 *
 * @param value anything that was caught
 * @param code when given, the error must be of this kind too, e.g. `'QUEUE_FULL'`
 */
export function isHotlaneError(value: unknown, code?: ErrorCode): value is HotlaneError {
  return (
    typeof value === 'object' &&
    value !== null &&
    (value as { [BRAND]?: unknown })[BRAND] === true &&
    (code === undefined || (value as HotlaneError).code === `ERR_HOTLANE_${code}`)
  );
}

/** How a value looks in an error text: short, and telling strings from other things. */
export function show(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.length > 80 ? `${value.slice(0, 77)}…` : value);
  if (typeof value === 'bigint') return `${value}n`;
  if (typeof value === 'function') return value.name ? `function ${value.name}` : 'a function';
  if (typeof value === 'object' && value !== null) {
    if (Array.isArray(value)) return `an array of ${value.length}`;
    const name = Object.getPrototypeOf(value)?.constructor?.name;
    return name && name !== 'Object' ? `an instance of ${name}` : 'an object';
  }
  return String(value);
}

/** The platform refused to clone or move a value, and its error says why. */
export function notCloneable(cause: unknown): HotlaneError {
  const what = (cause as Error)?.message ?? String(cause);
  const hint = /transfer object of unsupported type/.test(what)
    ? ' A small Buffer of Node shares its memory with others: transfer that of a copy, `new Uint8Array(buffer)`.'
    : '';
  return new HotlaneError('NOT_CLONEABLE', `A value can be neither cloned nor transferred: ${what}${hint}`, {
    cause,
  });
}
