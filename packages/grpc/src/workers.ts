import type { MethodDefinition, ServiceDefinition, UntypedHandleCall } from '@grpc/grpc-js';
import { createPool, HotlaneError, type ModuleReference, type Pool, type PoolStats } from 'hotlane';
import { resolveModule } from 'hotlane/modules';
import { HostHandlers } from './host-handlers.ts';
import { type MethodOptions, refuse, resolveOptions, type WorkersOptions } from './options.ts';
import { rawDefinition, rawHandler } from './registration.ts';
import type { LaneSetup, MethodShape } from './wire.ts';

/** What `stats()` of a service tells: the pool's, and where each method runs. */
export interface ServiceStats extends PoolStats {
  readonly methods: { readonly [name: string]: { readonly runs: 'inline' | 'lanes' } };
}

/**
 * What there is to do with a service beside giving it to a server. The server's types take it for handlers: for that, all of it
 * are functions, and `& object` says that options are not only what is listed.
 */
export type ServiceHandle = {
  /** What the pool does, and where each method runs now. */
  stats(options?: { readonly times?: boolean } & object): ServiceStats;
  /**
   * Resolves when there is a lane that has loaded the handlers: before the server listens, so that the first call does not
   * wait for it.
   *
   * @throws HotlaneError LANE_START with the cause when none can be started; CLOSED. `signal.reason` when that aborts
   */
  ready(options?: { readonly signal?: AbortSignal } & object): Promise<void>;
  /** Waits for the calls that are under way, then ends the lanes; later calls get UNAVAILABLE. Can be called twice. */
  close(): Promise<void>;
  /** Ends the calls that are under way with UNAVAILABLE, and the lanes. Can be called twice. */
  destroy(reason?: unknown): Promise<void>;
  /** What to register where the definition cannot be given: `server.addService(...service.raw())`. */
  raw(): [ServiceDefinition, Record<string, UntypedHandleCall>];
  /** The same as `close()`. */
  [Symbol.asyncDispose](): Promise<void>;
};

/**
 * Handlers for `server.addService`, and a handle on their lanes. A method of the service that has one of the handle's names has
 * that name for itself; `handleOf(service)` has the handle all the same.
 */
export type Workers<D extends ServiceDefinition = ServiceDefinition> = string extends keyof D
  ? ServiceHandle // it is not known which methods there are
  : { [K in keyof D]: UntypedHandleCall } & Omit<ServiceHandle, keyof D>;

const handles = new WeakMap<object, ServiceHandle>();

/**
 * Makes handlers that run on other threads.
 *
 * ```ts
 * server.addService(definition, workers(definition, new URL('./handlers.js', import.meta.url)));
 * ```
 *
 * @param definition the service's, as the server is given it
 * @param handlers the module that exports the handlers, as grpc-js takes them: a file, node or data URL; a path, taken from
 *   the working directory; or a package's name
 * @throws HotlaneError OPTION. That a module is missing or fails to load is told by the calls, with UNAVAILABLE
 */
export function workers<D extends ServiceDefinition>(
  definition: D,
  handlers: ModuleReference,
  options: WorkersOptions<D> = {},
): Workers<D> {
  const shapes = shapesOf(definition);
  const resolved = resolveOptions(
    options,
    [...shapes.values()].map(({ names }) => names),
  );
  const url = resolveModule(handlers);
  const setup: LaneSetup = {
    handlers: url,
    definition: resolved.definition ?? url,
    loader: resolved.loader,
    methods: [...shapes.values()],
  };
  const pool: Pool<any> = createPool(
    laneModule(setup, resolved.pool.setup, resolved.pool.teardown),
    resolved.pool,
  );
  const host = new HostHandlers(pool, url, [...shapes.values()], resolved.pool);

  const service: Record<string, unknown> = {};
  const plain: Record<string, UntypedHandleCall> = {};
  const raw = new Set<string>();
  try {
    for (const [name, shape] of shapes) {
      const method = definition[name]!;
      const given: MethodOptions = { mode: resolved.mode, ...optionsFor(shape, resolved.methods) };
      const { handle, isRaw } = host.handler(name, shape, method, given);
      plain[name] = handle;
      service[name] = isRaw ? rawHandler(method, handle) : handle;
      if (isRaw) raw.add(name);
    }
  } catch (error) {
    void pool.destroy(); // of which nobody has heard yet
    throw error;
  }

  const handle: ServiceHandle = {
    stats: given => ({ ...pool.stats(given), methods: host.whereMethodsRun() }),
    ready: given => host.ready(given),
    close: () => host.close(),
    destroy: reason => pool.destroy(reason),
    raw: () => [rawDefinition(definition, raw), plain],
    [Symbol.asyncDispose]: () => host.close(),
  };
  for (const key of Reflect.ownKeys(handle) as (keyof ServiceHandle)[]) {
    if (Object.hasOwn(service, key)) continue;
    Object.defineProperty(service, key, { value: handle[key] });
  }
  handles.set(service, handle);
  return service as Workers<D>;
}

/** The handle of what `workers` returned, whatever its methods are called. @throws HotlaneError OPTION */
export function handleOf(service: object): ServiceHandle {
  return handles.get(service) ?? refuse('`handleOf`: expected what `workers` returned', service);
}

/** The definition's methods, by their names in it. */
function shapesOf(definition: ServiceDefinition): Map<string, MethodShape> {
  if (typeof definition !== 'object' || definition === null) {
    refuse('`workers`: expected a service definition first', definition);
  }
  const shapes = new Map<string, MethodShape>();
  for (const [name, method] of Object.entries(definition) as [string, MethodDefinition<any, any>][]) {
    if (typeof method?.path !== 'string') {
      throw new HotlaneError(
        'OPTION',
        `\`workers\`: expected a service definition first, and its \`${name}\` is no method. Give what \`server.addService\` takes: of a generated client, its \`service\`.`,
      );
    }
    const { path, originalName, requestStream, responseStream } = method;
    const names = originalName === undefined || originalName === name ? [name] : [name, originalName];
    shapes.set(name, { path, names, requestStream, responseStream });
  }
  if (shapes.size === 0)
    throw new HotlaneError('OPTION', '`workers`: the service definition has no methods.');
  return shapes;
}

function optionsFor({ names }: MethodShape, methods: Readonly<Record<string, MethodOptions | undefined>>) {
  return Object.assign({}, ...names.map(name => methods[name])) as MethodOptions;
}

/** The module that lanes load: it opens the user's, and exports a function for each method, under its path. */
function laneModule(setup: LaneSetup, setUp: string | undefined, tearDown: string | undefined): string {
  const methods = setup.methods.map(({ path }) => [`lane.method(${JSON.stringify(path)})`, path] as const);
  const hooks = [setUp, tearDown]
    .filter(name => typeof name === 'string')
    .map(name => [`lane.exported(${JSON.stringify(name)})`, name] as const);
  const all = [...methods, ...new Map(hooks.map(hook => [hook[1], hook])).values()];
  const source = `import { openLane } from ${JSON.stringify(import.meta.resolve('#lane'))};
const lane = await openLane(${JSON.stringify(setup)});
${all.map(([made, name], i) => `const f${i} = ${made};\nexport { f${i} as ${JSON.stringify(name)} };`).join('\n')}`;
  return `data:text/javascript,${encodeURIComponent(source)}`;
}
