/** The functions of a module as properties: for a name, what makes its calls. */
type Bind<F> = (name: string) => F;

const NEVER_CALLS = new Set(['then', 'toJSON', 'toString', 'valueOf']);
const OPTIONS = Symbol('options');

/**
 * An object whose properties are a module's functions, whatever they are called. At first use each becomes an
 * own property of the object; a proxy stands only behind it, since a get through one costs forty times more.
 *
 * `then` and symbols are undefined, so that the object can be returned from an async function; `toJSON`, `toString`
 * and `valueOf` too, since whoever prints or logs an object asks for them and would make calls without knowing.
 */
export function createCallObject(bind: Bind<(...args: unknown[]) => unknown>): object {
  return Object.create(
    behind((name, receiver) => {
      const value = bind(name);
      Object.defineProperty(receiver, name, { value, enumerable: true, configurable: true });
      return value;
    }),
  );
}

/**
 * Makes such objects for options, many and cheaply: `pool.with({ signal })` is written for each request. They share what is
 * known of the functions; only the options are their own.
 */
export function createCallObjects<O>(
  bind: Bind<(options: O, args: unknown[]) => unknown>,
): (options: O) => object {
  // Not a private field: whoever wraps such an object in a proxy, or inherits from it, could not call anything then.
  class Calls {
    readonly [OPTIONS]: O;

    constructor(options: O) {
      this[OPTIONS] = options;
    }
  }
  const shared = Object.create(
    behind((name, receiver) => {
      const fn = bind(name);
      Object.defineProperty(shared, name, {
        get(this: Calls) {
          const options = this[OPTIONS];
          return (...args: unknown[]) => fn(options, args);
        },
      });
      return (receiver as Record<string, unknown>)[name];
    }),
  );
  Object.setPrototypeOf(Calls.prototype, shared);
  delete (Calls.prototype as { constructor?: unknown }).constructor;
  return options => new Calls(options);
}

function behind(first: (name: string, receiver: object) => unknown): object {
  return new Proxy(Object.create(null), {
    get(_, name, receiver) {
      return typeof name === 'symbol' || NEVER_CALLS.has(name) ? undefined : first(name, receiver);
    },
    set(_, name) {
      throw new TypeError(`Cannot set \`${String(name)}\`: these are the functions of the task module.`);
    },
    has: (_, name) => typeof name === 'string' && !NEVER_CALLS.has(name),
    getPrototypeOf: () => null,
  });
}
