import { HotlaneError, show } from '../errors.ts';

const BRAND: unique symbol = Symbol.for('hotlane.callback') as never;

export interface CallbackOptions {
  /** The lane does not wait for it, and gets nothing back. For progress and the like. @default false */
  readonly oneWay?: boolean;
  /**
   * It stays good after the call that it was passed to: until the lane has no more use for it, is gone, the pool ends, or
   * `release()`. @default false
   */
  readonly keep?: boolean;
}

/** A function of the host's that lanes may call: see `callback`. */
export class Callback<F extends (...args: any[]) => unknown = (...args: any[]) => unknown> {
  readonly fn: F;
  readonly oneWay: boolean;
  readonly keep: boolean;
  #released = false;

  constructor(fn: F, oneWay: boolean, keep: boolean) {
    this.fn = fn;
    this.oneWay = oneWay;
    this.keep = keep;
  }

  /** From now on lanes that call it get an error. Can be called twice. */
  release(): void {
    this.#released = true;
  }

  get released(): boolean {
    return this.#released;
  }

  static {
    Object.defineProperty(Callback.prototype, BRAND, { value: true });
  }
}

/**
 * Lets a lane call a function that stays here.
 *
 * ```ts
 * await pool.call.resize(image, callback(done => bar.update(done), { oneWay: true }));
 * ```
 *
 * In the lane it is a function. It returns a promise of what `fn` returns; with `oneWay` it returns nothing and does not
 * wait, and what `fn` throws is an uncaught exception here. Arguments and results travel as those of calls do. Once the call
 * that it was passed to has settled, it rejects with `ERR_HOTLANE_CLOSED`, unless it is kept.
 *
 * @throws HotlaneError OPTION
 */
export function callback<F extends (...args: any[]) => unknown>(
  fn: F,
  options: CallbackOptions = {},
): Callback<F> {
  if (typeof fn !== 'function') {
    throw new HotlaneError('OPTION', `\`callback\`: expected a function, got ${show(fn)}.`);
  }
  if (typeof options !== 'object' || options === null) {
    throw new HotlaneError('OPTION', `\`callback\`: expected options, got ${show(options)}.`);
  }
  for (const [name, value] of Object.entries(options)) {
    if (name !== 'oneWay' && name !== 'keep') {
      throw new HotlaneError(
        'OPTION',
        `\`callback\`: there is no option \`${name}\`. Known are \`oneWay\`, \`keep\`.`,
      );
    }
    if (value !== undefined && typeof value !== 'boolean') {
      throw new HotlaneError(
        'OPTION',
        `\`callback\`, option \`${name}\`: expected true or false, got ${show(value)}.`,
      );
    }
  }
  return new Callback(fn, options.oneWay === true, options.keep === true);
}

/** Whether objects of a prototype are callbacks, also those of another copy of this file. */
export function isCallbackPrototype(prototype: object): boolean {
  return BRAND in prototype;
}

export function isCallback(value: object): value is Callback {
  return BRAND in value;
}
