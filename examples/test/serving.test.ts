import assert from 'node:assert/strict';
import { scryptSync } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { after, before, it } from 'node:test';
import { downscale } from '../shared/tasks.ts';
import { describeExamples, ExampleServer } from './server.ts';

/** What a server says to a body of 17 MiB, of which it is sent nothing but the size. */
async function statusOfHuge(url: string): Promise<number | undefined> {
  const headers = { 'content-type': 'application/octet-stream', 'content-length': 17 * 1024 * 1024 };
  const sent = request(url, { method: 'POST', headers });
  sent.flushHeaders();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  sent.on('error', () => {}).destroy();
  return response.statusCode;
}

describeExamples('server', example => {
  let server: ExampleServer;
  before(async () => {
    server = await ExampleServer.start(example);
  });
  after(() => server.end());

  it('answers with what the functions return', async () => {
    const hashed = (await (await server.hash('secret')).json()) as { salt: string; hash: string };
    assert.equal(hashed.hash, scryptSync('secret', Buffer.from(hashed.salt, 'hex'), 32).toString('hex'));

    const primes = await fetch(`${server.url}/primes?limit=1000`);
    assert.deepEqual([primes.status, await primes.json()], [200, { limit: 1000, primes: 168 }]);

    // One that fits into the memory that short Buffers share, and one that does not and moves.
    for (const [width, height, to] of [
      [8, 6, 4],
      [200, 150, 40],
    ]) {
      const pixels = Uint8Array.from({ length: width * height * 4 }, (_, i) => (i * 7) % 251);
      const response = await fetch(`${server.url}/thumbnail?width=${width}&height=${height}&to=${to}`, {
        method: 'POST',
        headers: { 'content-type': 'application/octet-stream' },
        body: pixels,
      });
      assert.equal(response.status, 200);
      const small = downscale({ width, height, pixels }, to);
      assert.equal(response.headers.get('x-width'), `${small.width}`);
      assert.equal(response.headers.get('x-height'), `${small.height}`);
      assert.deepEqual(await response.bytes(), small.pixels);
    }

    const { done, failed, running, queued, lanes } = await server.stats();
    assert.deepEqual([done, failed, running, queued, lanes.length], [4, 0, 0, 0, 2]);
  });

  it('blames the client for what the client can mend', async () => {
    const json = { 'content-type': 'application/json' };
    const bytes = { 'content-type': 'application/octet-stream' };
    const post = (path: string, headers: Record<string, string>, body: string | Uint8Array<ArrayBuffer>) =>
      fetch(`${server.url}${path}`, { method: 'POST', headers, body });

    for (const response of [
      await fetch(`${server.url}/primes?limit=many`),
      await fetch(`${server.url}/primes`),
      await post('/hash', json, '{"password":""}'),
      await post('/hash', json, 'null'),
      await post('/thumbnail?width=3&height=3&to=1', bytes, new Uint8Array(35)),
    ]) {
      assert.equal(response.status, 400);
      const { error, message } = (await response.json()) as Record<string, string>;
      assert.equal(error, 'INPUT');
      assert.match(message, /^`\w+`.*: expected /);
    }
    assert.equal((await post('/hash', json, '{')).status, 400);
    assert.equal(await statusOfHuge(`${server.url}/thumbnail`), 413);
    assert.equal((await fetch(`${server.url}/nothing`)).status, 404);
  });
});
