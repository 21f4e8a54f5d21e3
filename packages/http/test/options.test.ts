import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Hotline, type HotlineOptions } from '@hotlane/http';
import { failure, get, open } from './kit/ask.ts';
import { leavesNothingBehind } from './kit/leftovers.ts';
import { RawServer } from './kit/raw-server.ts';

leavesNothingBehind();

describe("an option of undici's Client", () => {
  const bad = [
    { headersTimeout: 'soon' },
    { maxHeaderSize: -1 },
    { keepAliveTimeout: Number.POSITIVE_INFINITY },
    { connectTimeout: -1 },
    { maxResponseSize: Number.NaN },
    { connect: 'there' },
  ];
  for (const options of bad as unknown as HotlineOptions[]) {
    it(`that cannot be is refused when the Hotline is made: ${Object.keys(options)}`, () => {
      assert.throws(() => new Hotline(options), { code: 'UND_ERR_INVALID_ARG' });
    });
  }

  it('may be a longer time than a timer takes', async () => {
    const warnings: Error[] = [];
    const onWarning = (warning: Error) => warnings.push(warning);
    process.on('warning', onWarning);
    await using server = await RawServer.listen(request => request.answer());
    await using hotline = open(server.origin, { keepAliveTimeout: 1e12, keepAliveMaxTimeout: 1e12 });
    assert.equal(await get(hotline, '/'), '/');
    assert.equal(await get(hotline, '/again'), '/again');
    assert.equal(server.wires.length, 1);
    assert.deepEqual(warnings, []);
    process.off('warning', onWarning);
  });

  it('maxRequestsPerClient is how many requests each connection gets', async () => {
    await using server = await RawServer.listen(request => request.answer());
    const options = { connections: 1, maxRequestsPerClient: 3, ...server.proven() };
    await using hotline = open(server.origin, options);
    const paths = Array.from({ length: 10 }, (_, i) => `/${i}`);
    const methods = ['GET', 'POST'] as const;
    const answers = paths.map((path, i) => get(hotline, path, { method: methods[i % 2] }));
    assert.deepEqual(await Promise.all(answers), paths);
    const counts = server.wires.map(({ asked }) => asked.length);
    assert.ok(Math.max(...counts) <= 3, String(counts));
    assert.equal(hotline.stats()[server.origin].retried, 0);
  });
});

describe('an origin', () => {
  it('may end with a slash, and has no path', async () => {
    await using server = await RawServer.listen(request => request.answer());
    await using hotline = open(`${server.origin}/`);
    assert.equal(hotline.origin, server.origin);
    assert.equal(await get(hotline, '/a', { origin: `${server.origin}/` }), '/a');
    const wrong = `${server.origin}/path`;
    assert.throws(() => new Hotline(wrong), { code: 'UND_ERR_INVALID_ARG' });
    assert.equal((await failure(get(hotline, '/', { origin: wrong }))).code, 'UND_ERR_INVALID_ARG');
  });
});
