import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { describe, it } from 'node:test';
import type { RequestOptions } from '@hotlane/http';
import { buildConnector } from 'undici';
import { failure, get, open, watch } from './kit/ask.ts';
import { leavesNothingBehind } from './kit/leftovers.ts';
import { type Asked, aWhile, head, RawServer, until } from './kit/raw-server.ts';

leavesNothingBehind();

/** The most requests that were outstanding at once on each connection. */
function depths(server: RawServer): number[] {
  return server.wires.map(({ asked }) => Math.max(0, ...asked.map(({ outstanding }) => outstanding + 1)));
}

function paths(asked: readonly Asked[]): string[] {
  return asked.map(({ path }) => path);
}

const numbered = (count: number) => Array.from({ length: count }, (_, i) => `/${i}`);

describe('an origin of which nothing is known', () => {
  it('gets two requests at once on one connection, and one on each other', async () => {
    await using server = await RawServer.listen();
    await using hotline = open(server.origin, { connections: 4 });
    const answers = numbered(12).map(path => get(hotline, path));
    await server.came(5);
    await aWhile();
    assert.deepEqual(depths(server).sort(), [1, 1, 1, 2]);
    server.answerAlways();
    assert.deepEqual(await Promise.all(answers), numbered(12));
  });

  it('gets more when a pipelined request was answered', async () => {
    await using server = await RawServer.listen();
    await using hotline = open(server.origin, { connections: 1 });
    const answers = numbered(20).map(path => get(hotline, path));
    await server.came(2);
    assert.equal(hotline.stats()[server.origin].trust, 'unknown');
    for (const request of server.asked.slice()) request.answer();
    await until(() => depths(server)[0] > 2);
    assert.equal(hotline.stats()[server.origin].trust, 'proven');
    server.answerAlways();
    assert.deepEqual(await Promise.all(answers), numbered(20));
  });
});

describe('an origin that has shown that it pipelines', () => {
  it('gets as many at once as maxDepth says, and no more', async () => {
    await using server = await RawServer.listen();
    await using hotline = open(server.origin, { connections: 1, maxDepth: 5, ...server.proven(16) });
    const answers = numbered(12).map(path => get(hotline, path));
    await server.came(5);
    await aWhile();
    assert.deepEqual(depths(server), [5]);
    server.answerAlways();
    await Promise.all(answers);
    assert.deepEqual(depths(server), [5]);
  });

  it('is never sent a second request before the response to the first when maxDepth is 1', async () => {
    await using server = await RawServer.listen(request => request.answer());
    const options = { connections: 2, maxDepth: 1, ...server.proven(16) };
    await using hotline = open(server.origin, options);
    assert.deepEqual(await Promise.all(numbered(40).map(path => get(hotline, path))), numbered(40));
    assert.deepEqual([...new Set(depths(server))], [1]);
  });

  it('gets the requests of one moment in one segment', async () => {
    await using server = await RawServer.listen(request => request.answer());
    await using hotline = open(server.origin, { connections: 1, ...server.proven() });
    await get(hotline, '/first');
    await Promise.all(numbered(6).map(path => get(hotline, path)));
    const segments = server.of(...numbered(6)).map(({ segment }) => segment);
    assert.equal(new Set(segments).size, 1, String(segments));
  });

  it('gets them by one write, also where the first of them could go alone', async () => {
    await using server = await RawServer.listen(request => request.answer());
    const writes: number[] = [];
    const connector = buildConnector({});
    await using hotline = open(server.origin, {
      connections: 1,
      ...server.proven(),
      connect: (options, callback) =>
        connector(options, (...[error, socket]) => {
          const { _write, _writev } = socket!;
          Object.assign(socket!, {
            _write(...args: Parameters<typeof _write>) {
              writes.push(1);
              _write.apply(this as never, args);
            },
            _writev(...args: Parameters<NonNullable<typeof _writev>>) {
              writes.push(args[0].length);
              _writev!.apply(this as never, args);
            },
          });
          (callback as (...args: unknown[]) => void)(error, socket);
        }),
    });
    await get(hotline, '/first');
    writes.length = 0;
    await Promise.all(numbered(6).map(path => get(hotline, path)));
    assert.deepEqual(writes, [6]);
  });

  it('gets the next request as soon as there is a place in the pipeline', async () => {
    await using server = await RawServer.listen();
    await using hotline = open(server.origin, { connections: 1, maxDepth: 3, ...server.proven() });
    const answers = numbered(5).map(path => get(hotline, path));
    await server.came(3);
    server.asked[0].answer();
    await server.came(4);
    assert.equal(server.asked[3].outstanding, 2);
    server.answerAlways();
    await Promise.all(answers);
  });

  it('gets those that wait in the order of their priorities, and of equals the oldest first', async () => {
    await using server = await RawServer.listen();
    await using hotline = open(server.origin, { connections: 1, maxDepth: 1 });
    const answers = [get(hotline, '/first')];
    await server.came(1);
    for (const [path, priority] of [
      ['/low', -3],
      ['/a', 0],
      ['/high', 5],
      ['/b', 0],
      ['/higher', 9],
    ] as const) {
      answers.push(get(hotline, path, { priority }));
    }
    server.answerAlways();
    await Promise.all(answers);
    assert.deepEqual(paths(server.asked), ['/first', '/higher', '/high', '/a', '/b', '/low']);
  });
});

describe('a request that must be alone on its connection', () => {
  const kinds: [string, Partial<RequestOptions>][] = [
    ['a POST', { method: 'POST', body: 'text' }],
    ['a PATCH without body', { method: 'PATCH' }],
    ['one that says solo', { method: 'GET', solo: true }],
    ['one that says reset', { method: 'GET', reset: true }],
    ['one that says that it is not idempotent', { method: 'GET', idempotent: false }],
    ['a PUT whose body is a stream', { method: 'PUT', body: Readable.from(['a', 'b']) }],
    ['a GET with a body', { method: 'GET', body: 'text' }],
  ];
  for (const [what, options] of kinds) {
    it(`has nothing before it and nothing behind: ${what}`, async () => {
      await using server = await RawServer.listen();
      await using hotline = open(server.origin, { connections: 1, ...server.proven() });
      const answers = [get(hotline, '/a'), get(hotline, '/b'), get(hotline, '/alone', options)];
      await server.came(2);
      answers.push(get(hotline, '/c'), get(hotline, '/d'));
      await aWhile();
      assert.equal(server.of('/alone').length, 0, 'sent behind others');
      for (const request of server.of('/a', '/b')) request.answer();
      // Those that came later may go first, or after it.
      await until(() => server.asked.length > 2);
      server.onRequest = request => {
        if (request.path !== '/alone') request.answer();
      };
      for (const request of server.of('/c', '/d')) request.answer();
      await until(() => server.of('/alone').length === 1);
      await aWhile();
      const [alone] = server.of('/alone');
      assert.equal(alone.outstanding, 0);
      assert.equal(alone.connection.asked.at(-1), alone, 'something was sent behind it');
      server.answerAlways();
      assert.deepEqual(await Promise.all(answers), ['/a', '/b', '/alone', '/c', '/d']);
      assert.equal(server.of('/alone').length, 1);
    });
  }

  it('is not held up on one connection while another has nothing to do', async () => {
    await using server = await RawServer.listen();
    await using hotline = open(server.origin, { connections: 2, ...server.proven() });
    const reads = numbered(20).map(path => get(hotline, path));
    await until(() => server.wires.length === 2 && server.wires.every(({ asked }) => asked.length > 2));
    const post = get(hotline, '/post', { method: 'POST', body: 'x' });
    const one = server.wires[0];
    server.onRequest = ({ method, connection, answer }) => {
      if (method === 'GET' && connection === one) answer();
    };
    for (const request of [...one.waiting]) request.answer();
    await until(() => server.of('/post').length === 1);
    assert.equal(server.of('/post')[0].outstanding, 0);
    server.answerAlways();
    await Promise.all([...reads, post]);
  });

  it('has followers from its status on when it says blocking', async () => {
    await using server = await RawServer.listen();
    await using hotline = open(server.origin, { connections: 1, ...server.proven() });
    const answers = [get(hotline, '/blocking', { blocking: true }), get(hotline, '/behind')];
    await server.came(1);
    await aWhile();
    assert.equal(server.asked.length, 1);
    server.asked[0].send(head(['Content-Length: 9']));
    await server.came(2);
    assert.equal(server.asked[1].outstanding, 1);
    server.asked[0].send('/blocking');
    server.asked[0].done();
    server.answerAlways();
    assert.deepEqual(await Promise.all(answers), ['/blocking', '/behind']);
  });

  it('may be an upgrade, whose socket is its own from then on', async () => {
    await using server = await RawServer.listen();
    await using hotline = open(server.origin, { connections: 2, ...server.proven() });
    const reads = [get(hotline, '/a'), get(hotline, '/b')];
    await server.came(2);
    const upgraded = hotline.upgrade({ path: '/upgrade', protocol: 'words' });
    await until(() => server.of('/upgrade').length === 1);
    const [asked] = server.of('/upgrade');
    assert.equal(asked.outstanding, 0);
    server.onRequest = request => request.answer();
    for (const request of server.of('/a', '/b')) request.answer();
    await Promise.all(reads);
    reads.push(get(hotline, '/c'));
    asked.connection.socket.write(head(['Connection: upgrade', 'Upgrade: words'], '101 Switching Protocols'));
    const { socket } = await upgraded;
    asked.connection.socket.write('hello');
    assert.equal(String((await socket[Symbol.asyncIterator]().next()).value), 'hello');
    assert.equal(await reads[2], '/c');
    assert.equal(asked.connection.asked.at(-1), asked);
    socket.destroy();
  });

  it('may be a CONNECT, whose socket is its own from then on', async () => {
    await using server = await RawServer.listen();
    await using hotline = open(server.origin, { connections: 1 });
    const tunnel = hotline.connect({ origin: server.origin, path: 'example.com:443' });
    await server.came(1);
    assert.equal(server.asked[0].method, 'CONNECT');
    server.asked[0].connection.socket.write('HTTP/1.1 200 OK\r\n\r\n');
    const { socket, statusCode } = await tunnel;
    assert.equal(statusCode, 200);
    server.answerAlways();
    assert.equal(await get(hotline, '/after'), '/after');
    assert.equal(server.wires.length, 2);
    socket.destroy();
  });
});

describe('who takes what waits', () => {
  it('is whichever connection is free first: one that is still coming up is bound to nothing', async () => {
    await using server = await RawServer.listen();
    const connectors: (() => void)[] = [];
    const connector = buildConnector({});
    await using hotline = open(server.origin, {
      connections: 2,
      maxDepth: 1,
      connect: (options, callback) => void connectors.push(() => connector(options, callback)),
    });
    const answers = [get(hotline, '/a'), get(hotline, '/b')];
    await until(() => connectors.length === 2);
    connectors[1]();
    await server.came(1);
    server.asked[0].answer();
    await server.came(2);
    assert.equal(server.asked[1].connection, server.asked[0].connection);
    server.asked[1].answer();
    assert.deepEqual(await Promise.all(answers), ['/a', '/b']);
    connectors[0]();
    await until(() => server.wires.length === 2);
  });

  it('is never one on which a large response is coming: by its content-length', async () => {
    await using server = await RawServer.listen();
    await using hotline = open(server.origin, { connections: 2, ...server.proven() });
    const large = watch(hotline, '/large');
    const [asked] = await server.came(1);
    asked.send(head([`Content-Length: ${10_000_000}`]));
    await until(() => large.events.includes('status 200'));
    const small = get(hotline, '/small');
    await server.came(2);
    assert.notEqual(server.asked[1].connection, asked.connection);
    server.asked[1].answer();
    assert.equal(await small, '/small');
    asked.send(Buffer.alloc(10_000_000));
    asked.done();
    await large.done;
    assert.equal(large.body.length, 10_000_000);
  });

  it('is never one on which a large response is coming: by what has come of a chunked one', async () => {
    await using server = await RawServer.listen();
    await using hotline = open(server.origin, { connections: 2, ...server.proven() });
    const large = watch(hotline, '/large');
    const [asked] = await server.came(1);
    const chunk = Buffer.alloc(1_000_000);
    asked.send(head(['Transfer-Encoding: chunked']));
    asked.send(`${chunk.length.toString(16)}\r\n`);
    asked.send(chunk);
    await until(() => large.body.length === chunk.length);
    const small = get(hotline, '/small');
    await server.came(2);
    assert.notEqual(server.asked[1].connection, asked.connection);
    server.asked[1].answer();
    assert.equal(await small, '/small');
    asked.send('\r\n0\r\n\r\n');
    asked.done();
    await large.done;
  });

  it('is another connection, made for it, where the only one waits for a slow response', async () => {
    await using server = await RawServer.listen(request => {
      if (request.path !== '/slow') request.answer();
    });
    await using hotline = open(server.origin, server.proven());
    for (const path of numbered(30)) await get(hotline, path);
    const slow = get(hotline, '/slow');
    await until(() => server.of('/slow').length === 1);
    await aWhile();
    assert.equal(await get(hotline, '/quick'), '/quick');
    server.answerAll();
    await slow;
  });

  it('is another connection, made for it, where a reader has stopped reading on the only one', async () => {
    await using server = await RawServer.listen(request =>
      request.answer(request.path === '/large' ? Buffer.alloc(3_000_000) : request.path),
    );
    await using hotline = open(server.origin, server.proven());
    for (const path of numbered(5)) await get(hotline, path);
    const large = await hotline.request({ method: 'GET', path: '/large' });
    assert.equal(await get(hotline, '/small'), '/small');
    assert.equal((await large.body.bytes()).length, 3_000_000);
  });

  it('are more connections where responses are slow', async () => {
    const timers = new Set<NodeJS.Timeout>();
    await using server = await RawServer.listen(request => {
      timers.add(setTimeout(() => request.answer(), 40));
    });
    await using hotline = open(server.origin, { connections: 32, ...server.proven() });
    for (let round = 0; round < 3; round++) await Promise.all(numbered(32).map(path => get(hotline, path)));
    assert.ok(server.wires.length > 4, String(server.wires.length));
    for (const timer of timers) clearTimeout(timer);
  });

  it('are more connections once the origin is known, also where each takes one request at a time', async () => {
    const timers = new Set<NodeJS.Timeout>();
    await using server = await RawServer.listen(request => {
      timers.add(setTimeout(() => request.answer(), 40));
    });
    await using hotline = open(server.origin, { connections: 32, maxDepth: 1 });
    await Promise.all(numbered(128).map(path => get(hotline, path)));
    assert.ok(server.wires.length > 6, String(server.wires.length));
    for (const timer of timers) clearTimeout(timer);
  });

  it('is one connection, deeper, where responses are quick', async () => {
    await using server = await RawServer.listen(request => request.answer());
    await using hotline = open(server.origin, { connections: 32, ...server.proven() });
    for (const path of numbered(20)) await get(hotline, path);
    await Promise.all(numbered(8).map(path => get(hotline, path)));
    assert.equal(server.wires.length, 1);
    assert.deepEqual(new Set(server.asked.slice(20).map(({ segment }) => segment)).size, 1);
  });
});

describe('what is refused', () => {
  it('is a request that is none, and those around it are answered', async () => {
    await using server = await RawServer.listen(request => request.answer());
    await using hotline = open(server.origin, { connections: 1, ...server.proven() });
    const [before, wrong, behind] = [
      get(hotline, '/before'),
      failure(get(hotline, '/wrong', { headers: { 'not a name': 'x' } })),
      get(hotline, '/behind'),
    ];
    assert.equal((await wrong).code, 'UND_ERR_INVALID_ARG');
    assert.deepEqual([await before, await behind], ['/before', '/behind']);
    assert.equal(server.wires.length, 1);
  });
});
