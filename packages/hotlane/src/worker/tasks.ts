import { HotlaneError } from '../errors.ts';

/** Taken before a task module may patch them. */
const { hasOwn, keys } = Object;

export type TaskFunction = (...args: unknown[]) => unknown;

/** The functions of a task module: its own exports that are functions, and nothing else. */
export class Tasks {
  readonly #exports: object;
  readonly #name: string;

  /**
   * @param exports the object whose own properties are the module's exports
   * @param name how errors call the module, e.g. its URL
   */
  constructor(exports: object, name: string) {
    this.#name = name;
    this.#exports = exports;
    if (typeof own(this.#exports, 'then') === 'function') {
      throw new HotlaneError(
        'LANE_START',
        `Task module ${name} exports a function named \`then\`, so it would be taken for a promise. Rename that export.`,
      );
    }
  }

  /** The names of its functions. */
  names(): string[] {
    return keys(this.#exports).filter(name => this.kindOf(name) === 'a function');
  }

  /** What is exported under a name. */
  kindOf(name: string): 'a function' | 'a class' | 'a value' | 'nothing' {
    const found = own(this.#exports, name);
    if (typeof found === 'function') return isClass(found) ? 'a class' : 'a function';
    return found === undefined ? 'nothing' : 'a value';
  }

  /** @throws HotlaneError NO_FUNCTION that says what there is instead */
  find(name: string): TaskFunction {
    const kind = this.kindOf(name);
    if (kind === 'a function') return own(this.#exports, name) as TaskFunction;
    const names = this.names();
    const there =
      names.length === 0
        ? 'It has none.'
        : `It has ${names.slice(0, 20).join(', ')}${names.length > 20 ? ', …' : ''}.`;
    const what =
      kind === 'nothing'
        ? 'exports no such function'
        : `exports \`${name}\`, but as ${kind}, which cannot be called`;
    throw new HotlaneError('NO_FUNCTION', `\`${name}\`: the task module ${this.#name} ${what}. ${there}`);
  }
}

/** Only own properties count: nothing on a prototype can be called from outside. */
function own(holder: object, key: string): unknown {
  return hasOwn(holder, key) ? (holder as Record<string, unknown>)[key] : undefined;
}

function isClass(value: object): boolean {
  return /^class\b/.test(Function.prototype.toString.call(value));
}
