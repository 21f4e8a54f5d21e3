import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import {
  addAdminServicesToServer,
  getChannelzServiceDefinition,
  makeGenericClientConstructor,
  ResponderBuilder,
  Server,
  ServerInterceptingCall,
  type ServerInterceptor,
  ServerListenerBuilder,
  type ServiceDefinition,
  status,
} from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { ReflectionService } from '@grpc/reflection';
import { handleOf, workers } from '@hotlane/grpc';
import { HealthImplementation, service as healthService } from 'grpc-health-check';
import { Probe } from './fixtures/probe.ts';
import { ProbeClient } from './kit/client.ts';
import { connect, fixture, listen, serve } from './kit/serve.ts';

/** A call of any unary method. */
function ask(client: any, method: string, request: object): Promise<any> {
  return new Promise((resolve, reject) => {
    client[method](request, (error: Error | null, answer: unknown) =>
      error ? reject(error) : resolve(answer),
    );
  });
}

test('the health service of grpc-js works beside it', async t => {
  const health = new HealthImplementation({ 'hotlane.test.Probe': 'SERVING' });
  const { client, address } = await serve(t, { prepare: server => health.addToServer(server) });
  assert.equal((await client.ask({})).code, status.OK);
  const Health = makeGenericClientConstructor(healthService, 'Health');
  const checker = connect(Health, address);
  t.after(() => checker.close());
  assert.equal((await ask(checker, 'check', { service: 'hotlane.test.Probe' })).status, 'SERVING');
});

test('reflection works beside it, and knows the service', async t => {
  const loaded = loadSync(fileURLToPath(fixture('probe.proto')));
  const reflection = new ReflectionService(loaded);
  const { client, address } = await serve(t, { prepare: server => reflection.addToServer(server) });
  assert.equal((await client.ask({})).code, status.OK);
  const require = createRequire(import.meta.url);
  const proto = join(
    dirname(require.resolve('@grpc/reflection')),
    '../proto/grpc/reflection/v1/reflection.proto',
  );
  const definition = loadSync(proto)['grpc.reflection.v1.ServerReflection'] as ServiceDefinition;
  const reflector: any = connect(makeGenericClientConstructor(definition, 'Reflection'), address);
  t.after(() => reflector.close());
  const call = reflector.serverReflectionInfo();
  const answer = new Promise<any>((resolve, reject) => call.on('data', resolve).on('error', reject));
  call.write({ listServices: '*' });
  const names = (await answer).listServicesResponse.service.map(({ name }: { name: string }) => name);
  call.end();
  assert.ok(names.includes('hotlane.test.Probe'));
});

test('channelz counts its calls', async t => {
  const { client, address } = await serve(t, { prepare: server => addAdminServicesToServer(server) });
  assert.equal((await client.ask({})).code, status.OK);
  assert.equal((await client.ask({ text: 'throw' })).code, status.UNKNOWN);
  const Channelz = makeGenericClientConstructor(getChannelzServiceDefinition(), 'Channelz');
  const channelz = connect(Channelz, address);
  t.after(() => channelz.close());
  const { server: servers } = await ask(channelz, 'getServers', {});
  // Its names are those of the protocol: there no letter is large.
  const ours = servers.find((one: any) => one.listen_socket.some(({ name }: any) => name === address));
  assert.deepEqual([ours.data.calls_succeeded, ours.data.calls_failed], ['1', '1']);
});

test('server interceptors see calls to lanes, and can refuse them', async t => {
  const seen: string[] = [];
  const guard: ServerInterceptor = (method, call) => {
    const listener = new ServerListenerBuilder()
      .withOnReceiveMetadata((metadata, next) => {
        seen.push(method.path);
        if (metadata.get('token')[0] === 'good') next(metadata);
        else call.sendStatus({ code: status.PERMISSION_DENIED, details: 'no token' });
      })
      .build();
    const responder = new ResponderBuilder()
      .withStart(next => next(listener))
      .withSendStatus((ending, next) => {
        seen.push(`ended with ${ending.code}`);
        next(ending);
      })
      .build();
    return new ServerInterceptingCall(call, responder);
  };
  const { client } = await serve(t, { server: { interceptors: [guard] } as object });
  const refused = await client.ask({});
  assert.deepEqual([refused.code, refused.details], [status.PERMISSION_DENIED, 'no token']);
  const allowed = await client.chat([{ text: 'a' }], { metadata: { token: 'good' } });
  assert.deepEqual([allowed.code, allowed.answers.length], [status.OK, 1]);
  assert.deepEqual(seen, ['/hotlane.test.Probe/Ask', '/hotlane.test.Probe/Chat', 'ended with 0']);
});

test('a definition is as it was after it was registered: other servers and clients use it too', async t => {
  const before = JSON.stringify(Object.getOwnPropertyDescriptors(Probe.service.Ask));
  const { requestDeserialize, responseSerialize } = Probe.service.Ask!;
  const { client } = await serve(t);
  assert.equal(Probe.service.Ask!.requestDeserialize, requestDeserialize);
  assert.equal(Probe.service.Ask!.responseSerialize, responseSerialize);
  assert.equal(JSON.stringify(Object.getOwnPropertyDescriptors(Probe.service.Ask)), before);
  const other = new Server();
  other.addService(Probe.service, {
    Ask: (call: any, respond: any) => respond(null, { text: `${call.request.text} on the host` }),
  });
  const onHost = new ProbeClient(connect(Probe, await listen(other)));
  t.after(() => {
    onHost.close();
    other.forceShutdown();
  });
  assert.equal((await onHost.ask({ text: 'runs' })).answer?.text, 'runs on the host');
  assert.equal((await client.ask({ text: 'runs' })).answer?.lane, 1);
});

test('a frozen definition is registered as raw() gives it, and the error says so', async t => {
  const frozen: ServiceDefinition = Object.freeze(
    Object.fromEntries(
      Object.entries(Probe.service).map(([name, method]) => [name, Object.freeze({ ...method })]),
    ),
  );
  const service = workers(frozen, fixture('handlers.ts'), {
    lanes: 1,
    definition: fixture('probe.ts'),
    methods: { count: { mode: 'inline' } },
  });
  const server = new Server();
  assert.throws(() => server.addService(frozen, service), /is frozen.*service\.raw\(\)/);
  const another = new Server();
  another.addService(...service.raw());
  const client = new ProbeClient(connect(Probe, await listen(another)));
  t.after(async () => {
    client.close();
    another.forceShutdown();
    await service.close();
  });
  assert.equal((await client.ask({})).answer?.lane, 1);
  assert.equal((await client.count({ number: 1 })).answer?.lane, 0);
});

test('to bind a handler without registering it leaves the definition as it was', async t => {
  const { service } = await serve(t);
  const before = Object.getOwnPropertyDescriptors(Probe.service.Ask);
  (service as any).Ask.bind(null);
  await Promise.resolve();
  assert.deepEqual(Object.getOwnPropertyDescriptors(Probe.service.Ask), before);
});

test('handlers that were wrapped say what is wrong, instead of nonsense', async t => {
  const service: any = workers(Probe.service, fixture('handlers.ts'), { definition: fixture('probe.ts') });
  const server = new Server();
  server.addService(Probe.service, {
    Ask: (call: any, respond: any) => service.Ask(call, respond),
    Count: (call: any) => service.Count(call),
  });
  const client = new ProbeClient(connect(Probe, await listen(server)));
  t.after(async () => {
    client.close();
    server.forceShutdown();
    await service.close();
  });
  for (const { code, details } of [await client.ask({}), await client.count({})]) {
    assert.equal(code, status.INTERNAL);
    assert.match(details, /service\.raw\(\)/);
  }
});

test('a method may be called `close`: the handle is had by handleOf', async () => {
  const definition = { close: { ...Probe.service.Ask!, path: '/x/close', originalName: 'close' } };
  const service = workers(definition, fixture('handlers.ts'), { definition: fixture('probe.ts') });
  assert.equal(service.close.length, 0);
  await handleOf(service).close();
  assert.throws(() => handleOf({}), /expected what `workers` returned, got an object/);
});

test('a compressed request is read as any other', async t => {
  const { client } = await serve(t, {
    client: { 'grpc.default_compression_algorithm': 2 },
  });
  const { answer } = await client.ask({ text: 'echo', blob: Buffer.alloc(10_000, 'a') });
  assert.equal(answer?.blob.length, 10_000);
});
