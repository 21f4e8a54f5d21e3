import { HotlaneError } from '../errors.ts';

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

  /** @throws HotlaneError NO_FUNCTION that says what there is instead */
  find(functionName: string): TaskFunction {
    const found = own(this.#exports, functionName);
    if (isCallable(found)) return found;
    const known = Object.keys(this.#exports).filter(key => isCallable(own(this.#exports, key)));
    const there =
      known.length === 0
        ? 'It has none.'
        : `It has ${known.slice(0, 20).join(', ')}${known.length > 20 ? ', …' : ''}.`;
    const what =
      found === undefined
        ? 'exports no such function'
        : `exports \`${functionName}\`, but that is ${typeof found === 'function' ? 'a class' : `a value (${typeof found})`}, which cannot be called`;
    throw new HotlaneError(
      'NO_FUNCTION',
      `\`${functionName}\`: the task module ${this.#name} ${what}. ${there}`,
    );
  }
}

/** Only own properties count: nothing on a prototype can be called from outside. */
function own(holder: object, key: string): unknown {
  return Object.hasOwn(holder, key) ? (holder as Record<string, unknown>)[key] : undefined;
}

function isCallable(value: unknown): value is TaskFunction {
  return typeof value === 'function' && !/^class\b/.test(Function.prototype.toString.call(value));
}
