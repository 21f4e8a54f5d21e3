import { HotlaneError, show } from '../errors.ts';

const STATE: unique symbol = Symbol.for('hotlane.callback') as never;

export interface CallbackOptions {
  /** The lane does not wait for it, and gets nothing back. For progress and the like. @default false */
  readonly oneWay?: boolean;
  /**
   * It stays good after the call that it was passed to: until the lane has no more use for it, is gone, the pool ends, or
   * `release()`. @default false
   */
  readonly keep?: boolean;
}

/** A function that lanes may call: see `callback`. */
export type Callback<F extends (...args: any[]) => unknown = (...args: any[]) => unknown> = F & {
  /** From now on lanes that call it get an error. Can be called twice. */
  release(): void;
  readonly '~hotlane': 'callback';
};

/** What is known of a callback; found on it under a symbol, so that another copy of this file finds it too. */
export interface CallbackState {
  readonly fn: (...args: unknown[]) => unknown;
  readonly oneWay: boolean;
  readonly keep: boolean;
  released: boolean;
}

/**
 * Lets a lane call a function that stays here.
 *
 * ```ts
 * await pool.call.resize(image, callback(done => bar.update(done), { oneWay: true }));
 * ```
 *
 * What it returns is a function that does the same as `fn`, and that may be passed where the lane expects one. In the lane it
 * is a function too. It returns a promise of what `fn` returns; with `oneWay` it returns nothing and does not
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
  const state: CallbackState = {
    fn,
    oneWay: options.oneWay === true,
    keep: options.keep === true,
    released: false,
  };
  const made = (...args: unknown[]) => fn(...args);
  Object.defineProperties(made, {
    [STATE]: { value: state },
    name: { value: fn.name },
    release: {
      value: () => {
        state.released = true;
      },
    },
  });
  return made as unknown as Callback<F>;
}

/** What is known of a callback; undefined for what is none. */
export function callbackState(value: object): CallbackState | undefined {
  return (value as { [STATE]?: CallbackState })[STATE];
}
