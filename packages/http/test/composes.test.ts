import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import {
  constants,
  createSecureServer,
  type Http2SecureServer,
  type Http2ServerResponse,
  type ServerHttp2Session,
} from 'node:http2';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, connect as connectTo, type LookupFunction, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { TLSSocket } from 'node:tls';
import { gzipSync } from 'node:zlib';
import { Hotline } from '@hotlane/http';
import { type Dispatcher, interceptors, ProxyAgent } from 'undici';
import { failure, get, open, watch } from './kit/ask.ts';
import { leavesNothingBehind } from './kit/leftovers.ts';
import { RawServer, until } from './kit/raw-server.ts';

leavesNothingBehind();

let folder = '';
let tls: { key: Buffer; cert: Buffer };

before(() => {
  folder = mkdtempSync(join(tmpdir(), 'hotline-'));
  const [key, cert] = [join(folder, 'key'), join(folder, 'cert')];
  const names = 'subjectAltName=DNS:one.test,DNS:two.test,IP:127.0.0.1';
  const what = ['-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=one.test'];
  const args = ['req', ...what, '-addext', names, '-keyout', key, '-out', cert];
  execFileSync('openssl', args, { stdio: 'ignore' });
  tls = { key: readFileSync(key), cert: readFileSync(cert) };
});
after(() => rmSync(folder, { recursive: true }));

type AnyServer = Server | Http2SecureServer;

/** Listens while its test runs. */
async function listen<S extends AnyServer>(server: S, at: string | number = 0) {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  if (typeof at === 'string') server.listen(at);
  else server.listen(at, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    server,
    port,
    sockets,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

const echo: RequestListener = (request, response) => {
  const parts: Buffer[] = [];
  request.on('data', part => parts.push(part));
  request.on('end', () => response.end(`${request.method} ${request.url} ${Buffer.concat(parts)}`));
};

const numbered = (count: number) => Array.from({ length: count }, (_, i) => `/${i}`);
const asEchoed = (paths: string[]) => paths.map(path => `GET ${path} `);

describe('over TLS', () => {
  it('requests are pipelined as they are without', async () => {
    const depths: number[] = [];
    await using at = await listen(createTlsServer(tls, echo));
    at.server.on('secureConnection', (socket: Socket) =>
      socket.on('data', (part: Buffer) => depths.push(String(part).split('HTTP/1.1').length - 1)),
    );
    const origin = `https://127.0.0.1:${at.port}`;
    const trust = { state: 'proven', depth: 8, strikes: 0, brokenUntil: 0, closesAfter: 0 } as const;
    await using hotline = open(origin, {
      connections: 1,
      connect: { ca: tls.cert },
      trust: { [origin]: trust },
    });
    await get(hotline, '/first');
    assert.deepEqual(await Promise.all(numbered(8).map(path => get(hotline, path))), asEchoed(numbered(8)));
    assert.ok(Math.max(...depths) > 1, String(depths));
  });

  it('a certificate that nobody vouches for fails what waits, with the reason', async () => {
    await using at = await listen(createTlsServer(tls, echo));
    await using hotline = open(`https://127.0.0.1:${at.port}`);
    assert.equal((await failure(get(hotline, '/'))).code, 'DEPTH_ZERO_SELF_SIGNED_CERT');
  });

  it('each name that is asked for has connections of its own', async () => {
    const names: unknown[] = [];
    await using at = await listen(
      createTlsServer(tls, (request, response) => {
        names.push([request.headers.host, (request.socket as TLSSocket & { servername: string }).servername]);
        response.end();
      }),
    );
    const origin = `https://127.0.0.1:${at.port}`;
    await using hotline = open(origin, { connect: { ca: tls.cert } });
    await get(hotline, '/', { headers: { host: 'one.test' } });
    await get(hotline, '/', { headers: ['Host', 'two.test'] });
    await get(hotline, '/', { headers: new Map([['HOST', 'one.test:443']]) as never });
    await get(hotline, '/', { servername: 'two.test' } as never);
    assert.deepEqual(names, [
      ['one.test', 'one.test'],
      ['two.test', 'two.test'],
      ['one.test:443', 'one.test'],
      [`127.0.0.1:${at.port}`, 'two.test'],
    ]);
    assert.equal(at.sockets.size, 2);
    const wrong = await failure(get(hotline, '/', { headers: { host: 'three.test' } }));
    assert.equal(wrong.code, 'ERR_TLS_CERT_ALTNAME_INVALID');
  });

  it('requests that name the host of their origin share connections with those that do not', async () => {
    let connections = 0;
    await using at = await listen(createTlsServer(tls, echo));
    at.server.on('secureConnection', () => connections++);
    const lookup: LookupFunction = (_name, _options, done) =>
      done(null, [{ address: '127.0.0.1', family: 4 }]);
    const connect = { ca: tls.cert, lookup };
    await using hotline = open(`https://one.test:${at.port}`, { connect });
    await get(hotline, '/');
    await get(hotline, '/', { headers: { host: 'one.test' } });
    await get(hotline, '/', { servername: 'one.test' } as never);
    await get(hotline, '/');
    assert.equal(connections, 1);
  });
});

describe('over HTTP/2, where the server speaks it', () => {
  async function serve(listener: RequestListener = echo) {
    const sessions: ServerHttp2Session[] = [];
    const server = createSecureServer({ ...tls, allowHTTP1: true }, listener as never);
    // Of two protocols the client offers HTTP/1.1 first, unless it is offered no other.
    server.on('session', session => sessions.push(session));
    const at = await listen(server);
    return Object.assign(at, { origin: `https://127.0.0.1:${at.port}`, sessions });
  }
  const connect = () => ({ ca: tls.cert, preferH2: true }) as never;

  it('requests share one connection, those with bodies too', async () => {
    await using at = await serve();
    await using hotline = open(at.origin, { connect: connect() });
    await get(hotline, '/first');
    assert.equal(hotline.stats()[at.origin].connections[0].protocol, 'h2');
    const reads = numbered(20).map(path => get(hotline, path));
    const posts = numbered(20).map(path => get(hotline, path, { method: 'POST', body: 'text' }));
    assert.deepEqual(await Promise.all(reads), asEchoed(numbered(20)));
    assert.deepEqual(
      await Promise.all(posts),
      numbered(20).map(path => `POST ${path} text`),
    );
    assert.equal(at.sessions.length, 1);
  });

  it('a connection is enough for many requests that may not run twice', async () => {
    const timers = new Set<NodeJS.Timeout>();
    await using at = await serve((request, response) => {
      request.resume();
      timers.add(setTimeout(() => response.end(request.url), 40));
    });
    await using hotline = open(at.origin, { connect: connect() });
    await get(hotline, '/first');
    const posts = numbered(20).map(path => get(hotline, path, { method: 'POST', body: 'text' }));
    assert.deepEqual(await Promise.all(posts), numbered(20));
    assert.ok(at.sessions.length <= 2, String(at.sessions.length));
    for (const timer of timers) clearTimeout(timer);
  });

  it('an abort ends its own stream, and no other', async () => {
    let ended = 0;
    await using at = await serve((request, response) => {
      if (request.url !== '/slow') return void response.end(request.url);
      response.on('close', () => ended++);
      response.write('some');
    });
    await using hotline = open(at.origin, { connect: connect() });
    const slow = watch(hotline, '/slow');
    await until(() => slow.events.includes('data'));
    const quick = get(hotline, '/quick');
    slow.controller.abort(new Error('enough'));
    assert.equal(await quick, '/quick');
    assert.equal(slow.error?.message, 'enough');
    await until(() => ended === 1);
    assert.equal(await get(hotline, '/after'), '/after');
    assert.equal(at.sessions.length, 1);
  });

  it('a session that the server ends is followed by another', async () => {
    await using at = await serve();
    await using hotline = open(at.origin, { connect: connect() });
    await get(hotline, '/first');
    at.sessions[0].goaway();
    at.sessions[0].close();
    assert.equal(await get(hotline, '/second'), 'GET /second ');
    at.sessions.at(-1)!.destroy();
    assert.equal(await get(hotline, '/third'), 'GET /third ');
  });

  it('a session that the server is about to end answers what it has taken', async () => {
    const waiting: (() => void)[] = [];
    const seen: string[] = [];
    await using at = await serve((request, response) => {
      seen.push(`${request.method} ${request.url}`);
      request.resume();
      if (request.url === '/slow') waiting.push(() => response.end('slow'));
      else response.end(request.url);
    });
    await using hotline = open(at.origin, { connect: connect(), connections: 1 });
    await get(hotline, '/first');
    const slow = [get(hotline, '/slow', { method: 'POST', body: 'x' }), get(hotline, '/slow')];
    await until(() => waiting.length === 2);
    at.sessions[0].close();
    await until(() => hotline.stats()[at.origin].connections[0].state === 'draining');
    assert.equal(await get(hotline, '/after'), '/after');
    for (const answer of waiting) answer();
    assert.deepEqual(await Promise.all(slow), ['slow', 'slow']);
    assert.deepEqual(seen, ['GET /first', 'POST /slow', 'GET /slow', 'GET /after']);
    await until(() => at.sockets.size === 1);
  });

  it('what the server has not taken before it ends a session is sent on the next, whatever it is', async () => {
    await using at = await serve();
    await using hotline = open(at.origin, { connect: connect(), connections: 1 });
    await get(hotline, '/first');
    const posts = numbered(5).map(path => get(hotline, path, { method: 'POST', body: 'x' }));
    at.sessions[0].goaway(constants.NGHTTP2_NO_ERROR, 1);
    assert.deepEqual(
      await Promise.all(posts),
      numbered(5).map(path => `POST ${path} x`),
    );
  });

  it('a session that the server is about to end ends at once by destroy()', async () => {
    let seen = 0;
    await using at = await serve(() => seen++);
    await using hotline = open(at.origin, { connect: connect(), connections: 1 });
    const failed = failure(get(hotline, '/'));
    await until(() => seen === 1);
    at.sessions[0].close();
    await until(() => hotline.stats()[at.origin].connections[0].state === 'draining');
    await hotline.destroy();
    assert.equal((await failed).code, 'UND_ERR_DESTROYED');
    await until(() => at.sockets.size === 0);
  });

  it('what was not answered when its session is lost is asked again, if it may be', async () => {
    let seen = 0;
    await using at = await serve((request, response) => {
      if (++seen > 2) response.end(request.url);
      else if (seen === 2) at.sessions[0].destroy();
    });
    await using hotline = open(at.origin, { connect: connect() });
    const read = get(hotline, '/read');
    const post = failure(get(hotline, '/post', { method: 'POST', body: 'x' }));
    assert.equal(await read, '/read');
    assert.ok((await post) instanceof Error);
    assert.equal(seen, 3);
  });

  it('408 is an answer like others: it concerns no other request', async () => {
    await using at = await serve((request, response) => {
      if (request.url === '/slow') request.resume().on('end', () => (slow = () => response.end('slow')));
      else response.writeHead(408).end('too late');
    });
    let slow: (() => void) | null = null;
    await using hotline = open(at.origin, { connect: connect() });
    const post = get(hotline, '/slow', { method: 'POST', body: 'x' });
    await until(() => slow !== null);
    assert.equal(await get(hotline, '/'), 'too late');
    slow!();
    assert.equal(await post, 'slow');
  });

  it('a request that the server leaves without an answer for too long is not asked again', async () => {
    let seen = 0;
    await using at = await serve(() => seen++);
    await using hotline = open(at.origin, { connect: connect(), headersTimeout: 100 });
    assert.equal((await failure(get(hotline, '/'))).code, 'UND_ERR_HEADERS_TIMEOUT');
    assert.equal(seen, 1);
  });

  it('a request whose stream the server ends each time is asked again three times', async () => {
    let seen = 0;
    await using at = await serve((_request, response) => {
      seen++;
      (response as unknown as Http2ServerResponse).stream.close(constants.NGHTTP2_INTERNAL_ERROR);
    });
    await using hotline = open(at.origin, { connect: connect() });
    await failure(get(hotline, '/'));
    assert.equal(seen, 4);
  });

  it('is HTTP/1.1 where that is all that the client wants', async () => {
    await using at = await serve();
    await using hotline = open(at.origin, { connect: { ca: tls.cert }, allowH2: false });
    assert.equal(await get(hotline, '/'), 'GET / ');
    assert.equal(hotline.stats()[at.origin].connections[0].protocol, 'h1');
  });
});

describe('over a Unix socket', () => {
  it('requests come to the path that is named', async () => {
    const socketPath = join(folder, 'socket');
    await using _at = await listen(createServer(echo), socketPath);
    await using hotline = open('http://localhost', { socketPath });
    assert.deepEqual(await Promise.all(numbered(5).map(path => get(hotline, path))), asEchoed(numbered(5)));
  });
});

describe('through a proxy', () => {
  async function proxy() {
    const asked: string[] = [];
    const server = createServer();
    const ends = new Set<Socket>();
    server.on('connect', (request, socket: Socket) => {
      asked.push(request.url!);
      const [host, port] = request.url!.split(':');
      const target = connectTo(Number(port), host, () => {
        socket.write('HTTP/1.1 200 OK\r\n\r\n');
        socket.pipe(target).pipe(socket);
      });
      for (const end of [socket, target]) {
        ends.add(end);
        end
          .on('error', () => {})
          .on('close', () => {
            socket.destroy();
            target.destroy();
          });
      }
    });
    const at = await listen(server);
    return Object.assign(at, { asked, uri: `http://127.0.0.1:${at.port}` });
  }

  for (const protocol of ['http', 'https'] as const) {
    it(`to a server of ${protocol}, Hotlines stand behind undici's ProxyAgent`, async () => {
      await using target = await listen(
        protocol === 'http' ? createServer(echo) : (createTlsServer(tls, echo) as unknown as Server),
      );
      await using through = await proxy();
      const agent = new ProxyAgent({
        uri: through.uri,
        proxyTunnel: true,
        requestTls: { ca: tls.cert },
        factory: (origin: URL | string, options: object) => new Hotline(origin, options),
        clientFactory: (origin: URL | string, options: object) => new Hotline(origin, options),
      } as ProxyAgent.Options);
      const origin = `${protocol}://127.0.0.1:${target.port}`;
      const answers = await Promise.all(numbered(6).map(path => get(agent, path, { origin })));
      assert.deepEqual(answers, asEchoed(numbered(6)));
      assert.equal(through.asked[0], `127.0.0.1:${target.port}`);
      await agent.close();
    });
  }
});

describe('with the interceptors of undici', () => {
  async function serve(listener: RequestListener) {
    const at = await listen(createServer(listener));
    return Object.assign(at, { origin: `http://127.0.0.1:${at.port}` });
  }

  it('retry asks again', async () => {
    let seen = 0;
    await using at = await serve((_request, response) => {
      response.statusCode = ++seen < 3 ? 503 : 200;
      response.end('at last');
    });
    await using hotline = open(at.origin);
    const composed = hotline.compose(interceptors.retry({ minTimeout: 1, maxRetries: 3 }));
    assert.equal(await get(composed, '/'), 'at last');
    assert.equal(seen, 3);
  });

  it('redirect follows, also to another origin', async () => {
    await using other = await serve(echo);
    await using at = await serve((request, response) => {
      response.writeHead(302, { location: request.url === '/a' ? '/b' : `${other.origin}/c` }).end();
    });
    await using hotline = open(at.origin);
    const composed = hotline.compose(interceptors.redirect({ maxRedirections: 3 }));
    assert.equal(await get(composed, '/a'), 'GET /c ');
  });

  it('cache answers what it has', async () => {
    let seen = 0;
    await using at = await serve((_request, response) => {
      seen++;
      response.setHeader('Cache-Control', 'public, max-age=60').end('kept');
    });
    await using hotline = open(at.origin);
    const composed = hotline.compose(interceptors.cache());
    for (let i = 0; i < 3; i++) assert.equal(await get(composed, '/'), 'kept');
    assert.equal(seen, 1);
  });

  it('dump drops bodies, up to a size', async () => {
    await using at = await serve((_request, response) => void response.end(Buffer.alloc(1_000)));
    await using hotline = open(at.origin);
    const composed = hotline.compose(interceptors.dump({ maxSize: 10_000 }));
    assert.equal(await get(composed, '/'), '');
    const small = hotline.compose(interceptors.dump({ maxSize: 10 }));
    assert.ok((await failure(get(small, '/'))) instanceof Error);
    assert.equal(await get(composed, '/'), '');
  });

  it('decompress unpacks', async () => {
    await using at = await serve((_request, response) => {
      response.setHeader('Content-Encoding', 'gzip').end(gzipSync('unpacked'));
    });
    await using hotline = open(at.origin);
    assert.equal(await get(hotline.compose(interceptors.decompress()), '/'), 'unpacked');
  });

  it('dns finds the address', async () => {
    await using at = await serve((request, response) => void response.end(request.headers.host));
    await using hotline = open(`http://somewhere.test:${at.port}`);
    const found: Parameters<typeof interceptors.dns>[0] = {
      lookup: (_origin, _options, callback) =>
        callback(null, [{ address: '127.0.0.1', ttl: 1_000, family: 4 }]),
    };
    assert.equal(await get(hotline.compose(interceptors.dns(found)), '/'), `somewhere.test:${at.port}`);
  });

  it('responseError makes errors of bad statuses, and the connection goes on', async () => {
    await using server = await RawServer.listen(({ path, answer }) =>
      path === '/bad' ? answer('why', [], '418 No') : answer(),
    );
    await using hotline = open(server.origin, { connections: 1 });
    const composed: Dispatcher = hotline.compose(interceptors.responseError());
    const error = (await failure(get(composed, '/bad'))) as Error & { statusCode?: number };
    assert.equal(error.statusCode, 418);
    assert.equal(await get(composed, '/good'), '/good');
    assert.equal(server.wires.length, 1);
  });

  it('several together see the origin that the Hotline has', async () => {
    const origins: unknown[] = [];
    await using at = await serve(echo);
    await using hotline = open(at.origin);
    const composed = hotline.compose([
      interceptors.retry(),
      interceptors.redirect(),
      dispatch => (options, handler) => {
        origins.push(options.origin);
        return dispatch(options, handler);
      },
    ]);
    assert.equal(await get(composed, '/'), 'GET / ');
    assert.deepEqual(origins, [at.origin]);
  });
});
