import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { get, open } from './kit/ask.ts';
import { leavesNothingBehind } from './kit/leftovers.ts';
import { RawServer } from './kit/raw-server.ts';

leavesNothingBehind();

describe('408 Request Timeout', () => {
  it('has the request sent again on another connection, once for each', async () => {
    await using server = await RawServer.listen(request => {
      const isFirst = request.connection.index === 0;
      request.answer(request.path, [], isFirst ? '408 Request Timeout' : '200 OK');
    });
    await using hotline = open(server.origin);
    assert.equal(await get(hotline, '/'), '/');
    assert.deepEqual(
      server.wires.map(({ asked }) => asked.length),
      [1, 1],
    );
  });

  it('is the answer where the server says nothing else', async () => {
    await using server = await RawServer.listen(request => {
      request.answer('too late', [], '408 Request Timeout');
    });
    await using hotline = open(server.origin);
    const response = await hotline.request({ method: 'GET', path: '/' });
    assert.equal(response.statusCode, 408);
    assert.equal(await response.body.text(), 'too late');
    assert.equal(server.asked.length, 4);
  });
});
