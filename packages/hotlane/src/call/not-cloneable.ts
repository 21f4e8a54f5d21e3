/**
 * The error for a value that cannot be sent. Where it was found is worked out only after the failure,
 * by a second walk, so that encoding does not keep track of paths.
 */
import { HotlaneError, show } from '../errors.ts';

/** Thrown inside the encoder only: the value that could not be written. Not an Error: it needs no stack. */
export class Uncloneable {
  readonly value: unknown;
  constructor(value: unknown) {
    this.value = value;
  }
}

/** How many values the second walk looks at before it gives up on a path. */
const MAX_VISITS = 200_000;

interface Visit {
  readonly value: unknown;
  readonly label: string;
  readonly parent: Visit | undefined;
}

/** `args[0].rows[3].get("k")`: the shortest way from the roots to a value; undefined when none was found. */
function pathTo(culprit: unknown, roots: readonly Visit[]): string | undefined {
  const queue = [...roots];
  const met = new Set<object>();
  // The queue grows while it is walked: breadth first, so the first find is the shortest path.
  for (let i = 0; i < queue.length && i < MAX_VISITS; i++) {
    const visit = queue[i]!;
    if (visit.value === culprit) {
      let path = '';
      for (let at: Visit | undefined = visit; at !== undefined; at = at.parent) path = at.label + path;
      return path;
    }
    if (typeof visit.value !== 'object' || visit.value === null || met.has(visit.value)) continue;
    met.add(visit.value);
    addChildren(visit, visit.value, queue);
  }
  return undefined;
}

function addChildren(parent: Visit, value: object, queue: Visit[]): void {
  const add = (child: unknown, label: string) => queue.push({ value: child, label, parent });
  if (value instanceof Map) {
    for (const [key, item] of Map.prototype.entries.call(value)) {
      add(key, `.key(${show(key)})`);
      add(item, `.get(${show(key)})`);
    }
  } else if (value instanceof Set) {
    let index = 0;
    for (const item of Set.prototype.values.call(value)) add(item, `.values()[${index++}]`);
  } else if (!ArrayBuffer.isView(value)) {
    for (const key of Object.keys(value)) {
      // A getter is not called again: it ran once, and may do anything.
      const property = Object.getOwnPropertyDescriptor(value, key);
      if (property !== undefined && 'value' in property)
        add(property.value, label(key, Array.isArray(value)));
    }
  }
}

function label(key: string, inArray: boolean): string {
  if (inArray && /^\d+$/.test(key)) return `[${key}]`;
  return /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`;
}

const HINTS: [pattern: RegExp, hint: string][] = [
  [/ of (Promise)$/, 'await it first'],
  [/ of (WeakMap|WeakSet|WeakRef|FinalizationRegistry)$/, 'pass what it holds instead'],
  [/AsyncGenerator|AsyncIterator/, 'a function that gives many results is called with `pool.stream`'],
  [/Generator|Iterator/, 'collect it into an array, or call the function with `pool.stream`'],
  [/ of (Headers|FormData)$/, 'pass its entries, e.g. Object.fromEntries(headers)'],
  [/ of (Request|Response)$/, 'pass what you need of it, e.g. its url, or await its text()'],
  [/ of AbortSignal$/, 'pass it as the option `signal` of the call'],
  [/ of URLSearchParams$/, 'pass its toString() instead'],
  [
    / of (ArrayBuffer|\w+Array|Buffer|DataView)$/,
    'its memory was transferred away: pass it before that, or a copy',
  ],
];

function describe(value: unknown): [what: string, hint: string] {
  if (typeof value === 'function')
    return [show(value), 'pass data, or `callback(fn)` among the arguments of a call'];
  if (typeof value === 'symbol') return [`the symbol ${String(value)}`, 'pass its description instead'];
  const tag = Object.prototype.toString.call(value).slice(8, -1);
  const what = /Generator|Iterator/.test(tag) ? `${/^[AI]/.test(tag) ? 'an' : 'a'} ${tag}` : show(value);
  return [what, HINTS.find(([pattern]) => pattern.test(what))?.[1] ?? 'pass its data instead'];
}

/**
 * @param failure what the encoder threw
 * @param values the arguments, or the one value
 * @param isArguments whether `values` are a call's arguments (else: its result)
 */
export function notCloneable(
  failure: Uncloneable,
  values: readonly unknown[],
  isArguments: boolean,
): HotlaneError {
  let path: string | undefined;
  try {
    const roots = values.map((value, i) => ({
      value,
      label: isArguments ? `args[${i}]` : 'result',
      parent: undefined,
    }));
    path = pathTo(failure.value, roots);
  } catch {
    // A proxy may throw when it is looked at again. The error without a path is still the right one.
  }
  path ??= isArguments ? 'Something inside args' : 'Something inside result';
  const [what, hint] = describe(failure.value);
  return new HotlaneError(
    'NOT_CLONEABLE',
    `${path} is ${what}, which cannot be sent to another thread: ${hint}.`,
  );
}
