import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { get, open, watch } from './kit/ask.ts';
import { leavesNothingBehind } from './kit/leftovers.ts';
import { aWhile, head, RawServer } from './kit/raw-server.ts';

leavesNothingBehind();

const EVENTS =
  'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n6\r\ndata:\n\r\n';

describe('a response that does not end', () => {
  it('has nothing sent behind it once it shows that it is a stream of events', async () => {
    await using server = await RawServer.listen(request => {
      if (request.path === '/events') request.send(EVENTS);
      else request.answer();
    });
    await using hotline = open(server.origin, { connections: 2, ...server.proven() });
    const others: Promise<string>[] = [];
    const events = watch(hotline, '/events', {}, event => {
      if (event === 'data') for (let i = 0; i < 5; i++) others.push(get(hotline, `/${i}`));
    });
    await server.came(6);
    const [stream] = server.of('/events');
    for (const asked of server.of('/0', '/1', '/2', '/3', '/4')) {
      assert.notEqual(asked.connection, stream.connection, asked.path);
    }
    await Promise.all(others);
    events.controller.abort(new Error('enough'));
    await events.done;
  });

  it('lets those go elsewhere that were sent behind it before anybody knew', async () => {
    await using server = await RawServer.listen(request => {
      if (request.path !== '/never') request.answer();
    });
    await using hotline = open(server.origin, { connections: 2, ...server.proven() });
    await get(hotline, '/first');
    const never = watch(hotline, '/never');
    const behind = Array.from({ length: 5 }, (_, i) => get(hotline, `/${i}`));
    assert.deepEqual(await Promise.all(behind), ['/0', '/1', '/2', '/3', '/4']);
    never.controller.abort(new Error('enough'));
    await never.done;
  });

  it('lets one go elsewhere that waits to be alone behind it', { timeout: 20_000 }, async () => {
    await using server = await RawServer.listen();
    await using hotline = open(server.origin, { connections: 2, ...server.proven() });
    const others = [get(hotline, '/blocking', { blocking: true })];
    await server.came(1);
    const never = watch(hotline, '/never');
    await server.came(2);
    let isPosted = false;
    const post = get(hotline, '/post', { method: 'POST', body: 'x' }).finally(() => (isPosted = true));
    // A slow link: as far as it goes, the other connection takes many requests, and always has some.
    others.push(get(hotline, '/behind'));
    const [blocking] = server.of('/blocking');
    blocking.send(`${head(['Content-Length: 2'])}a`);
    await aWhile();
    blocking.send('b');
    blocking.done();
    server.onRequest = request => request.path === '/post' && request.answer();
    while (!isPosted) {
      const before = server.asked.length;
      others.push(get(hotline, `/${before}`));
      await sleep(5);
      const { waiting } = blocking.connection;
      if (waiting.length > 1 || server.asked.length === before) waiting[0]?.answer();
    }
    assert.equal(await post, '/post');
    server.onRequest = request => request.answer();
    for (const request of [...blocking.connection.waiting]) request.answer();
    await Promise.all(others);
    never.controller.abort(new Error('enough'));
    await never.done;
  });
});
