/**
 * What an object is, as structured clone sees it: by what it is made of, not by what it looks like.
 * Arrays and ordinary plain objects are recognised by the encoder itself; everything else comes here.
 */
import { isCallbackPrototype } from './callback.ts';
import type { CodecPlatform } from './platform.ts';

export const PLAIN = 0;
export const KIND_DATE = 1;
export const KIND_REGEXP = 2;
export const KIND_MAP = 3;
export const KIND_SET = 4;
export const KIND_BOXED = 5;
export const KIND_ERROR = 6;
export const KIND_BUFFER = 7;
export const KIND_SHARED = 8;
export const KIND_VIEW = 9;
export const KIND_URL = 10;
export const KIND_PLATFORM = 11;
export const KIND_UNCLONEABLE = 12;
/** A callback, or an instance of a class whose instances are async iterables. */
export const KIND_TALKS = 14;
/** From another realm (a vm context, a frame): its prototypes are not ours. */
const FOREIGN = 13;

const global = globalThis as Record<string, any>;
const toTag = Object.prototype.toString;
const getter = (prototype: object, name: PropertyKey): ((this: unknown) => unknown) =>
  Object.getOwnPropertyDescriptor(prototype, name)!.get!;

const mapSize = getter(Map.prototype, 'size');
const setSize = getter(Set.prototype, 'size');
const regexpSource = getter(RegExp.prototype, 'source');
const bufferLength = getter(ArrayBuffer.prototype, 'byteLength');

const KIND_OF_TAG: Record<string, number> = {
  '[object Date]': KIND_DATE,
  '[object RegExp]': KIND_REGEXP,
  '[object Map]': KIND_MAP,
  '[object Set]': KIND_SET,
  '[object Number]': KIND_BOXED,
  '[object String]': KIND_BOXED,
  '[object Boolean]': KIND_BOXED,
  '[object BigInt]': KIND_BOXED,
  '[object Error]': KIND_ERROR,
  '[object DOMException]': KIND_ERROR,
  '[object ArrayBuffer]': KIND_BUFFER,
  '[object SharedArrayBuffer]': KIND_SHARED,
  '[object Symbol]': KIND_UNCLONEABLE,
  '[object Promise]': KIND_UNCLONEABLE,
  '[object WeakMap]': KIND_UNCLONEABLE,
  '[object WeakSet]': KIND_UNCLONEABLE,
  '[object WeakRef]': KIND_UNCLONEABLE,
  '[object Generator]': KIND_UNCLONEABLE,
  '[object AsyncGenerator]': KIND_UNCLONEABLE,
  // By tag, since to touch these classes would load a whole HTTP client.
  '[object Headers]': KIND_UNCLONEABLE,
  '[object Request]': KIND_UNCLONEABLE,
  '[object Response]': KIND_UNCLONEABLE,
  '[object FormData]': KIND_UNCLONEABLE,
};

/** The prototypes that we know, and what has them on its chain. */
const PROTOTYPES: [object | undefined, number][] = [
  [Object.prototype, PLAIN],
  [Date.prototype, KIND_DATE],
  [RegExp.prototype, KIND_REGEXP],
  [Map.prototype, KIND_MAP],
  [Set.prototype, KIND_SET],
  [Number.prototype, KIND_BOXED],
  [String.prototype, KIND_BOXED],
  [Boolean.prototype, KIND_BOXED],
  [BigInt.prototype, KIND_BOXED],
  [Error.prototype, KIND_ERROR],
  [ArrayBuffer.prototype, KIND_BUFFER],
  [global.SharedArrayBuffer?.prototype, KIND_SHARED],
  [global.URL?.prototype, KIND_URL],
  [Symbol.prototype, KIND_UNCLONEABLE],
  // %Iterator.prototype% and its asynchronous twin: generators and every built-in iterator have them.
  [Object.getPrototypeOf(Object.getPrototypeOf([].values())), KIND_UNCLONEABLE],
  [
    Object.getPrototypeOf(Object.getPrototypeOf(Object.getPrototypeOf((async function* () {})()))),
    KIND_UNCLONEABLE,
  ],
];

/** Classes whose instances structured clone refuses. It copies an AbortSignal as `{}` in Node: of no use to anyone. */
for (const name of 'Promise WeakMap WeakSet WeakRef FinalizationRegistry URLSearchParams AbortSignal'.split(
  ' ',
)) {
  PROTOTYPES.push([global[name]?.prototype, KIND_UNCLONEABLE]);
}
for (const name of ['Intl', 'WebAssembly', 'Temporal']) {
  const space = global[name];
  if (space === undefined) continue;
  for (const member of Object.getOwnPropertyNames(space)) {
    const prototype = typeof space[member] === 'function' ? space[member].prototype : undefined;
    // Their errors are errors. Modules, and shared memories, are for the platform to carry.
    if (prototype instanceof Error || member === 'Module' || member === 'Memory') continue;
    PROTOTYPES.push([prototype, KIND_UNCLONEABLE]);
  }
}

/** One per encoder: remembers, per prototype, what its instances may be. */
export class Classifier {
  readonly #platform: CodecPlatform;
  readonly #kinds = new WeakMap<object, number>();

  constructor(platform: CodecPlatform) {
    this.#platform = platform;
    for (const [prototype, kind] of PROTOTYPES) if (prototype) this.#kinds.set(prototype, kind);
  }

  /** One of the kinds above. */
  kind(value: object): number {
    if (ArrayBuffer.isView(value)) return KIND_VIEW;
    const prototype = Object.getPrototypeOf(value);
    if (prototype === null) return PLAIN;
    let kind = this.#kinds.get(prototype);
    if (kind === undefined) {
      kind = this.#ofChain(value, prototype);
      this.#kinds.set(prototype, kind);
    }
    if (kind === FOREIGN) kind = KIND_OF_TAG[toTag.call(value)] ?? PLAIN;
    return kind === PLAIN || isReally(value, kind) ? kind : PLAIN;
  }

  #ofChain(value: object, prototype: object): number {
    if (isCallbackPrototype(prototype)) return KIND_TALKS;
    if (this.#platform.isPlatformObject(value)) return KIND_PLATFORM;
    // Streams of Node, and others of their kind; those that the platform or the language knows are asked about before.
    const kind = this.#inherited(prototype);
    return Symbol.asyncIterator in prototype && (kind === PLAIN || kind === FOREIGN) ? KIND_TALKS : kind;
  }

  #inherited(prototype: object): number {
    for (let at: object | null = prototype; at !== null; at = Object.getPrototypeOf(at)) {
      const kind = this.#kinds.get(at);
      if (kind !== undefined) return kind;
    }
    return FOREIGN;
  }
}

/** `Object.create(Map.prototype)` is no map: only what has the internals of one answers its methods. */
function isReally(value: object, kind: number): boolean {
  try {
    switch (kind) {
      case KIND_DATE:
        Date.prototype.getTime.call(value);
        return true;
      case KIND_REGEXP:
        return typeof regexpSource.call(value) === 'string' && value !== RegExp.prototype;
      case KIND_MAP:
        mapSize.call(value);
        return true;
      case KIND_SET:
        setSize.call(value);
        return true;
      case KIND_BOXED:
        return boxedValue(value) !== undefined;
      case KIND_BUFFER:
        bufferLength.call(value);
        return true;
      default:
        return true;
    }
  } catch {
    return false;
  }
}

/** The primitive in a box; undefined when it is none. */
export function boxedValue(box: object): number | string | boolean | bigint | undefined {
  for (const type of [Number, String, Boolean, BigInt]) {
    try {
      return (type.prototype.valueOf as () => never).call(box as never);
    } catch {
      // Not of this type: ask the next.
    }
  }
  return undefined;
}
