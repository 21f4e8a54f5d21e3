import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { get, open, watch } from './kit/ask.ts';
import { leavesNothingBehind } from './kit/leftovers.ts';
import { RawServer } from './kit/raw-server.ts';

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
});
