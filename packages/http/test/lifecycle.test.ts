import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { type EventEmitter, once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from 'node:net';
import { describe, it } from 'node:test';
import { promisify } from 'node:util';
import { type ConnectionMessage, Hotline, type RetryMessage } from '@hotlane/http';
import { buildConnector } from 'undici';
import { failure, get, open, watch } from './kit/ask.ts';
import { leavesNothingBehind } from './kit/leftovers.ts';
import { aWhile, RawServer, until } from './kit/raw-server.ts';

leavesNothingBehind();

const numbered = (count: number) => Array.from({ length: count }, (_, i) => `/${i}`);

/** Where nobody listens. */
async function nowhere(): Promise<string> {
  const server = createTcpServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return `http://127.0.0.1:${port}`;
}

describe('close()', () => {
  it('lets what was sent and what waits be answered, then ends all connections', async () => {
    await using server = await RawServer.listen();
    const hotline = open(server.origin, { connections: 1, maxDepth: 2, ...server.proven() });
    const answers = numbered(6).map(path => get(hotline, path));
    await server.came(2);
    const closed = hotline.close();
    assert.equal(hotline.closed, true);
    assert.equal(hotline.destroyed, false);
    server.answerAlways();
    assert.deepEqual(await Promise.all(answers), numbered(6));
    await closed;
    await until(() => server.wires.every(wire => wire.closed));
  });

  it('can be called twice, before and after it is done, with callbacks and without', async () => {
    await using server = await RawServer.listen(request => request.answer());
    const hotline = open(server.origin);
    await get(hotline, '/');
    const called = new Promise<void>(resolve => hotline.close(resolve));
    await Promise.all([called, hotline.close()]);
    await hotline.close();
  });

  it('refuses what is asked later', async () => {
    const hotline = new Hotline('http://localhost');
    const closed = hotline.close();
    assert.equal((await failure(get(hotline, '/'))).code, 'UND_ERR_CLOSED');
    await closed;
    assert.equal((await failure(get(hotline, '/'))).code, 'UND_ERR_CLOSED');
  });

  it('is what `await using` does', async () => {
    await using server = await RawServer.listen(request => request.answer());
    const used: Hotline[] = [];
    {
      await using hotline = new Hotline(server.origin);
      used.push(hotline);
      await get(hotline, '/');
    }
    assert.equal(used[0].closed, true);
    await until(() => server.wires[0].closed);
  });

  it('waits for a reader that pauses, and for the retry of what is lost meanwhile', async () => {
    await using server = await RawServer.listen();
    const hotline = open(server.origin, { connections: 1, ...server.proven() });
    const first = watch(hotline, '/first', {}, (event, { controller }) => {
      if (event === 'data') controller.pause();
    });
    const second = get(hotline, '/second');
    await server.came(2);
    const closed = hotline.close();
    server.asked[0].answer();
    await until(() => first.events.includes('data'));
    server.onRequest = request => request.answer();
    server.wires[0].socket.destroy();
    assert.equal(await second, '/second');
    first.controller.resume();
    await closed;
    assert.equal(first.events.at(-1), 'end');
  });
});

describe('destroy()', () => {
  it('fails at once all that waits and all that is on its way', async () => {
    await using server = await RawServer.listen();
    const hotline = open(server.origin, { connections: 1, maxDepth: 2, ...server.proven() });
    const failures = numbered(6).map(path => failure(get(hotline, path)));
    await server.came(2);
    const error = new Error('that is that');
    await hotline.destroy(error);
    for (const each of await Promise.all(failures)) assert.equal(each, error);
    await until(() => server.wires.every(wire => wire.closed));
    assert.equal(server.asked.length, 2);
  });

  it('has an error of its own, can be called twice, with callbacks and without', async () => {
    await using server = await RawServer.listen();
    const hotline = open(server.origin);
    const failed = failure(get(hotline, '/'));
    await server.came(1);
    const called = new Promise<void>(resolve => hotline.destroy(resolve));
    const again = new Promise<void>(resolve => hotline.destroy(null, resolve));
    await Promise.all([called, again, hotline.destroy()]);
    assert.equal((await failed).code, 'UND_ERR_DESTROYED');
    assert.equal((await failure(hotline.close())).code, 'UND_ERR_DESTROYED');
  });

  it('ends a close() that waits', async () => {
    await using server = await RawServer.listen();
    const hotline = open(server.origin);
    const failed = failure(get(hotline, '/'));
    await server.came(1);
    const closed = hotline.close();
    await hotline.destroy();
    await Promise.all([closed, failed]);
  });

  it('refuses what is asked later, also by those who have just heard of it', async () => {
    await using server = await RawServer.listen();
    const hotline = open(server.origin);
    const later: ReturnType<typeof watch>[] = [];
    watch(hotline, '/first', {}, event => {
      if (event.startsWith('error')) later.push(watch(hotline, '/later'));
    });
    await server.came(1);
    await hotline.destroy();
    assert.equal(later[0].error?.code, 'UND_ERR_DESTROYED');
    assert.equal((await failure(get(hotline, '/'))).code, 'UND_ERR_DESTROYED');
  });

  it('does not wait for connections that are never made', async () => {
    const hotline = open('http://localhost', { connect: () => {} });
    const failed = failure(get(hotline, '/'));
    await aWhile();
    await hotline.destroy();
    assert.equal((await failed).code, 'UND_ERR_DESTROYED');
  });

  it('tells everybody, though one handler throws', async t => {
    await using server = await RawServer.listen();
    const hotline = open(server.origin, { connections: 1, ...server.proven() });
    // It ends the process, but for this one.
    const thrown = new Promise<Error>(resolve => process.setUncaughtExceptionCaptureCallback(resolve));
    t.after(() => process.setUncaughtExceptionCaptureCallback(null));
    const all = numbered(4).map(path =>
      watch(hotline, path, {}, event => {
        if (event.startsWith('error') && path === '/1') throw new Error('from a handler');
      }),
    );
    await server.came(4);
    await hotline.destroy(new Error('over'));
    for (const each of all) assert.equal(each.error?.message, 'over');
    assert.equal((await thrown).message, 'from a handler');
  });
});

describe('a queue that is limited', () => {
  it('refuses what is too much, and tells when there is room', async () => {
    await using server = await RawServer.listen();
    await using hotline = open(server.origin, { connections: 1, maxDepth: 1, maxQueue: 2 });
    const drained = once(hotline, 'drain');
    const first = watch(hotline, '/first');
    await server.came(1);
    const waiting = [watch(hotline, '/a'), watch(hotline, '/b')];
    const tooMuch = watch(hotline, '/c');
    assert.equal(tooMuch.error?.code, 'ERR_HOTLANE_QUEUE_FULL');
    assert.deepEqual(
      [...waiting, tooMuch].map(({ goOn }) => goOn),
      [false, false, false],
    );
    server.answerAlways();
    const [origin, dispatchers] = await drained;
    assert.deepEqual([origin.origin, dispatchers], [server.origin, [hotline]]);
    await Promise.all([first, ...waiting].map(({ done }) => done));
    assert.equal(watch(hotline, '/last').goOn, true);
    await server.came(4);
    assert.equal(server.of('/c').length, 0);
  });

  it('tells of room also when all that waited was aborted, or failed', async () => {
    const origin = await nowhere();
    await using refused = open(origin);
    const drained = once(refused, 'drain');
    assert.equal(watch(refused, '/').goOn, false);
    await drained;

    await using never = open(origin, { connect: () => {} });
    const drainedToo = once(never, 'drain');
    watch(never, '/').controller.abort(new Error('enough'));
    await drainedToo;
  });

  for (const maxQueue of [0, -1, 1.5, Number.NaN, '3']) {
    it(`has a length from 1 on: not ${maxQueue}`, () => {
      assert.throws(() => new Hotline({ maxQueue: maxQueue as number }), { code: 'ERR_HOTLANE_OPTION' });
    });
  }
});

describe('a connection that cannot be made', () => {
  it('fails all that waits with the error of the system, and another is tried for what is asked later', async () => {
    const origin = await nowhere();
    await using hotline = open(origin);
    const errors: unknown[] = [];
    hotline.on('connectionError', (url, dispatchers, error) =>
      errors.push([url.origin, dispatchers, error.code]),
    );
    const failures = await Promise.all(numbered(5).map(path => failure(get(hotline, path))));
    assert.deepEqual([...new Set(failures.map(({ code }) => code))], ['ECONNREFUSED']);
    assert.deepEqual(errors[0], [origin, [hotline], 'ECONNREFUSED']);
    const server = createServer((_request, response) => response.end('back'));
    server.listen(Number(new URL(origin).port), '127.0.0.1');
    await once(server, 'listening');
    assert.equal(await get(hotline, '/'), 'back');
    await hotline.close();
    server.close();
    await once(server, 'close');
  });

  it('because it takes too long fails what waits', async () => {
    const connector = { timeout: 50, lookup: () => {} };
    await using hotline = open('http://never.test', { connect: connector });
    assert.equal((await failure(get(hotline, '/'))).code, 'UND_ERR_CONNECT_TIMEOUT');
  });

  it('because `connect` throws fails what waits with what it has thrown', async () => {
    const error = new Error('no way');
    const options = {
      connect() {
        throw error;
      },
    };
    await using hotline = open('http://localhost', options);
    assert.equal(await failure(get(hotline, '/')), error);
  });

  it('because `connect` gives nothing fails what waits', async () => {
    await using hotline = open('http://localhost', {
      connect: (_options, callback) => callback(null, null as never),
    });
    assert.match((await failure(get(hotline, '/'))).message, /neither an error nor a socket/);
  });

  it('because `connect` calls back twice is the second one only', async () => {
    await using server = await RawServer.listen(request => request.answer());
    const sockets: Socket[] = [];
    await using hotline = open(server.origin, {
      connections: 1,
      connect(_options, callback) {
        const { port } = new URL(server.origin);
        for (let i = 0; i < 2; i++) {
          const socket = connect(Number(port), '127.0.0.1', () => callback(null, socket));
          sockets.push(socket);
        }
      },
    });
    assert.equal(await get(hotline, '/'), '/');
    await until(() => sockets[1].destroyed);
    assert.equal(sockets[0].destroyed, false);
    assert.equal(await get(hotline, '/'), '/');
  });

  it('can be waited for no longer', async () => {
    await using hotline = open('http://localhost', { connect: () => {} });
    const error = await failure(get(hotline, '/', { signal: AbortSignal.timeout(20) }));
    assert.equal(error.name, 'TimeoutError');
    await hotline.close();
  });
});

describe('idle connections', () => {
  it('are ended after keepAliveTimeout, also those that never had a request', async () => {
    await using server = await RawServer.listen(request => request.answer());
    let made = 0;
    const connector = buildConnector({});
    await using hotline = open(server.origin, {
      keepAliveTimeout: 50,
      connections: 2,
      maxDepth: 1,
      connect(options, callback) {
        // The second comes up when there is nothing left to do.
        if (++made === 1) connector(options, callback);
        else setTimeout(() => connector(options, callback), 50);
      },
    });
    await Promise.all([get(hotline, '/a'), get(hotline, '/b')]);
    await until(() => server.wires.length === 2);
    await until(() => server.wires.every(({ closed }) => closed));
    await until(() => Object.keys(hotline.stats()).length === 0);
  });

  it('of many origins go, and nothing is left of them', async () => {
    const server = createServer((_request, response) => response.end('x')).listen(0, '0.0.0.0');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    await using hotline = open(`http://127.0.0.1:${port}`, { keepAliveTimeout: 30, keepAliveMaxTimeout: 30 });
    const origins = Array.from({ length: 100 }, (_, i) => `http://127.0.1.${i}:${port}`);
    for (let round = 0; round < 3; round++) {
      await Promise.all(origins.map(origin => get(hotline, '/', { origin })));
      await until(() => Object.keys(hotline.stats()).length === 0);
    }
    server.close();
    await once(server, 'close');
  });

  it('of origins that were never reached are forgotten too', async () => {
    const origin = await nowhere();
    await using hotline = open(origin);
    await failure(get(hotline, '/'));
    await until(() => Object.keys(hotline.stats()).length === 0);
  });

  it('that went before their last response was read leave nothing either', async () => {
    await using server = await RawServer.listen();
    await using hotline = open(server.origin, { connections: 1, ...server.proven() });
    const read = watch(hotline, '/first', {}, (event, { controller }) => {
      if (event === 'data') controller.pause();
    });
    const last = get(hotline, '/last');
    await server.came(2);
    server.asked[0].answer();
    server.asked[1].answer('', ['Connection: close']);
    await last;
    await until(() => hotline.stats()[server.origin].connections.length === 0);
    read.controller.resume();
    await read.done;
    assert.deepEqual(hotline.stats(), {});
  });

  it('leave no listeners on the bodies that were sent, but for the one of undici', async () => {
    await using server = await RawServer.listen(request => request.answer());
    await using hotline = open(server.origin);
    const { Readable } = await import('node:stream');
    const body = Readable.from(['a', 'b']);
    await get(hotline, '/', { method: 'POST', body });
    await until(() => body.listenerCount('error') <= 1);
    assert.deepEqual(body.eventNames(), ['error']);
  });
});

describe('the process', () => {
  const run = promisify(execFile);
  /** @returns what a program says that has a Hotline and a server in another process */
  async function program(origin: string, code: string, connect = 'connector'): Promise<string> {
    const text = `import { Hotline } from '@hotlane/http';
      import { buildConnector } from 'undici';
      const connector = buildConnector({});
      let made = 0;
      const options = { keepAliveTimeout: 60_000, maxDepth: 1, connections: 2, connect: ${connect} };
      const hotline = new Hotline(${JSON.stringify(origin)}, options);
      const get = async path => (await hotline.request({ method: 'GET', path })).body.text();
      process.on('exit', () => console.log('exit'));
      ${code}`;
    const flags = ['--conditions=hotlane-source', '--input-type=module', '-e', text];
    const { stdout } = await run(process.execPath, flags, { cwd: import.meta.dirname, timeout: 20_000 });
    return stdout.trim().replaceAll('\n', ' ');
  }

  it('ends while connections are idle', async () => {
    await using server = await RawServer.listen(request => request.answer());
    const said = await program(
      server.origin,
      `console.log(await get('/a')); await Promise.all([get('/b'), get('/c')]); console.log('done')`,
    );
    assert.equal(said, '/a done exit');
  });

  it('ends while there are connections that never had a request', async () => {
    await using server = await RawServer.listen(request => request.answer());
    const said = await program(
      server.origin,
      `await Promise.all([get('/a'), get('/b')]);
       const { connections } = Object.values(hotline.stats())[0];
       console.log(connections.map(({ state }) => state).join());
       setTimeout(() => {}, 200)`,
      '(...args) => setTimeout(() => connector(...args), made++ * 50)',
    );
    assert.equal(said, 'up,starting exit');
    assert.equal(server.wires.length, 2);
  });

  it('lives while a request waits for a connection, though nothing else keeps it', async () => {
    await using server = await RawServer.listen(request => request.answer());
    const said = await program(
      server.origin,
      `void get('/a').then(console.log)`,
      '(...args) => setTimeout(() => connector(...args), 100).unref()',
    );
    assert.equal(said, '/a exit');
  });

  it('lives while a request is on its way, or waits', async () => {
    await using server = await RawServer.listen(request => {
      setTimeout(() => request.answer(), 150);
    });
    const said = await program(
      server.origin,
      `void get('/a').then(console.log); void get('/b').then(console.log)`,
    );
    assert.match(said, /^\/[ab] \/[ab] exit$/);
  });

  it('ends when what was on its way was aborted', async () => {
    await using server = await RawServer.listen();
    const said = await program(
      server.origin,
      `const signal = AbortSignal.timeout(100);
       setTimeout(() => {}, 150);
       await hotline.request({ method: 'GET', path: '/', signal }).catch(error => console.log(error.name))`,
    );
    assert.equal(said, 'TimeoutError exit');
  });
});

describe('those who look on', () => {
  it('are told of connections, by events and by a diagnostics channel', async () => {
    const messages: ConnectionMessage[] = [];
    const listen = (message: unknown) => void messages.push(message as ConnectionMessage);
    subscribe('hotlane:http:connection', listen);
    await using server = await RawServer.listen(request => request.answer());
    const hotline = open(server.origin, { connections: 1 });
    const events: string[] = [];
    for (const name of ['connect', 'disconnect']) {
      (hotline as EventEmitter).on(name, (origin: URL, dispatchers: unknown[]) => {
        assert.deepEqual([origin.origin, dispatchers], [server.origin, [hotline]]);
        events.push(name);
      });
    }
    await get(hotline, '/a');
    await get(hotline, '/b');
    await hotline.close();
    unsubscribe('hotlane:http:connection', listen);
    assert.deepEqual(events, ['connect', 'disconnect']);
    const own = messages.filter(({ origin }) => origin === server.origin);
    assert.deepEqual(
      own.map(({ connection, state, responses, cause }) => [connection, state, responses, cause]),
      [
        [1, 'starting', 0, undefined],
        [1, 'up', 0, undefined],
        [1, 'ended', 2, undefined],
      ],
    );
  });

  it('are told of what is sent again', async () => {
    const messages: RetryMessage[] = [];
    const listen = (message: unknown) => void messages.push(message as RetryMessage);
    subscribe('hotlane:http:retry', listen);
    await using server = await RawServer.listen();
    await using hotline = open(server.origin, { connections: 1, ...server.proven() });
    const answers = numbered(2).map(path => get(hotline, path));
    await server.came(2);
    server.onRequest = request => request.answer();
    server.wires[0].socket.destroy();
    await Promise.all(answers);
    unsubscribe('hotlane:http:retry', listen);
    assert.deepEqual(messages.map(({ method, path }) => `${method} ${path}`).sort(), ['GET /0', 'GET /1']);
    assert.ok(messages.every(({ cause }) => cause instanceof Error));
  });

  it('see in stats() what there is', async () => {
    await using server = await RawServer.listen();
    await using hotline = open(server.origin, { connections: 1, maxDepth: 2, ...server.proven() });
    const answers = numbered(5).map(path => get(hotline, path));
    await server.came(2);
    const { connections, queued, running, done, failed, trust } = hotline.stats()[server.origin];
    assert.deepEqual(
      { connections, queued, running, done, failed, trust },
      {
        connections: [{ id: 1, state: 'up', protocol: 'h1', outstanding: 2, depth: 2 }],
        queued: 3,
        running: 2,
        done: 0,
        failed: 0,
        trust: 'proven',
      },
    );
    server.answerAlways();
    await Promise.all(answers);
    const after = hotline.stats()[server.origin];
    assert.deepEqual([after.queued, after.running, after.done], [0, 0, 5]);
    assert.ok(after.rttMs > 0);
  });
});
