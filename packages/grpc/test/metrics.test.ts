import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { status } from '@grpc/grpc-js';
import { fixture, type ServeOptions, serve } from './kit/serve.ts';

/** What the trailers of each kind of call say of its load. */
async function reports(t: TestContext, options: ServeOptions): Promise<string[]> {
  const { client } = await serve(t, { handlers: fixture('metrics-handlers.ts'), ...options });
  const failed = await client.ask({ text: 'fail' });
  assert.deepEqual([failed.code, failed.details], [status.NOT_FOUND, 'not here']);
  const outcomes = [
    await client.ask({}),
    await client.add([{}]),
    await client.count({}),
    await client.chat([]),
  ];
  for (const { code, details } of outcomes) assert.equal(code, status.OK, details);
  return [failed, ...outcomes].map(({ trailers }) =>
    trailers
      .get('endpoint-load-metrics-bin')
      .map(report => (report as Buffer).toString('hex'))
      .join(),
  );
}

test('what handlers record of their load goes with the status, as inline', async t => {
  const server = { 'grpc.server_call_metric_recording': 1 };
  const inline = await reports(t, { server, mode: 'inline' });
  assert.equal(new Set(inline).size, 1);
  assert.match(Buffer.from(inline[0]!, 'hex').toString('latin1'), /database.*disk.*rows/s);
  assert.deepEqual(await reports(t, { server }), inline);
});

test('where the server does not ask for it, recording means nothing', async t => {
  assert.deepEqual(new Set(await reports(t, {})), new Set(['']));
});
