import type { ServiceDefinition } from '@grpc/grpc-js';
import { HotlaneError, type ModuleReference, type PoolOptions } from 'hotlane';
import { resolveModule } from 'hotlane/modules';

/**
 * Where a method's handler runs: `'lanes'`, `'inline'` (on the server's own thread, as without this package), or `'auto'`:
 * inline while that costs less, on lanes when it keeps the thread for longer than handing a call over does.
 */
export type Mode = 'lanes' | 'inline' | 'auto';

export interface MethodOptions {
  /** Where its handler runs. @default the service's `mode` */
  readonly mode?: Mode;
  /** Calls that wait go in the order of their priorities: see hotlane's `CallOptions`. @default 0 */
  readonly priority?: number;
  /** A unary handler may safely run twice: when its lane is lost the call runs again elsewhere. @default false */
  readonly idempotent?: boolean;
  /** How long its handler may block a lane after its call was cancelled, in milliseconds. @default the pool's `graceMs` */
  readonly graceMs?: number;
}

/** What `workers` takes: all of the pool's options (lanes, maxQueue, recycle, …), and these. */
export interface WorkersOptions<D extends ServiceDefinition = ServiceDefinition>
  extends Omit<PoolOptions, 'deadlineMs'> {
  /**
   * Where the handlers run. @default 'lanes'
   */
  readonly mode?: Mode;
  /** Options of single methods, under their names in the definition or as handlers have them. */
  readonly methods?: { readonly [K in keyof D & string]?: MethodOptions } & {
    readonly [name: string]: MethodOptions | undefined;
  };
  /**
   * The module that exports the service's definition, for lanes to load: generated code, or a module of yours. Or a .proto file,
   * which lanes load with `@grpc/proto-loader`. @default the module with the handlers
   */
  readonly definition?: ModuleReference;
  /** `@grpc/proto-loader`'s options, for a .proto file: the same as the server's own. @default its defaults */
  readonly loader?: object;
  /**
   * How many calls may be under way in one lane: streams that are open, and handlers that await. A lane begins the next while it
   * has nothing to compute. @default 1_024
   */
  readonly concurrency?: number;
}

export interface ResolvedOptions {
  readonly mode: Mode;
  readonly methods: Readonly<Record<string, MethodOptions | undefined>>;
  readonly definition: string | undefined;
  readonly loader: object;
  readonly pool: PoolOptions;
}

const MODES: readonly unknown[] = ['lanes', 'inline', 'auto'];
const METHOD_KEYS = ['mode', 'priority', 'idempotent', 'graceMs'];
const DEFAULT_CONCURRENCY = 1_024;

/**
 * Checks what is ours; the pool checks its own.
 *
 * @param names of the service's methods, all that each goes by
 * @throws HotlaneError OPTION
 */
export function resolveOptions(
  options: WorkersOptions<any>,
  names: readonly (readonly string[])[],
): ResolvedOptions {
  if (!isRecord(options)) refuse('`workers`: expected options', options);
  const { mode = 'lanes', methods = {}, definition, loader, ...pool } = options;
  checkMode('mode', mode);
  if ('deadlineMs' in pool) {
    throw new HotlaneError(
      'OPTION',
      'Option `deadlineMs`: there is no such option here. A call has the deadline that its client gave.',
    );
  }
  if (!isRecord(methods)) refuse('Option `methods`: expected an object', methods);
  if (loader !== undefined && !isRecord(loader)) refuse('Option `loader`: expected an object', loader);
  for (const [name, given] of Object.entries(methods)) {
    if (!names.some(known => known.includes(name))) {
      const known = names.map(([first]) => `\`${first}\``).join(', ');
      throw new HotlaneError(
        'OPTION',
        `Option \`methods\`: the service has no \`${name}\`. It has ${known}.`,
      );
    }
    if (given !== undefined) checkMethod(`methods.${name}`, given);
  }
  return {
    mode,
    methods,
    definition: definition === undefined ? undefined : resolveModule(definition),
    loader: loader ?? {},
    pool: { concurrency: DEFAULT_CONCURRENCY, ...pool },
  };
}

function checkMethod(option: string, given: MethodOptions): void {
  if (!isRecord(given)) refuse(`Option \`${option}\`: expected an object`, given);
  for (const key of Object.keys(given)) {
    if (METHOD_KEYS.includes(key)) continue;
    const known = METHOD_KEYS.map(name => `\`${name}\``).join(', ');
    throw new HotlaneError('OPTION', `Option \`${option}\`: there is no \`${key}\`. Known are ${known}.`);
  }
  if (given.mode !== undefined) checkMode(`${option}.mode`, given.mode);
}

function checkMode(option: string, mode: unknown): void {
  if (!MODES.includes(mode)) refuse(`Option \`${option}\`: expected 'lanes', 'inline' or 'auto'`, mode);
}

function isRecord(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function refuse(expected: string, came: unknown): never {
  throw new HotlaneError('OPTION', `${expected}, got ${show(came)}.`);
}

function show(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value);
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (typeof value === 'function') return 'a function';
  return typeof value === 'object' && value !== null ? 'an object' : String(value);
}
