/** Finding what modules export: a service's definition, and its handlers, wherever they lie in them. */
import type { MethodShape } from './wire.ts';

/** What is needed of a method's definition: turning bytes into messages, and back. */
export interface MethodCodec {
  readonly path: string;
  readonly requestDeserialize: (bytes: Buffer) => unknown;
  readonly responseSerialize: (message: unknown) => Uint8Array;
}

export type Codecs = ReadonlyMap<string, MethodCodec>;

export type Handler = (...args: unknown[]) => unknown;
export type Handlers = ReadonlyMap<string, Handler>;

/** Packages within packages; deeper than anybody nests them. */
const DEEPEST = 12;

/**
 * Looks for the definition of a service among what a module exports: a definition, a client with its `service`, what
 * `loadPackageDefinition` gives, or anything that has one of these in it.
 *
 * @returns by path; undefined when there is none with all methods
 */
export function findCodecs(exported: object, methods: readonly MethodShape[]): Codecs | undefined {
  const wanted = new Set(methods.map(method => method.path));
  const seen = new Set<unknown>();
  let level: unknown[] = [exported];
  for (let depth = 0; depth < DEEPEST && level.length > 0; depth++) {
    const next: unknown[] = [];
    for (const holder of level) {
      if (!isHolder(holder) || seen.has(holder)) continue;
      seen.add(holder);
      const members = membersOf(holder);
      const codecs = new Map<string, MethodCodec>();
      for (const member of members) {
        if (isCodec(member) && wanted.has(member.path)) codecs.set(member.path, member);
      }
      if (codecs.size === wanted.size) return codecs;
      next.push(...members);
    }
    level = next;
  }
  return undefined;
}

function isHolder(value: unknown): value is object {
  return (typeof value === 'object' || typeof value === 'function') && value !== null;
}

/** The values of its own properties; what a getter throws is not looked at. */
function membersOf(holder: object): unknown[] {
  if (ArrayBuffer.isView(holder) || Array.isArray(holder)) return [];
  const members: unknown[] = [];
  for (const key of Object.keys(holder)) {
    try {
      members.push((holder as Record<string, unknown>)[key]);
    } catch {
      // An export that cannot be read is not the one that is looked for.
    }
  }
  return members;
}

function isCodec(value: unknown): value is MethodCodec {
  const codec = value as Partial<MethodCodec> | null | undefined;
  return (
    typeof codec?.path === 'string' &&
    typeof codec.requestDeserialize === 'function' &&
    typeof codec.responseSerialize === 'function'
  );
}

/**
 * Looks for handlers: an object with functions that have the methods' names, as grpc-js wants it for `addService`. It is the
 * module's default export, another export, or the module itself.
 *
 * @returns by path, each bound to the object that has it; empty when the module has none
 */
export function findHandlers(exported: object, methods: readonly MethodShape[]): Handlers {
  const { default: main, ...others } = exported as Record<string, unknown>;
  const nested = isHolder(main) ? (main as { default?: unknown }).default : undefined; // CommonJS made from TypeScript
  let best: Handlers = new Map();
  for (const candidate of [main, nested, exported, ...Object.values(others)]) {
    if (!isHolder(candidate)) continue;
    const found = handlersOf(candidate, methods);
    if (found.size > best.size) best = found;
  }
  return best;
}

function handlersOf(holder: object, methods: readonly MethodShape[]): Handlers {
  const handlers = new Map<string, Handler>();
  for (const { path, names } of methods) {
    for (const name of names) {
      const handler = (holder as Record<string, unknown>)[name];
      if (typeof handler !== 'function') continue;
      // A function keeps its length: whether it takes a callback says how it answers.
      handlers.set(path, handler.bind(holder) as Handler);
      break;
    }
  }
  return handlers;
}
