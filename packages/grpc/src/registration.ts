/**
 * How handlers come to be given bytes although the server is told the service's own definition.
 *
 * `server.addService(definition, implementation)` goes through the definition: for each method it takes the function of that
 * name, binds it to the implementation, and then reads `responseSerialize` and `requestDeserialize` from the definition. Our
 * functions have a `bind` of their own: it lays functions that leave bytes as they are over these two, and the first
 * reading takes them away again. So the definition is as it was when `addService` returns, and whoever else uses it, another
 * server in this process or a client, has what is written there.
 */
import type { MethodDefinition, ServiceDefinition } from '@grpc/grpc-js';
import { HotlaneError } from 'hotlane';

type Method = MethodDefinition<any, any>;
type Handle = (...args: any[]) => void;

const asItIs = (bytes: unknown) => bytes;
const SERVER_SIDE = ['responseSerialize', 'requestDeserialize'] as const;

/** Makes a function that, when it is registered as the handler of a method, is given bytes and gives bytes. */
export function rawHandler<H extends Handle>(method: Method, handle: H): H {
  const made = (...args: Parameters<H>) => handle(...args);
  Object.defineProperty(made, 'bind', {
    value: () => {
      layOver(method);
      return handle;
    },
  });
  return made as H;
}

function layOver(method: Method): void {
  const own = SERVER_SIDE.map(key => [key, Object.getOwnPropertyDescriptor(method, key)] as const);
  if (Object.isFrozen(method) || own.some(([, property]) => property?.configurable === false)) {
    throw new HotlaneError(
      'OPTION',
      `The definition of ${method.path} is frozen. Register it with \`server.addService(...service.raw())\`.`,
    );
  }
  const restore = (key: string, property: PropertyDescriptor | undefined) => {
    if (Object.getOwnPropertyDescriptor(method, key)?.get !== readOnce.get(key)) return;
    if (property === undefined) delete (method as unknown as Record<string, unknown>)[key];
    else Object.defineProperty(method, key, property);
  };
  const readOnce = new Map<string, () => unknown>();
  for (const [key, property] of own) {
    readOnce.set(key, () => {
      restore(key, property);
      return asItIs;
    });
    Object.defineProperty(method, key, {
      get: readOnce.get(key),
      enumerable: true,
      configurable: true,
    });
  }
  // Should nobody read them, somebody who was no server has bound the function.
  queueMicrotask(() => {
    for (const [key, property] of own) restore(key, property);
  });
}

/** The definition as a server reads it for handlers that are given bytes. @param names of these; the others stay as they are */
export function rawDefinition(definition: ServiceDefinition, names: ReadonlySet<string>): ServiceDefinition {
  const raw = { responseSerialize: asItIs as (value: any) => Buffer, requestDeserialize: asItIs };
  return Object.fromEntries(
    Object.entries(definition).map(([name, method]) => [
      name,
      names.has(name) ? { ...method, ...raw } : method,
    ]),
  );
}
