import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import autocannon from 'autocannon';
import { describeExamples, ExampleServer, makeGate } from './server.ts';

/** Resolves when nobody accepts connections there any more. */
async function untilRefused(url: string): Promise<void> {
  for (;;) {
    try {
      await fetch(`${url}/health`, { headers: { connection: 'close' } });
    } catch (error) {
      if (((error as Error).cause as NodeJS.ErrnoException)?.code === 'ECONNREFUSED') return;
    }
    await pause(5);
  }
}

describeExamples('server, on SIGTERM under load', example => {
  it('answers the requests in flight, refuses others, ends by itself with 0 and leaves nothing behind', async t => {
    const server = await ExampleServer.start(example);
    const gate = makeGate(t);
    const held = Array.from({ length: 10 }, () => server.hash(gate.password));
    await server.until(({ running, queued }) => running === 2 && queued === 8);
    // Clients that do not stop asking, on connections that they keep.
    const others = autocannon({ url: `${server.url}/health`, connections: 20, duration: 60 }, () => {});
    t.after(() => others.stop());
    await once(others, 'response');

    server.kill('SIGTERM');
    await untilRefused(server.url);
    gate.open();
    for (const response of await Promise.all(held)) {
      assert.equal(response.status, 200);
      assert.match(((await response.json()) as { hash: string }).hash, /^[0-9a-f]{64}$/);
    }
    assert.equal(await server.exited, 0);
    assert.equal(server.leftBehind(), false);
  });

  it('tells clients that keep their connections which request is the last', async t => {
    const server = await ExampleServer.start(example);
    t.after(() => server.end());
    const gate = makeGate(t);
    const { hostname, port } = new URL(server.url);
    const client = connect(Number(port), hostname);
    const body = JSON.stringify({ password: gate.password });
    client.write(
      `POST /hash HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    );
    await server.until(({ running }) => running === 1);
    server.kill('SIGTERM');
    await untilRefused(server.url);
    client.write('GET /health HTTP/1.1\r\nhost: x\r\n\r\n'); // on the same connection, which is not idle yet
    gate.open();

    const [first, second, ...more] = (await text(client)).split(/(?=HTTP\/1.1 )/);
    assert.match(first, /^HTTP\/1.1 200 .*"hash":/s);
    assert.match(second, /^HTTP\/1.1 (200|503) .*\r\nconnection: close\r\n/is); // Fastify refuses it, Hono serves it
    assert.deepEqual(more, []);
    assert.equal(await server.exited, 0);
  });

  it('gives up after a while: what is left gets a 503, and the process ends with 1', async t => {
    const server = await ExampleServer.start(example, { SHUTDOWN_MS: '100' });
    t.after(() => server.end());
    const gate = makeGate(t); // never opened
    const held = Array.from({ length: 10 }, () => server.hash(gate.password));
    await server.until(({ running, queued }) => running === 2 && queued === 8);
    server.kill('SIGTERM');
    for (const response of await Promise.all(held)) {
      assert.equal(response.status, 503);
      assert.equal(((await response.json()) as { error: string }).error, 'STOPPING');
    }
    assert.equal(await server.exited, 1);
    assert.equal(server.leftBehind(), false);
    assert.match(server.output, /SIGTERM: stopping\nnot done after 100 ms: giving up what is left\n$/);
  });
});
