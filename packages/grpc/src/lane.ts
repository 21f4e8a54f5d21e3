/**
 * What runs in the lanes: the user's handlers, with the calls that they are given. Messages are decoded and encoded here, by
 * the service's own functions.
 */
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { findCodecs, findHandlers } from './find.ts';
import { laneFunction } from './lane-functions.ts';
import type { LaneFunction, LaneSetup } from './wire.ts';

/** The functions that a lane serves. */
export interface LaneModule {
  method(path: string): LaneFunction;
  /** An export of the user's module, for `setup` and `teardown`. */
  exported(name: string): unknown;
}

/**
 * Loads the user's handlers and the service's definition.
 *
 * @throws Error that says what is missing, and where it was looked for
 */
export async function openLane({ handlers, definition, loader, methods }: LaneSetup): Promise<LaneModule> {
  const module = (await import(handlers)) as Record<string, unknown>;
  const defining = definition === handlers ? module : await loadDefinition(definition, loader);
  const codecs = findCodecs(defining, methods);
  if (codecs === undefined) {
    const paths = methods.map(({ path }) => path);
    const hint =
      definition === handlers
        ? 'Export the definition from it as well, or say with the option `definition` which module or .proto file has it.'
        : 'Is it that of another service?';
    throw new Error(`${definition} has no definition of a service with ${paths.join(', ')}. ${hint}`);
  }
  const found = findHandlers(module, methods);
  if (found.size === 0) {
    const names = methods.map(method => method.names[0]).join(', ');
    throw new Error(
      `${handlers} has no handlers: expected an export, or an exported object, with a function for each of ${names}.`,
    );
  }
  const functions = new Map(
    methods.map(method => [
      method.path,
      laneFunction(method, codecs.get(method.path)!, found.get(method.path)),
    ]),
  );
  return {
    method: path => functions.get(path)!,
    exported(name) {
      const fn = module[name] ?? (module.default as Record<string, unknown> | undefined)?.[name];
      if (typeof fn !== 'function') throw new Error(`${handlers} exports no function ${name}.`);
      return fn;
    },
  };
}

/** A module, or what `@grpc/proto-loader` makes of a .proto file. */
async function loadDefinition(url: string, options: object): Promise<object> {
  if (!isProto(url)) return (await import(url)) as object;
  // The application's own: from where the file is.
  const { loadSync } = createRequire(url)('@grpc/proto-loader') as {
    loadSync(file: string, options: object): object;
  };
  return loadSync(fileURLToPath(url), options);
}

export function isProto(url: string): boolean {
  return new URL(url).pathname.endsWith('.proto');
}
