import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Server } from '@grpc/grpc-js';
import { workers } from '@hotlane/grpc';
import { ask, prepare } from './interop/go-client.ts';
import { listen } from './kit/serve.ts';

const CASES = [
  'empty_unary',
  'large_unary',
  'client_streaming',
  'server_streaming',
  'ping_pong',
  'empty_stream',
  'cancel_after_begin',
  'cancel_after_first_response',
  'timeout_on_sleeping_server',
  'custom_metadata',
  'status_code_and_message',
  'special_status_message',
  'unimplemented_method',
  'unimplemented_service',
];

test('the interoperability cases pass with the test service on lanes, asked by grpc-go', async t => {
  const impossible = await prepare();
  if (impossible !== undefined) {
    t.skip(impossible);
    return;
  }
  const { TestService } = await import('./interop/definition.ts');
  const server = new Server();
  const service = workers(TestService, new URL('./interop/handlers.ts', import.meta.url), {
    definition: new URL('./interop/definition.ts', import.meta.url),
    lanes: 2,
  });
  server.addService(TestService, service);
  t.after(async () => {
    server.forceShutdown();
    await service.close();
  });
  await service.ready();
  const address = await listen(server);
  for (const testCase of CASES) {
    await t.test(testCase, () => ask(address, testCase));
  }
  await service.close();
  assert.deepEqual(service.stats().lanes, []); // none of them left a call behind
});
