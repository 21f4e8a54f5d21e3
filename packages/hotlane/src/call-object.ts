/** How a call is made once its function's name is known. */
export type Invoke = (name: string, args: unknown[]) => Promise<unknown>;

const NEVER_CALLS = new Set(['then', 'toJSON', 'toString', 'valueOf']);

/**
 * An object whose properties are a module's functions, whatever they are called. At first use each becomes an
 * own property of the object; a proxy stands only behind it, since a get through one costs forty times more.
 *
 * `then` and symbols are undefined, so that the object can be returned from an async function; `toJSON`, `toString`
 * and `valueOf` too, since whoever prints or logs an object asks for them and would make calls without knowing.
 */
export function createCallObject(bind: (name: string) => (...args: unknown[]) => unknown): object {
  const behind = new Proxy(Object.create(null), {
    get(_, name, receiver) {
      if (typeof name === 'symbol' || NEVER_CALLS.has(name)) return undefined;
      const value = bind(name);
      Object.defineProperty(receiver, name, { value, enumerable: true, configurable: true });
      return value;
    },
    set(_, name) {
      throw new TypeError(`Cannot set \`${String(name)}\`: these are the functions of the task module.`);
    },
    has: (_, name) => typeof name === 'string' && !NEVER_CALLS.has(name),
    getPrototypeOf: () => null,
  });
  return Object.create(behind);
}
