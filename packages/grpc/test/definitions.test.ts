import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type ServiceDefinition, status } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { service as esService } from './fixtures/es-probe.ts';
import { ProbeService } from './fixtures/generated/probe.ts';
import { fixture, type ServeOptions, serve } from './kit/serve.ts';

const require = createRequire(import.meta.url);

/** Asks all four kinds. The client is that of proto-loader: what it reads was written by the definition under test. */
async function works(t: TestContext, options: ServeOptions): Promise<void> {
  const { client } = await serve(t, options);
  const { answer, code, details } = await client.ask({
    text: 'größer',
    number: -5,
    blob: Buffer.from([0, 1]),
  });
  assert.equal(code, status.OK, details);
  assert.deepEqual([answer?.text, answer?.number, [...answer!.blob]], ['größer', -5, [0, 1]]);
  assert.equal((await client.add([{ number: 20 }, { number: 22 }])).answer?.number, 42);
  assert.deepEqual(
    (await client.count({ number: 3 })).answers.map(({ number }) => number),
    [0, 1, 2],
  );
  assert.deepEqual(
    (await client.chat([{ text: 'a' }, { text: 'b' }])).answers.map(({ text }) => text),
    ['a', 'b'],
  );
}

test('@grpc/proto-loader: the .proto file itself, loaded by the lane as by the server', async t => {
  const loader = { keepCase: true };
  const loaded = loadSync(fileURLToPath(fixture('probe.proto')), loader);
  const service = loaded['hotlane.test.Probe'] as unknown as ServiceDefinition;
  await works(t, { service, definition: fixture('probe.proto'), loader });
  const { client } = await serve(t, {
    handlers: fixture('modern-handlers.ts'),
    definition: fixture('probe.proto'),
    loader: { defaults: true },
  });
  assert.equal((await client.ask({})).answer?.text, ' there'); // the text is there, and empty
});

test('@grpc/proto-loader: a module that exports the client', async t => {
  await works(t, {});
});

test('ts-proto', async t => {
  await works(t, { service: ProbeService, definition: fixture('generated/probe.ts') });
});

test('protobuf-es, with a definition made from its service', async t => {
  await works(t, { service: esService, definition: fixture('es-probe.ts') });
});

test('static code of grpc-tools: the generated module, or its definition exported beside the handlers', async t => {
  const { ProbeService: service } = require('./fixtures/generated/static/probe_grpc_pb.js');
  const handlers = fixture('static-handlers.cjs');
  await works(t, { service, handlers, definition: fixture('generated/static/probe_grpc_pb.js') });
  await works(t, { service, handlers, definition: undefined as never });
});
