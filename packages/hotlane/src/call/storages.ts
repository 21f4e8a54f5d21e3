import { HotlaneError, show } from '../errors.ts';

/** What `registerStorage` takes: an `AsyncLocalStorage` of Node, or what behaves like one. */
export interface ContextStorage<T = any> {
  getStore(): T | undefined;
  run<R>(store: T, inside: () => R): R;
}

/** A storage whose stores travel with calls, and the name by which both sides know it. */
export interface NamedStorage {
  readonly name: string;
  readonly storage: ContextStorage;
}

interface Registered {
  readonly byName: Map<string, ContextStorage[]>;
  readonly names: WeakMap<object, string>;
}

// On the global object, so that a task module which bundles its own copy of this file registers for all.
const KEY: unique symbol = Symbol.for('hotlane.storages') as never;
const store = globalThis as { [KEY]?: Registered };
store[KEY] ??= { byName: new Map(), names: new WeakMap() };
const registered = store[KEY];

/** Of storages of one name in one thread, which are those of a module that is evaluated again and again, the latest count. */
const MOST_OF_ONE_NAME = 8;
const NONE: readonly ContextStorage[] = [];

/**
 * Gives an AsyncLocalStorage a name that host and lanes know, so that its stores can travel with calls: see the option
 * `carry`. Call it once, in the module that makes the storage and that both the host and the task module import:
 *
 * ```ts
 * export const request = registerStorage('request', new AsyncLocalStorage<{ id: string }>());
 * ```
 *
 * A module may be evaluated more than once in a thread (by a test runner, with a `?version`): a task sees the store in
 * each storage of that name.
 *
 * @param name the same on both sides
 * @returns the storage
 * @throws HotlaneError OPTION for what is no storage, an empty name, or a storage that has another name already
 */
export function registerStorage<S extends ContextStorage>(name: string, storage: S): S {
  if (typeof name !== 'string' || name === '' || name === '__proto__') {
    throw new HotlaneError(
      'OPTION',
      `registerStorage: expected a name of one letter or more first, got ${show(name)}.`,
    );
  }
  if (typeof storage?.run !== 'function' || typeof storage.getStore !== 'function') {
    throw new HotlaneError(
      'OPTION',
      `registerStorage: expected an AsyncLocalStorage after the name, got ${show(storage)}.`,
    );
  }
  const before = registered.names.get(storage);
  if (before === name) return storage;
  if (before !== undefined) {
    throw new HotlaneError(
      'OPTION',
      `registerStorage: this storage is registered already, as \`${before}\`.`,
    );
  }
  registered.names.set(storage, name);
  registered.byName.set(name, [...storagesNamed(name), storage].slice(-MOST_OF_ONE_NAME));
  return storage;
}

/** The name under which a storage was registered. */
export function storageName(storage: object): string | undefined {
  return registered.names.get(storage);
}

/** The storages that have a name in this thread; none, when no module here registered it. */
export function storagesNamed(name: string): readonly ContextStorage[] {
  return registered.byName.get(name) ?? NONE;
}
