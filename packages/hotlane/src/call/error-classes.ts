import { HotlaneError, show } from '../errors.ts';

/** A class of errors, as `registerError` takes it. */
export type ErrorClass = abstract new (...args: never[]) => Error;

interface Registered {
  readonly byName: Map<string, ErrorClass>;
  readonly byPrototype: Map<object, string>;
}

// On the global object, so that a task module which bundles its own copy of this file registers for all.
const KEY: unique symbol = Symbol.for('hotlane.errorClasses') as never;
const store = globalThis as { [KEY]?: Registered };
store[KEY] ??= { byName: new Map(), byPrototype: new Map() };
const registered = store[KEY];

/**
 * Lets errors of a class cross between host and lanes as instances of it: `error instanceof ValidationError` holds on
 * both sides. Both must register it, most simply in the module that defines it and that both import. On a side
 * that did not, the error arrives as its nearest built-in class, with its name and properties.
 *
 * The class's constructor is not run for a copy: its prototype is set and the own properties are copied, so private
 * fields (`#x`) do not come along.
 *
 * @param Class extends Error, or one of the built-in errors
 * @param options.name how both sides call it; needed when two classes of one name cross. Default: the class's name
 * @throws HotlaneError OPTION for what is no class of errors, or a name that another class has (one of other text: a
 *   module that is evaluated twice may register its class again, and the last one counts)
 */
export function registerError(Class: ErrorClass, options: { readonly name?: string } = {}): void {
  const prototype: unknown = typeof Class === 'function' ? Class.prototype : undefined;
  if (!(prototype instanceof Error)) {
    throw new HotlaneError(
      'OPTION',
      `registerError: expected a class that extends Error, got ${show(Class)}. Built-in errors cross by themselves.`,
    );
  }
  const name = options.name ?? Class.name;
  if (typeof name !== 'string' || name === '') {
    throw new HotlaneError(
      'OPTION',
      `registerError: expected a name of one letter or more, got ${show(name)}.`,
    );
  }
  const other = registered.byName.get(name);
  // The same module may be evaluated twice in one thread (by a test runner, with a `?version`): the last one counts.
  if (other !== undefined && other !== Class && String(other) !== String(Class)) {
    throw new HotlaneError(
      'OPTION',
      `registerError: another class is registered as \`${name}\`. Give one of them another name: registerError(${name}, { name: '…' }), the same on both sides.`,
    );
  }
  const before = registered.byPrototype.get(prototype);
  if (before !== undefined && before !== name) {
    throw new HotlaneError('OPTION', `registerError: this class is registered already, as \`${before}\`.`);
  }
  registered.byName.set(name, Class);
  registered.byPrototype.set(prototype, name);
}

/** The name under which a prototype's class was registered. */
export function registeredName(prototype: object): string | undefined {
  return registered.byPrototype.get(prototype);
}

/** The prototype of the class of that name; undefined when none was registered here. */
export function registeredPrototype(name: string): object | undefined {
  return registered.byName.get(name)?.prototype;
}
