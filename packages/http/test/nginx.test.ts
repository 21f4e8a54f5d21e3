import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Random } from 'hotlane/testing';
import type { Dispatcher } from 'undici';
import { leavesNothingBehind } from './kit/leftovers.ts';
import { type Nginx, noNginx, startNginx } from './kit/nginx.ts';
import { expectedBody, NodeServer } from './kit/node-server.ts';
import { makeDispatcher } from './kit/subject.ts';

leavesNothingBehind();

/** So many requests at once, to nginx itself and to what stands behind it; all must be right. */
async function askMany(dispatcher: Dispatcher, requests: number): Promise<void> {
  const random = new Random(requests);
  const ask = async (i: number) => {
    const behind = random.chance(0.5);
    const target = behind
      ? `/b${i}?delayMs=${random.below(8)}&bytes=${random.pick([0, 10, 3_000, 90_000])}`
      : `/n${i}`;
    const method = random.pick(['GET', 'GET', 'GET', 'HEAD', 'POST', 'DELETE'] as const)!;
    const path = behind ? `/backend${target}` : target;
    const { statusCode, body } = await dispatcher.request({
      path,
      method,
      ...(method === 'POST' && { body: 'x' }),
    });
    const text = await body.text();
    assert.equal(statusCode, 200);
    const whole = behind ? expectedBody(target) : `${method} ${target}`;
    assert.equal(text, method === 'HEAD' ? '' : whole);
  };
  await Promise.all(Array.from({ length: requests }, (_, i) => ask(i)));
}

describe('nginx', { skip: noNginx ?? false }, () => {
  let backend: NodeServer;
  let nginx: Nginx;
  before(async () => {
    backend = await NodeServer.listen();
    nginx = await startNginx({ backend: backend.origin, requestsPerConnection: 50 });
  });
  after(async () => {
    await nginx.close();
    await backend.close();
  });

  const ways: [string, () => Dispatcher][] = [
    ['over TCP', () => makeDispatcher(nginx.http, { connections: 4 })],
    ['over TLS', () => makeDispatcher(nginx.https, { connections: 4, connect: { ca: nginx.certificate } })],
    [
      'over a Unix socket',
      () => makeDispatcher('http://localhost', { connections: 4, connect: { socketPath: nginx.socketPath } }),
    ],
    ['over one connection', () => makeDispatcher(nginx.http, { connections: 1 })],
  ];
  for (const [way, make] of ways) {
    it(`answers everything right ${way}, though it closes each connection after 50 requests`, async () => {
      const dispatcher = make();
      try {
        await askMany(dispatcher, 300);
      } finally {
        await dispatcher.close();
      }
    });
  }

  it('is not believed under a certificate that nobody trusts', async () => {
    const dispatcher = makeDispatcher(nginx.https, { connections: 2 });
    await assert.rejects(dispatcher.request({ path: '/', method: 'GET' }), /self-signed|certificate/);
    await dispatcher.destroy();
  });
});
