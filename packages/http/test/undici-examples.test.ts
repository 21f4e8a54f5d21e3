/** What undici's documentation says that one can do, done with the dispatcher under test. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import dns from 'node:dns';
import { EventEmitter, once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { PassThrough, Readable, Transform, Writable } from 'node:stream';
import { pipeline as pipe } from 'node:stream/promises';
import { before, describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import * as undici from 'undici';
import { type Dispatcher, errors } from 'undici';
import * as undici7 from 'undici-7';
import { forwarding } from './kit/forward.ts';
import { leavesNothingBehind } from './kit/leftovers.ts';
import { NodeServer } from './kit/node-server.ts';
import { makeDispatcher } from './kit/subject.ts';

leavesNothingBehind(() => server.close());

type Route = (request: IncomingMessage, response: ServerResponse, url: URL) => void | Promise<void>;

async function bytesOf(stream: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** How often each path was asked for. */
const times = new Map<string, number>();

const routes: Record<string, Route> = {
  '/hello': (_, response) => {
    response.setHeader('X-Some-Header', 'Value').end('Hello');
  },
  '/json': (_, response) => {
    response.setHeader('content-type', 'application/json').end('{"answer":42}');
  },
  '/empty': (_, response) => {
    response.writeHead(204).end();
  },
  '/echo': async (request, response) => {
    const { method, url, headers } = request;
    const body = (await bytesOf(request)).toString('latin1');
    response.end(JSON.stringify({ method, url, headers, body }));
  },
  '/mirror': (request, response) => {
    request.pipe(response);
  },
  '/trailers': (_, response) => {
    response.writeHead(200, { Trailer: 'X-Sum' });
    response.write('body');
    response.addTrailers({ 'X-Sum': 'abc' });
    response.end();
  },
  '/hints': (_, response) => {
    response.writeEarlyHints({ link: '</a.css>; rel=preload' }, () => response.end('hinted'));
  },
  '/late': (_, response) => {
    setTimeout(() => response.end('late'), 60);
  },
  '/never': () => {},
  '/endless': (request, response) => {
    const timer = setInterval(() => response.write('more'), 5);
    request.once('close', () => clearInterval(timer));
    response.once('close', () => clearInterval(timer));
  },
  '/large': (_, response) => {
    response.end(Buffer.alloc(600_000, 'large'));
  },
  '/gzip': (_, response) => {
    response.setHeader('content-encoding', 'gzip').end(gzipSync('unpacked'));
  },
  '/moved': (_, response) => {
    response.writeHead(302, { location: '/hello' }).end('elsewhere');
  },
  '/error': (_, response) => {
    response.writeHead(500, { 'content-type': 'application/json' }).end('{"why":"broken"}');
  },
  '/shaky': (_, response, url) => {
    if (times.get(url.href)! < 3) response.writeHead(503).end('not yet');
    else response.end('at last');
  },
  '/cached': (_, response, url) => {
    response.setHeader('cache-control', 'max-age=60').end(`time ${times.get(url.href)}`);
  },
  '/form': async (request, response) => {
    const { headers } = request;
    const form = await new Response(new Uint8Array(await bytesOf(request)), {
      headers: { 'content-type': headers['content-type']! },
    }).formData();
    const file = form.get('file');
    response.end(
      `${form.get('name')}; ${file instanceof File ? `${file.name}: ${await file.text()}` : 'no file'}`,
    );
  },
};

let server: NodeServer;
before(async () => {
  server = await NodeServer.listen((request, response) => {
    const url = new URL(request.url!, 'http://localhost');
    times.set(url.href, (times.get(url.href) ?? 0) + 1);
    const route = routes[url.pathname];
    if (route === undefined) response.writeHead(404).end('nothing here');
    else return route(request, response, url);
  });
  server.server.on('connect', (_request, socket: Socket, head: Buffer) => {
    socket.write('HTTP/1.1 200 Connection established\r\nX-Tunnel: yes\r\n\r\n');
    let text = head.toString();
    socket.on('data', chunk => {
      text += chunk;
    });
    socket.on('end', () => socket.end(`through the tunnel: ${text}`));
    socket.on('error', () => {});
  });
  server.server.on('upgrade', (request: IncomingMessage, socket: Socket) => {
    const key = request.headers['sec-websocket-key'];
    const lines = [
      'HTTP/1.1 101 Switching Protocols',
      'Connection: upgrade',
      `Upgrade: ${request.headers.upgrade}`,
    ];
    socket.on('error', () => {});
    if (key === undefined) {
      socket.write(`${lines.join('\r\n')}\r\n\r\n`);
      socket.pipe(socket);
      return;
    }
    const accept = createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');
    socket.write(`${[...lines, `Sec-WebSocket-Accept: ${accept}`].join('\r\n')}\r\n\r\n`);
    socket.write(Buffer.from([0x81, 5, ...Buffer.from('hello')]));
    socket.write(Buffer.from([0x88, 2, 0x03, 0xe8]));
    socket.on('data', () => socket.end());
  });
});

/** Gives a dispatcher for the server of these tests, and destroys it afterwards. */
async function using(use: (dispatcher: Dispatcher) => Promise<void>, options: object = {}): Promise<void> {
  const dispatcher = makeDispatcher(server.origin, options);
  try {
    await use(dispatcher);
  } finally {
    await dispatcher.destroy();
  }
}

async function usingAnyOrigin(use: (dispatcher: Dispatcher) => Promise<void>): Promise<void> {
  const dispatcher = makeDispatcher();
  try {
    await use(dispatcher);
  } finally {
    await dispatcher.destroy();
  }
}

interface Echo {
  method: string;
  url: string;
  headers: Record<string, string>;
  body: string;
}

async function echoed(dispatcher: Dispatcher, options: Partial<Dispatcher.RequestOptions>): Promise<Echo> {
  const request = { path: '/echo', method: 'GET', ...options } as Dispatcher.RequestOptions;
  return (await (await dispatcher.request(request)).body.json()) as Echo;
}

const get = (path: string) => ({ path, method: 'GET' }) as const;
const bounded = { timeout: 15_000 };
const code = (expected: string) => (error: unknown) => {
  assert.equal((error as { code?: string }).code, expected, String((error as Error).stack));
  return true;
};

describe('request()', bounded, () => {
  it('gives status, headers in small letters, body and trailers', () =>
    using(async dispatcher => {
      const { statusCode, statusText, headers, body, trailers } = await dispatcher.request(get('/hello'));
      assert.equal(statusCode, 200);
      assert.equal(statusText, 'OK');
      assert.equal(headers['x-some-header'], 'Value');
      assert.equal(await body.text(), 'Hello');
      assert.deepEqual(trailers, {});
    }));

  it('gives a body that is read as text, JSON, bytes, an array buffer, or a blob', () =>
    using(async dispatcher => {
      const body = async () => (await dispatcher.request(get('/json'))).body;
      const text = '{"answer":42}';
      assert.equal(await (await body()).text(), text);
      assert.deepEqual(await (await body()).json(), { answer: 42 });
      assert.equal(Buffer.from(await (await body()).bytes()).toString(), text);
      assert.equal(Buffer.from(await (await body()).arrayBuffer()).toString(), text);
      assert.equal(await (await (await body()).blob()).text(), text);
    }));

  it('gives a body that can be used once', () =>
    using(async dispatcher => {
      const { body } = await dispatcher.request(get('/json'));
      assert.equal(body.bodyUsed, false);
      await body.json();
      assert.equal(body.bodyUsed, true);
      await assert.rejects(async () => body.text());
    }));

  it('gives a stream even where there is no body, which is no JSON', () =>
    using(async dispatcher => {
      const { statusCode, body } = await dispatcher.request(get('/empty'));
      assert.equal(statusCode, 204);
      await assert.rejects(body.json(), SyntaxError);
    }));

  it('gives a body that is iterated, or listened to', () =>
    using(async dispatcher => {
      const iterated = await dispatcher.request(get('/hello'));
      assert.equal((await bytesOf(iterated.body)).toString(), 'Hello');
      const { body } = await dispatcher.request(get('/hello'));
      body.setEncoding('utf8');
      let text = '';
      body.on('data', chunk => {
        text += chunk;
      });
      await once(body, 'end');
      assert.equal(text, 'Hello');
    }));

  it('gives trailers once the body has ended', () =>
    using(async dispatcher => {
      const { body, trailers } = await dispatcher.request(get('/trailers'));
      assert.equal(await body.text(), 'body');
      assert.equal((trailers as Record<string, string>)['x-sum'], 'abc');
    }));

  it('drops a body that nobody wants, and keeps the connection', () =>
    using(
      async dispatcher => {
        const { connections } = server;
        for (let i = 0; i < 3; i++) await (await dispatcher.request(get('/hello'))).body.dump();
        await (await dispatcher.request(get('/hello'))).body.text();
        assert.equal(server.connections, connections + 1);
      },
      { connections: 1 },
    ));

  it('puts query parameters into the path', () =>
    using(async dispatcher => {
      const { url } = await echoed(dispatcher, { query: { a: '1 2', b: ['x', 'y'] } });
      assert.deepEqual(
        [...new URL(url, server.origin).searchParams],
        [
          ['a', '1 2'],
          ['b', 'x'],
          ['b', 'y'],
        ],
      );
    }));

  it('takes headers as an object, a list, or pairs', () =>
    using(async dispatcher => {
      for (const headers of [
        { 'x-one': '1' },
        ['x-one', '1'],
        new Map([['x-one', '1']]),
        new Headers({ 'x-one': '1' }),
      ]) {
        assert.equal((await echoed(dispatcher, { headers: headers as any })).headers['x-one'], '1');
      }
    }));

  it('hands `opaque` back, and headers as they came when asked to', () =>
    using(async dispatcher => {
      const opaque = {};
      const raw = await dispatcher.request({ ...get('/hello'), opaque, responseHeaders: 'raw' });
      assert.equal(raw.opaque, opaque);
      assert.ok((raw.headers as unknown as string[]).map(String).includes('X-Some-Header'));
      await raw.body.dump();
    }));

  it('tells of early hints', () =>
    using(async dispatcher => {
      const heard: number[] = [];
      const onInfo = (info: { statusCode: number }) => heard.push(info.statusCode);
      const { body } = await dispatcher.request({ ...get('/hints'), onInfo } as Dispatcher.RequestOptions);
      assert.equal(await body.text(), 'hinted');
      assert.deepEqual(heard, [103]);
    }));

  it('sends bodies of every kind', () =>
    using(async dispatcher => {
      async function* generated() {
        yield 'from ';
        yield 'pieces';
      }
      const bodies: [any, string][] = [
        ['text', 'text'],
        [Buffer.from('buffer'), 'buffer'],
        [new Uint8Array([65, 66]), 'AB'],
        [Readable.from(['from ', 'pieces']), 'from pieces'],
        [generated(), 'from pieces'],
        [new Blob(['blob']), 'blob'],
        [null, ''],
      ];
      for (const method of ['POST', 'PUT', 'PATCH'] as const) {
        for (const [body, expected] of bodies) {
          if (method !== 'POST' && typeof body === 'object' && body !== null && Symbol.asyncIterator in body)
            continue;
          const echo = await echoed(dispatcher, { method, body });
          assert.equal(echo.body, expected);
          assert.equal(echo.method, method);
        }
      }
    }));

  it('sends forms', () =>
    using(async dispatcher => {
      const form = new undici.FormData();
      form.set('name', 'some one');
      form.set('file', new Blob(['content']), 'file.txt');
      const { body } = await dispatcher.request({ path: '/form', method: 'POST', body: form });
      assert.equal(await body.text(), 'some one; file.txt: content');
    }));

  it('calls back', () =>
    using(async dispatcher => {
      const status = await new Promise((resolve, reject) => {
        dispatcher.request(get('/hello'), (error, data) => {
          if (error !== null) return reject(error);
          data.body.dump().then(() => resolve(data.statusCode), reject);
        });
      });
      assert.equal(status, 200);
    }));

  it('says "Connection: close" when it shall not keep the connection', () =>
    using(async dispatcher => {
      assert.equal((await echoed(dispatcher, { reset: true })).headers.connection, 'close');
    }));

  it('refuses what is no request', () =>
    using(async dispatcher => {
      for (const wrong of [
        { path: 'no-slash', method: 'GET' },
        { path: '/', method: 'NOT A METHOD' },
        { path: '/ /', method: 'GET' },
        { path: '/', method: 'GET', headers: { 'x-bad': 'a\r\nb' } },
        { path: '/', method: 'GET', headers: { 'transfer-encoding': 'chunked' } },
        { path: '/', method: 'GET', headersTimeout: -1 },
        { path: '/', method: 'GET', body: 5 },
      ]) {
        await assert.rejects(
          dispatcher.request(wrong as any),
          code('UND_ERR_INVALID_ARG'),
          JSON.stringify(wrong),
        );
      }
      await (await dispatcher.request(get('/hello'))).body.dump();
    }));

  it('refuses a body that is not as long as it was said to be', () =>
    using(async dispatcher => {
      const request = {
        path: '/echo',
        method: 'POST',
        body: 'four',
        headers: { 'content-length': '9' },
      } as const;
      await assert.rejects(dispatcher.request(request), code('UND_ERR_REQ_CONTENT_LENGTH_MISMATCH'));
    }));

  it('fails when nobody listens there, and tells that it could not connect', async () => {
    const gone = await NodeServer.listen();
    const { origin } = gone;
    await gone.close();
    const dispatcher = makeDispatcher(origin);
    const told = once(dispatcher, 'connectionError');
    await assert.rejects(dispatcher.request(get('/')), code('ECONNREFUSED'));
    assert.equal((await told)[0].origin, origin);
    await dispatcher.destroy();
  });
});

describe('giving a request up', bounded, () => {
  const abortError = (error: unknown) => (error as Error).name === 'AbortError';

  it('by a signal rejects it, before, while waiting, and while its body comes', () =>
    using(async dispatcher => {
      await assert.rejects(dispatcher.request({ ...get('/hello'), signal: AbortSignal.abort() }), abortError);
      const stop = new AbortController();
      const waiting = dispatcher.request({ ...get('/never'), signal: stop.signal });
      setTimeout(() => stop.abort(), 10);
      await assert.rejects(waiting, abortError);
      const later = new AbortController();
      const { body } = await dispatcher.request({ ...get('/endless'), signal: later.signal });
      setTimeout(() => later.abort(), 20);
      await assert.rejects(body.text(), abortError);
    }));

  it('rejects it with the reason that the signal has', () =>
    using(async dispatcher => {
      const stop = new AbortController();
      const reason = new Error('enough');
      const waiting = dispatcher.request({ ...get('/never'), signal: stop.signal });
      stop.abort(reason);
      await assert.rejects(waiting, error => error === reason);
    }));

  it('by an emitter that emits "abort" rejects it', () =>
    using(async dispatcher => {
      const emitter = new EventEmitter();
      const waiting = dispatcher.request({ ...get('/never'), signal: emitter });
      setTimeout(() => emitter.emit('abort'), 10);
      await assert.rejects(waiting, abortError);
    }));

  it('by destroying its body is possible, and other requests go on', () =>
    using(async dispatcher => {
      const { body } = await dispatcher.request(get('/endless'));
      body.on('error', () => {});
      const closed = new Promise(resolve => body.once('close', resolve));
      body.destroy();
      await closed;
      assert.equal(await (await dispatcher.request(get('/hello'))).body.text(), 'Hello');
    }));
});

describe('stream()', bounded, () => {
  it('writes the body to what the factory returns', () =>
    using(async dispatcher => {
      const chunks: Buffer[] = [];
      const opaque = { chunks };
      const { trailers, opaque: back } = await dispatcher.stream(
        { ...get('/trailers'), opaque },
        ({ statusCode, headers, opaque }) => {
          assert.equal(statusCode, 200);
          assert.equal(headers.trailer, 'X-Sum');
          return new Writable({
            write(chunk, _encoding, done) {
              opaque.chunks.push(chunk);
              done();
            },
          });
        },
      );
      assert.equal(Buffer.concat(chunks).toString(), 'body');
      assert.equal((trailers as Record<string, string>)['x-sum'], 'abc');
      assert.equal(back, opaque);
    }));

  it('waits for what is slow to take it', () =>
    using(async dispatcher => {
      let bytes = 0;
      const slow = new Writable({
        highWaterMark: 1,
        write(chunk, _encoding, done) {
          bytes += chunk.length;
          setImmediate(done);
        },
      });
      await dispatcher.stream(get('/large'), () => slow);
      assert.equal(bytes, 600_000);
    }));

  it('fails when the factory does, or what it returned', () =>
    using(async dispatcher => {
      const wrong = new Error('wrong');
      const throws = () => {
        throw wrong;
      };
      await assert.rejects(dispatcher.stream(get('/hello'), throws), error => error === wrong);
      const broken = () =>
        new Writable({
          write(_chunk, _encoding, done) {
            done(wrong);
          },
        });
      await assert.rejects(dispatcher.stream(get('/large'), broken), error => error === wrong);
      assert.equal(await (await dispatcher.request(get('/hello'))).body.text(), 'Hello');
    }));
});

describe('pipeline()', bounded, () => {
  it('stands between what is written and what is read', () =>
    using(async dispatcher => {
      let text = '';
      const louder = () =>
        new Transform({
          transform(chunk, _encoding, done) {
            done(null, String(chunk).toUpperCase());
          },
        });
      await pipe(
        Readable.from(['und', 'ici']),
        dispatcher.pipeline({ path: '/mirror', method: 'PUT' }, ({ statusCode, body }) => {
          assert.equal(statusCode, 200);
          return body.pipe(louder());
        }),
        new PassThrough(),
        async source => {
          for await (const chunk of source) text += chunk;
        },
      );
      assert.equal(text, 'UNDICI');
    }));
});

describe('connections that become something else', bounded, () => {
  it('are tunnels after connect()', () =>
    using(async dispatcher => {
      const { statusCode, headers, socket } = await dispatcher.connect({
        path: 'example.org:443',
      } as Dispatcher.ConnectOptions<null>);
      assert.equal(statusCode, 200);
      assert.equal(headers['x-tunnel'], 'yes');
      socket.end('ping');
      assert.equal((await bytesOf(socket)).toString(), 'through the tunnel: ping');
    }));

  it('speak another protocol after upgrade()', () =>
    using(async dispatcher => {
      const { headers, socket } = await dispatcher.upgrade({ path: '/', protocol: 'Echo' });
      assert.equal(headers.upgrade, 'Echo');
      socket.end('ping');
      assert.equal((await bytesOf(socket)).toString(), 'ping');
    }));

  it('leave the others to the requests', () =>
    using(
      async dispatcher => {
        const [{ socket }, ...texts] = await Promise.all([
          dispatcher.upgrade({ path: '/', protocol: 'Echo' }),
          ...Array.from({ length: 10 }, async () => (await dispatcher.request(get('/hello'))).body.text()),
        ]);
        assert.deepEqual(texts, Array(10).fill('Hello'));
        socket.destroy();
        assert.equal(await (await dispatcher.request(get('/hello'))).body.text(), 'Hello');
      },
      { connections: 1 },
    ));

  it('are web sockets', () =>
    usingAnyOrigin(async dispatcher => {
      const socket = new undici.WebSocket(server.origin.replace('http', 'ws'), { dispatcher });
      const heard = new Promise(resolve => {
        socket.addEventListener('message', event => resolve(event.data));
      });
      const closed = new Promise(resolve => {
        socket.addEventListener('close', event => resolve(event.code));
      });
      assert.equal(await heard, 'hello');
      assert.equal(await closed, 1000);
    }));
});

describe('dispatch()', bounded, () => {
  it('tells its handler what happens, in order', () =>
    using(async dispatcher => {
      const heard: string[] = [];
      let body = '';
      const result = await new Promise((resolve, reject) => {
        const more = dispatcher.dispatch(
          { ...get('/trailers'), headers: { 'x-foo': 'bar' } },
          {
            onRequestStart: () => heard.push('start'),
            onResponseStart: (controller, status, headers, statusMessage) => {
              heard.push(`${status} ${statusMessage} ${headers.trailer}`);
              assert.ok(String(controller.rawHeaders).includes('X-Sum'));
            },
            onResponseData: (_, chunk) => {
              body += chunk;
            },
            onResponseEnd: (_, trailers) => resolve(trailers),
            onResponseError: (_, error) => reject(error),
          },
        );
        assert.equal(typeof more, 'boolean');
      });
      assert.deepEqual(heard, ['start', '200 OK X-Sum']);
      assert.equal(body, 'body');
      assert.equal((result as Record<string, string>)['x-sum'], 'abc');
    }));

  it('holds data back while paused', () =>
    using(async dispatcher => {
      let bytes = 0;
      let paused = false;
      await new Promise<void>((resolve, reject) => {
        dispatcher.dispatch(get('/large'), {
          onRequestStart() {},
          onResponseStart() {},
          onResponseData(controller, chunk) {
            assert.equal(paused, false);
            bytes += chunk.length;
            paused = true;
            controller.pause();
            setTimeout(() => {
              paused = false;
              controller.resume();
            }, 1);
          },
          onResponseEnd: () => resolve(),
          onResponseError: (_, error) => reject(error),
        });
      });
      assert.equal(bytes, 600_000);
    }));

  it('is given up through its controller, which knows the reason', () =>
    using(async dispatcher => {
      const reason = new Error('enough');
      let held: Dispatcher.DispatchController | undefined;
      const error = await new Promise(resolve => {
        dispatcher.dispatch(get('/endless'), {
          onRequestStart: controller => {
            held = controller;
          },
          onResponseStart: controller => controller.abort(reason),
          onResponseData() {},
          onResponseEnd() {},
          onResponseError: (_, error) => resolve(error),
        });
      });
      assert.equal(error, reason);
      assert.equal(held!.aborted, true);
      assert.equal(held!.reason, reason);
    }));

  it('wants a handler', () =>
    using(async dispatcher => {
      assert.throws(() => dispatcher.dispatch(get('/hello'), null as any), code('UND_ERR_INVALID_ARG'));
    }));
});

describe('events', bounded, () => {
  it('tell of connections that come and go', () =>
    using(async dispatcher => {
      const connected = once(dispatcher, 'connect');
      const disconnected = once(dispatcher, 'disconnect');
      await (await dispatcher.request(get('/hello'))).body.dump();
      const [origin, targets] = await connected;
      assert.equal(origin.origin, server.origin);
      assert.equal(targets[0], dispatcher);
      server.server.closeAllConnections();
      const [from, , error] = await disconnected;
      assert.equal(from.origin, server.origin);
      assert.ok(error instanceof Error);
    }));

  it('tell when a dispatcher that was busy takes more', () =>
    using(
      async dispatcher => {
        const drained = once(dispatcher, 'drain');
        const bodies = Array.from({ length: 40 }, async () =>
          (await dispatcher.request(get('/late'))).body.dump(),
        );
        await drained;
        await Promise.all(bodies);
      },
      { connections: 1 },
    ));
});

describe('compose()', bounded, () => {
  const marks =
    (name: string): Dispatcher.DispatcherComposeInterceptor =>
    dispatch =>
    (options, handler) => {
      const headers = options.headers as Record<string, string> | undefined;
      return dispatch(
        { ...options, headers: { 'x-marks': `${headers?.['x-marks'] ?? ''}${name}` } },
        handler,
      );
    };

  it('asks the last interceptor first', () =>
    using(async dispatcher => {
      const chained = dispatcher.compose(marks('a')).compose(marks('b'));
      for (const composed of [
        dispatcher.compose([marks('a'), marks('b')]),
        dispatcher.compose(marks('a'), marks('b')),
        chained,
      ]) {
        assert.equal((await echoed(composed, {})).headers['x-marks'], 'ba');
      }
    }));

  it('lets an interceptor wrap the handler', () =>
    using(async dispatcher => {
      let bytes = 0;
      const composed = dispatcher.compose(dispatch => (options, handler) => {
        const counting = forwarding(handler, {
          onResponseData(controller, chunk) {
            bytes += chunk.length;
            handler.onResponseData?.(controller, chunk);
          },
        });
        return dispatch(options, counting);
      });
      await (await composed.request(get('/large'))).body.text();
      assert.equal(bytes, 600_000);
    }));

  for (const [name, { interceptors, cacheStores }] of [
    ['undici 8', undici],
    ['undici 7', undici7 as unknown as typeof undici],
  ] as const) {
    describe(`with the interceptors of ${name}`, () => {
      const retryOptions = { maxRetries: 3, minTimeout: 1, maxTimeout: 2 };

      it('tries again', () =>
        using(async dispatcher => {
          const composed = dispatcher.compose(interceptors.retry(retryOptions));
          const { statusCode, body } = await composed.request(get(`/shaky?by=${name.at(-1)}`));
          assert.equal(statusCode, 200);
          assert.equal(await body.text(), 'at last');
        }));

      it('follows redirects', () =>
        using(async dispatcher => {
          const composed = dispatcher.compose(interceptors.redirect({ maxRedirections: 3 }));
          const { body } = await composed.request({ ...get('/moved'), origin: server.origin });
          assert.equal(await body.text(), 'Hello');
        }));

      it('drops bodies', () =>
        using(async dispatcher => {
          const { statusCode, body } = await dispatcher.compose(interceptors.dump()).request(get('/hello'));
          assert.equal(statusCode, 200);
          assert.equal(await body.text(), '');
        }));

      it('makes errors of statuses', () =>
        using(async dispatcher => {
          const composed = dispatcher.compose(interceptors.responseError());
          await assert.rejects(composed.request(get('/error')), (error: any) => {
            assert.equal(error.statusCode, 500);
            assert.deepEqual(error.body, { why: 'broken' });
            return true;
          });
        }));

      it('keeps what may be kept', () =>
        using(async dispatcher => {
          const store = new cacheStores.MemoryCacheStore();
          const composed = dispatcher.compose(interceptors.cache({ store }));
          const path = `/cached?by=${name.at(-1)}`;
          for (let i = 0; i < 3; i++) {
            const { body } = await composed.request({ ...get(path), origin: server.origin });
            assert.equal(await body.text(), 'time 1');
          }
        }));

      it('asks once for what many want', () =>
        using(async dispatcher => {
          const composed = dispatcher.compose(interceptors.deduplicate());
          const path = `/late?by=${name.at(-1)}`;
          const texts = await Promise.all(
            Array.from({ length: 5 }, async () =>
              (await composed.request({ ...get(path), origin: server.origin })).body.text(),
            ),
          );
          assert.deepEqual(texts, Array(5).fill('late'));
          assert.equal(server.asked.filter(asked => asked === `GET ${path}`).length, 1);
        }));

      it('looks names up itself', () =>
        usingAnyOrigin(async dispatcher => {
          const lookup = (_origin: unknown, _options: unknown, done: (...args: any[]) => void) =>
            done(null, [{ address: '127.0.0.1', ttl: 1_000, family: 4 }]);
          const composed = dispatcher.compose(
            interceptors.dns({ lookup: lookup as any, dualStack: false, affinity: 4 }),
          );
          const origin = `http://made.up.name:${server.port}`;
          const { body } = await composed.request({ path: '/echo', method: 'GET', origin });
          assert.equal(((await body.json()) as Echo).headers.host, `made.up.name:${server.port}`);
        }));

      it('unpacks', () =>
        using(async dispatcher => {
          const { body } = await dispatcher.compose(interceptors.decompress()).request(get('/gzip'));
          assert.equal(await body.text(), 'unpacked');
        }));
    });
  }

  it('is not needed by RetryAgent', () =>
    using(async dispatcher => {
      const agent = new undici.RetryAgent(dispatcher, { maxRetries: 3, minTimeout: 1, maxTimeout: 2 });
      const { body } = await agent.request(get('/shaky?by=agent') as Dispatcher.RequestOptions);
      assert.equal(await body.text(), 'at last');
    }));
});

describe('as the global dispatcher', bounded, () => {
  it('it answers request(), stream() and pipeline() of undici, and its fetch', () =>
    usingAnyOrigin(async dispatcher => {
      const previous = undici.getGlobalDispatcher();
      undici.setGlobalDispatcher(dispatcher);
      try {
        assert.equal(undici.getGlobalDispatcher(), dispatcher);
        assert.equal(await (await undici.request(`${server.origin}/hello`)).body.text(), 'Hello');
        const sent = await undici.request(`${server.origin}/echo`, { body: 'x' });
        assert.equal(((await sent.body.json()) as Echo).method, 'PUT');
        let bytes = 0;
        const sink = () =>
          new Writable({
            write(chunk, _encoding, done) {
              bytes += chunk.length;
              done();
            },
          });
        await undici.stream(`${server.origin}/hello`, { method: 'GET' }, sink);
        assert.equal(bytes, 5);
        const mirrored = undici.pipeline(`${server.origin}/mirror`, { method: 'PUT' }, ({ body }) => body);
        mirrored.end('back');
        assert.equal((await bytesOf(mirrored)).toString(), 'back');
        assert.equal(await (await undici.fetch(`${server.origin}/hello`)).text(), 'Hello');
      } finally {
        undici.setGlobalDispatcher(previous);
      }
    }));

  it("it answers Node's own fetch", () =>
    usingAnyOrigin(async dispatcher => {
      const previous = undici.getGlobalDispatcher();
      undici.setGlobalDispatcher(dispatcher);
      try {
        const connections = server.connections;
        const texts = await Promise.all(
          Array.from({ length: 20 }, async () => (await fetch(`${server.origin}/hello`)).text()),
        );
        assert.deepEqual(texts, Array(20).fill('Hello'));
        assert.ok(server.connections > connections);
      } finally {
        undici.setGlobalDispatcher(previous);
      }
    }));
});

type AnyFetch = (url: string, init?: any) => Promise<Response>;

for (const [name, anyFetch, Form] of [
  ['undici 8', undici.fetch as unknown as AnyFetch, undici.FormData],
  ['undici 7', undici7.fetch as unknown as AnyFetch, undici7.FormData],
  ['Node', fetch as AnyFetch, FormData],
] as const) {
  describe(`fetch() of ${name}, with its own dispatcher`, bounded, () => {
    const fetching = (use: (ask: (path: string, init?: object) => Promise<Response>) => Promise<void>) =>
      usingAnyOrigin(dispatcher =>
        use((path, init) => anyFetch(server.origin + path, { dispatcher, ...init })),
      );

    it('gives responses', () =>
      fetching(async ask => {
        const response = await ask('/json');
        assert.equal(response.ok, true);
        assert.equal(response.headers.get('content-type'), 'application/json');
        assert.deepEqual(await response.clone().json(), { answer: 42 });
        assert.equal(await response.text(), '{"answer":42}');
        assert.equal((await ask('/nowhere')).status, 404);
      }));

    it('gives the body as a web stream', () =>
      fetching(async ask => {
        const { body } = await ask('/large');
        assert.equal((await bytesOf(Readable.fromWeb(body as any))).length, 600_000);
      }));

    it('sends text, forms, and streams', () =>
      fetching(async ask => {
        const posted = await ask('/echo', {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ hello: 'world' }),
        });
        assert.equal(((await posted.json()) as Echo).body, '{"hello":"world"}');
        const form = new Form();
        form.set('name', 'some one');
        form.set('file', new Blob(['content']) as any, 'file.txt');
        assert.equal(
          await (await ask('/form', { method: 'POST', body: form })).text(),
          'some one; file.txt: content',
        );
        const stream = Readable.toWeb(Readable.from([Buffer.from('from '), Buffer.from('pieces')]));
        const streamed = await ask('/echo', { method: 'POST', body: stream, duplex: 'half' });
        assert.equal(((await streamed.json()) as Echo).body, 'from pieces');
        const params = new URLSearchParams({ a: 'b' });
        assert.equal(
          ((await (await ask('/echo', { method: 'PUT', body: params })).json()) as Echo).body,
          'a=b',
        );
      }));

    it('follows redirects, or does not', () =>
      fetching(async ask => {
        const response = await ask('/moved');
        assert.equal(response.redirected, true);
        assert.equal(await response.text(), 'Hello');
        assert.equal((await ask('/moved', { redirect: 'manual' })).status, 302);
      }));

    it('unpacks what is packed', () =>
      fetching(async ask => {
        assert.equal(await (await ask('/gzip')).text(), 'unpacked');
      }));

    it('can be given up, and its body left', () =>
      fetching(async ask => {
        const stop = new AbortController();
        const waiting = ask('/never', { signal: stop.signal });
        setTimeout(() => stop.abort(), 10);
        await assert.rejects(waiting, { name: 'AbortError' });
        await (await ask('/endless')).body!.cancel();
        assert.equal(await (await ask('/hello')).text(), 'Hello');
      }));

    it('rejects with a TypeError that says why', () =>
      usingAnyOrigin(async dispatcher => {
        const gone = await NodeServer.listen();
        const { origin } = gone;
        await gone.close();
        await assert.rejects(anyFetch(origin, { dispatcher }), (error: any) => {
          assert.ok(error instanceof TypeError);
          assert.equal((error.cause as { code: string }).code, 'ECONNREFUSED');
          return true;
        });
      }));

    it('answers many at once', () =>
      fetching(async ask => {
        const texts = await Promise.all(
          Array.from({ length: 50 }, async (_, i) => (await ask(i % 2 ? '/hello' : '/json')).text()),
        );
        assert.deepEqual(
          texts,
          texts.map((_, i) => (i % 2 ? 'Hello' : '{"answer":42}')),
        );
      }));
  });
}

describe('for all origins', bounded, () => {
  it('it asks each its own, and wants to know which', () =>
    usingAnyOrigin(async dispatcher => {
      await using other = await NodeServer.listen();
      const first = await dispatcher.request({ ...get('/hello'), origin: server.origin });
      const second = await dispatcher.request({ ...get('/elsewhere'), origin: new URL(other.origin) });
      assert.equal(await first.body.text(), 'Hello');
      assert.equal(await second.body.text(), '/elsewhere');
      await assert.rejects(dispatcher.request(get('/hello')), code('UND_ERR_INVALID_ARG'));
      await dispatcher.destroy();
    }));
});

describe('connecting', bounded, () => {
  it('is left to a function that is given', async () => {
    const build = undici.buildConnector({ timeout: 1_000 });
    let asked = 0;
    const connect: undici.buildConnector.connector = (options, done) => {
      asked++;
      build(options, done);
    };
    await using(
      async dispatcher => {
        assert.equal(await (await dispatcher.request(get('/hello'))).body.text(), 'Hello');
      },
      { connect },
    );
    assert.ok(asked > 0);
  });

  it('looks names up as it is told', async () => {
    const lookup = (_host: string, options: dns.LookupOptions, done: any) =>
      dns.lookup('127.0.0.1', options, done);
    const dispatcher = makeDispatcher(`http://made.up.name:${server.port}`, { connect: { lookup } });
    assert.equal((await echoed(dispatcher, {})).headers.host, `made.up.name:${server.port}`);
    await dispatcher.close();
  });
});

describe('the end', bounded, () => {
  interface Ending extends Dispatcher {
    readonly closed: boolean;
    readonly destroyed: boolean;
  }
  const make = () => makeDispatcher(server.origin) as Ending;

  it('by close() waits for what was asked, and refuses more', async () => {
    const dispatcher = make();
    const late = dispatcher.request(get('/late')).then(({ body }) => body.text());
    const closed = dispatcher.close();
    assert.equal(dispatcher.closed, true);
    await assert.rejects(dispatcher.request(get('/hello')), errors.ClientClosedError);
    assert.equal(await late, 'late');
    await closed;
    assert.equal(dispatcher.destroyed, true);
  });

  it('by close() calls back', async () => {
    const dispatcher = make();
    await (await dispatcher.request(get('/hello'))).body.dump();
    await new Promise<void>(resolve => dispatcher.close(resolve));
    assert.equal(dispatcher.closed, true);
  });

  for (const [way, destroy] of [
    ['destroy()', (dispatcher: Dispatcher) => dispatcher.destroy()],
    ['destroy(error)', (dispatcher: Dispatcher) => dispatcher.destroy(new Error('my reason'))],
    ['destroy(callback)', (dispatcher: Dispatcher) => new Promise<void>(done => dispatcher.destroy(done))],
    [
      'destroy(error, callback)',
      (dispatcher: Dispatcher) => new Promise<void>(done => dispatcher.destroy(new Error('my reason'), done)),
    ],
  ] as const) {
    it(`by ${way} fails what was asked, and refuses more`, async () => {
      const dispatcher = make();
      const failed = Array.from({ length: 5 }, () =>
        assert.rejects(
          dispatcher.request(get('/never')),
          way.includes('error') ? /my reason/ : errors.ClientDestroyedError,
        ),
      );
      await new Promise(resolve => setTimeout(resolve, 10));
      await destroy(dispatcher);
      await Promise.all(failed);
      assert.equal(dispatcher.destroyed, true);
      await assert.rejects(dispatcher.request(get('/hello')), errors.ClientDestroyedError);
    });
  }

  it('can come twice', async () => {
    const dispatcher = make();
    await (await dispatcher.request(get('/hello'))).body.dump();
    await dispatcher.close();
    await dispatcher.destroy();
    await dispatcher.destroy();
  });
});
