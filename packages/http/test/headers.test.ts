import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { get, open } from './kit/ask.ts';
import { leavesNothingBehind } from './kit/leftovers.ts';
import { RawServer } from './kit/raw-server.ts';

leavesNothingBehind();

describe('the headers of a request', () => {
  it('are those that it was given, whatever becomes of them while it waits', async () => {
    await using server = await RawServer.listen();
    await using hotline = open(server.origin, { connections: 1, maxDepth: 1 });
    const [object, list, map] = [{ 'x-a': '' }, ['x-a', ''], new Map([['x-a', '']])];
    const answers: Promise<string>[] = [];
    for (const value of ['1', '2', '3']) {
      object['x-a'] = list[1] = value;
      map.set('x-a', value);
      for (const headers of [object, list, map]) answers.push(get(hotline, `/${value}`, { headers }));
    }
    server.answerAlways();
    await Promise.all(answers);
    assert.equal(server.asked.length, 9);
    for (const { path, headers } of server.asked) assert.equal(`/${headers.get('x-a')}`, path);
  });

  it('that can be read once only are sent again with it', async () => {
    await using server = await RawServer.listen(request => {
      if (server.asked.length === 1) request.connection.socket.destroy();
      else request.answer();
    });
    await using hotline = open(server.origin);
    function* headers(): Generator<[string, string]> {
      yield ['x-a', 'b'];
      yield ['priority', 'u=1'];
    }
    assert.equal(await get(hotline, '/', { headers: headers() }), '/');
    assert.deepEqual(
      server.asked.map(asked => asked.headers.get('x-a')),
      ['b', 'b'],
    );
  });
});
