/** A server with handlers on lanes, and a client of it, over loopback. Both are gone at the test's end. */
import { after, type TestContext } from 'node:test';
import {
  type ChannelCredentials,
  type ChannelOptions,
  type ClientOptions,
  credentials,
  Server,
  ServerCredentials,
  type ServiceClientConstructor,
  type ServiceDefinition,
} from '@grpc/grpc-js';
import { type Workers, type WorkersOptions, workers } from '@hotlane/grpc';
import { Probe } from '../fixtures/probe.ts';
import { ProbeClient } from './client.ts';

export const fixture = (name: string) => new URL(`../fixtures/${name}`, import.meta.url);

export interface Serving {
  readonly server: Server;
  readonly service: Workers;
  readonly client: ProbeClient;
  readonly address: string;
}

export interface Credentials {
  readonly server: ServerCredentials;
  readonly client: ChannelCredentials;
}

export interface ServeOptions extends WorkersOptions {
  readonly handlers?: URL;
  readonly service?: ServiceDefinition;
  readonly server?: ChannelOptions;
  readonly client?: ClientOptions;
  /** How both sides speak TLS. @default not at all */
  readonly credentials?: Credentials;
  /** Does what else there is to do to the server before it listens. */
  readonly prepare?: (server: Server) => void;
}

/** Serves the fixture's handlers on one lane, unless told otherwise, for one test. */
export async function serve(t: TestContext, options: ServeOptions = {}): Promise<Serving> {
  const serving = await start(options);
  t.after(() => stop(serving));
  return serving;
}

/** The same for all tests of a file that leave its lane as they found it. @returns what gives it, started when first asked */
export function shared(options: ServeOptions = {}): () => Promise<Serving> {
  let serving: Promise<Serving> | undefined;
  after(async () => {
    if (serving !== undefined) await stop(await serving);
  });
  return () => {
    serving ??= start(options);
    return serving;
  };
}

async function stop({ client, server, service }: Serving): Promise<void> {
  client.close();
  server.forceShutdown();
  await service.destroy();
}

async function start(options: ServeOptions): Promise<Serving> {
  const {
    handlers,
    service: given,
    server: serverOptions,
    client: clientOptions,
    credentials: keys,
    prepare,
    ...rest
  } = options;
  const definition = given ?? Probe.service;
  const server = new Server(serverOptions);
  const service = workers(definition, handlers ?? fixture('handlers.ts'), {
    lanes: 1,
    definition: fixture('probe.ts'),
    ...rest,
  });
  server.addService(definition, service);
  prepare?.(server);
  const address = await listen(server, keys?.server);
  const client = new ProbeClient(connect(Probe, address, clientOptions, keys?.client));
  return { server, service, client, address };
}

export function connect(
  Client: ServiceClientConstructor,
  address: string,
  options?: ClientOptions,
  keys = credentials.createInsecure(),
) {
  return new Client(address, keys, options);
}

export function listen(server: Server, keys = ServerCredentials.createInsecure()): Promise<string> {
  return new Promise((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', keys, (error, port) => {
      if (error === null) resolve(`127.0.0.1:${port}`);
      else reject(error);
    });
  });
}
