import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { Readable } from 'node:stream';
import { describe, it } from 'node:test';
import { fetch } from 'undici';
import { failure, get, open, watch } from './kit/ask.ts';
import { leavesNothingBehind } from './kit/leftovers.ts';
import { aWhile, head, RawServer, until } from './kit/raw-server.ts';

leavesNothingBehind();

const enough = new Error('enough');

describe('aborting a request', () => {
  it('that waits for room is as if it had never been asked', async () => {
    await using server = await RawServer.listen();
    await using hotline = open(server.origin, { connections: 1, maxDepth: 1 });
    const first = get(hotline, '/first');
    const waiting = watch(hotline, '/waiting');
    await server.came(1);
    waiting.controller.abort(enough);
    assert.equal(waiting.error, enough);
    server.answerAlways();
    await first;
    await get(hotline, '/last');
    assert.deepEqual(
      server.asked.map(({ path }) => path),
      ['/first', '/last'],
    );
  });

  it('that waits to be alone on its connection lets the others go on', async () => {
    await using server = await RawServer.listen();
    await using hotline = open(server.origin, { connections: 1, ...server.proven() });
    const first = get(hotline, '/first');
    await server.came(1);
    const post = watch(hotline, '/post', { method: 'POST', body: 'x' });
    const behind = get(hotline, '/behind');
    post.controller.abort(enough);
    server.answerAlways();
    assert.deepEqual(await Promise.all([first, behind]), ['/first', '/behind']);
    assert.equal(server.of('/post').length, 0);
  });

  for (const at of [0, 1, 2]) {
    it(`leaves those around it alone, and its connection: number ${at} of three`, async () => {
      await using server = await RawServer.listen();
      await using hotline = open(server.origin, { connections: 1, ...server.proven() });
      const all = ['/0', '/1', '/2'].map(path => watch(hotline, path));
      await server.came(3);
      all[at].controller.abort(enough);
      assert.equal(all[at].error, enough);
      server.answerAlways();
      const others = all.filter(each => each !== all[at]);
      await Promise.all(others.map(({ done }) => done));
      for (const each of others) assert.equal(String(each.body), `/${all.indexOf(each)}`);
      assert.equal(await get(hotline, '/after'), '/after');
      assert.equal(server.asked.length, 4, 'something was sent twice');
      assert.equal(server.wires.length, 1);
      assert.deepEqual(all[at].events, ['start', 'error enough']);
    });
  }

  it('while its body comes lets those behind it have theirs', async () => {
    await using server = await RawServer.listen();
    await using hotline = open(server.origin, { connections: 1, ...server.proven() });
    const first = watch(hotline, '/first');
    const second = get(hotline, '/second');
    const [asked] = await server.came(2);
    asked.send(head(['Content-Length: 20']));
    asked.send('0123456789');
    await until(() => first.body.length === 10);
    first.controller.abort(enough);
    asked.send('0123456789');
    asked.done();
    server.answerAlways();
    assert.equal(await second, '/second');
    assert.equal(server.wires.length, 1);
    assert.deepEqual(first.events, ['start', 'status 200', 'data', 'error enough']);
  });

  it('that is never answered gives its connection up, and those behind it go elsewhere', async () => {
    await using server = await RawServer.listen();
    await using hotline = open(server.origin, { connections: 1, ...server.proven() });
    const first = watch(hotline, '/first');
    const others = ['/second', '/third'].map(path => get(hotline, path));
    await server.came(3);
    first.controller.abort(enough);
    server.onRequest = request => request.answer();
    assert.deepEqual(await Promise.all(others), ['/second', '/third']);
    assert.equal(server.of('/first').length, 1);
    await until(() => server.wires[0].closed);
    assert.equal(hotline.trust()[server.origin].state, 'proven');
  });

  it('whose reader pauses lets those behind it have theirs', async () => {
    await using server = await RawServer.listen();
    await using hotline = open(server.origin, { connections: 1, ...server.proven() });
    const first = watch(hotline, '/first', {}, (event, { controller }) => {
      if (event === 'data') controller.pause();
    });
    const second = get(hotline, '/second');
    await server.came(2);
    server.asked[0].answer(Buffer.alloc(150_000));
    await until(() => first.events.includes('data'));
    first.controller.abort(enough);
    server.answerAlways();
    assert.equal(await second, '/second');
    assert.equal(first.events.filter(event => event === 'data').length, 1);
  });

  it('while its body is sent ends the connection, and the body', async () => {
    await using server = await RawServer.listen();
    await using hotline = open(server.origin);
    const body = new Readable({ read() {} });
    body.push('a part');
    const upload = watch(hotline, '/upload', { method: 'POST', body });
    await server.came(1);
    upload.controller.abort(enough);
    await until(() => server.wires[0].closed && body.destroyed);
    assert.equal(upload.error, enough);
    server.answerAlways();
    assert.equal(await get(hotline, '/after'), '/after');
    assert.equal(server.of('/upload').length, 1);
  });

  it('in onRequestStart sends nothing', async () => {
    await using server = await RawServer.listen(request => request.answer());
    await using hotline = open(server.origin);
    const first = watch(hotline, '/first', {}, (event, { controller }) => {
      if (event === 'start') controller.abort(enough);
    });
    assert.deepEqual(first.events, ['start', 'error enough']);
    await get(hotline, '/after');
    assert.equal(server.asked.length, 1);
  });

  for (const when of ['status 200', 'data'] as const) {
    it(`in the midst of what it is told is the last that it hears: ${when}`, async () => {
      await using server = await RawServer.listen(request => request.answer(Buffer.alloc(100_000)));
      await using hotline = open(server.origin, { connections: 1, ...server.proven() });
      const first = watch(hotline, '/first', {}, (event, { controller }) => {
        if (event === when) controller.abort(enough);
      });
      const second = get(hotline, '/second');
      await first.done;
      assert.equal((await second).length, 100_000);
      assert.deepEqual(first.events.slice(-2), [when, 'error enough']);
      assert.equal(server.asked.length, 2);
    });
  }

  it('twice, or after its end, does nothing', async () => {
    await using server = await RawServer.listen();
    await using hotline = open(server.origin, { connections: 1, ...server.proven() });
    const [first, second] = [watch(hotline, '/first'), watch(hotline, '/second')];
    await server.came(2);
    first.controller.abort(enough);
    first.controller.abort(new Error('again'));
    server.answerAlways();
    await second.done;
    second.controller.abort(enough);
    assert.deepEqual(first.events, ['start', 'error enough']);
    assert.deepEqual(second.events, ['start', 'status 200', 'data', 'end']);
    assert.equal(hotline.stats()[server.origin].done, 1);
    assert.equal(hotline.stats()[server.origin].failed, 1);
  });

  it('from within what another connection is told leaves that one alone', async () => {
    await using server = await RawServer.listen(request => request.answer(Buffer.alloc(1_000_000)));
    await using hotline = open(server.origin);
    const paused = watch(hotline, '/paused', { method: 'POST' }, (event, { controller }) => {
      if (event === 'data') controller.pause();
    });
    await until(() => paused.events.includes('data'));
    const other = watch(hotline, '/other', { method: 'POST' }, event => {
      if (event === 'data') paused.controller.abort(enough);
    });
    await other.done;
    assert.equal(other.error, null);
    assert.equal(other.body.length, 1_000_000);
  });

  it('when it is about to be sent again leaves it unsent', async () => {
    await using server = await RawServer.listen();
    await using hotline = open(server.origin, { connections: 1, ...server.proven() });
    const reads = ['/first', '/second'].map(path => watch(hotline, path));
    const listen = () => reads[0].controller.abort(enough);
    await server.came(2);
    server.onRequest = request => request.answer();
    subscribe('hotlane:http:retry', listen);
    server.wires[0].socket.destroy();
    await Promise.all(reads.map(({ done }) => done));
    unsubscribe('hotlane:http:retry', listen);
    await get(hotline, '/after');
    assert.equal(server.of('/first').length, 1);
    assert.equal(server.of('/second').length, 2);
  });

  it('when another fails leaves nothing of it to be sent again', async () => {
    await using server = await RawServer.listen();
    await using hotline = open(server.origin, { connections: 1, ...server.proven() });
    const second: ReturnType<typeof watch>[] = [];
    // Its connection is lost with its response begun: it fails, and in the midst of that gives up the other.
    const first = watch(hotline, '/first', {}, event => {
      if (event.startsWith('error')) second[0].controller.abort(enough);
    });
    second.push(watch(hotline, '/second'));
    await server.came(2);
    server.asked[0].send(head(['Content-Length: 20']));
    await until(() => first.events.includes('status 200'));
    server.onRequest = request => request.answer();
    server.wires[0].socket.destroy();
    await Promise.all([first.done, second[0].done]);
    await get(hotline, '/after');
    assert.equal(server.of('/second').length, 1);
    assert.equal(second[0].error, enough);
  });
});

describe('a signal', () => {
  it('aborts a request, before and after its headers, and a body that is read', async () => {
    await using server = await RawServer.listen();
    await using hotline = open(server.origin, { connections: 1, ...server.proven() });
    const [early, late] = [new AbortController(), new AbortController()];
    const first = failure(get(hotline, '/early', { signal: early.signal }));
    const answer = hotline.request({ method: 'GET', path: '/late', signal: late.signal });
    const [, asked] = await server.came(2);
    early.abort();
    assert.equal((await first).name, 'AbortError');
    server.asked[0].answer();
    asked.send(head(['Content-Length: 20']));
    const { body } = await answer;
    const text = failure(body.text());
    late.abort(enough);
    assert.equal(await text, enough);
  });

  it('that has aborted already sends nothing', async () => {
    await using server = await RawServer.listen(request => request.answer());
    await using hotline = open(server.origin);
    const error = await failure(get(hotline, '/first', { signal: AbortSignal.abort(enough) }));
    assert.equal(error, enough);
    await get(hotline, '/after');
    assert.equal(server.asked.length, 1);
  });

  it('aborts stream()', async () => {
    await using server = await RawServer.listen();
    await using hotline = open(server.origin);
    const stop = new AbortController();
    const { Writable } = await import('node:stream');
    const stream = hotline.stream(
      { method: 'GET', path: '/', signal: stop.signal },
      () => new Writable({ write: (_chunk, _encoding, done) => done() }),
    );
    const [asked] = await server.came(1);
    asked.send(head(['Content-Length: 20']));
    asked.send('0123456789');
    await aWhile();
    stop.abort(enough);
    assert.equal(await failure(stream), enough);
  });

  it('aborts fetch(), before its headers and while its body comes', async () => {
    for (const withHead of [false, true]) {
      await using server = await RawServer.listen();
      await using hotline = open(server.origin);
      const stop = new AbortController();
      const answer = fetch(`${server.origin}/${withHead}`, { signal: stop.signal, dispatcher: hotline });
      await until(() => server.of(`/${withHead}`).length === 1);
      if (withHead) {
        server.of('/true')[0].send(head(['Content-Length: 20']));
        const text = failure((await answer).text());
        stop.abort();
        assert.equal((await text).name, 'AbortError');
      } else {
        stop.abort();
        assert.equal((await failure(answer)).name, 'AbortError');
      }
    }
  });
});

describe('a timeout', () => {
  for (const where of ['a request', 'all requests'] as const) {
    it(`for the headers of ${where} fails the late one only`, async () => {
      await using server = await RawServer.listen();
      const late = { headersTimeout: 100 };
      await using hotline = open(server.origin, {
        connections: 1,
        ...server.proven(),
        ...(where === 'all requests' && late),
      });
      const first = failure(get(hotline, '/late', where === 'a request' ? late : {}));
      const others = ['/a', '/b'].map(path => get(hotline, path));
      await server.came(3);
      server.onRequest = request => request.answer();
      assert.equal((await first).code, 'UND_ERR_HEADERS_TIMEOUT');
      assert.deepEqual(await Promise.all(others), ['/a', '/b']);
      assert.equal(server.of('/late').length, 1);
    });

    it(`for the body of ${where} fails the late one only`, async () => {
      await using server = await RawServer.listen();
      const late = { bodyTimeout: 100 };
      await using hotline = open(server.origin, {
        connections: 1,
        ...server.proven(),
        ...(where === 'all requests' && late),
      });
      const first = failure(get(hotline, '/late', where === 'a request' ? late : {}));
      const others = ['/a', '/b'].map(path => get(hotline, path));
      await server.came(3);
      server.asked[0].send(head(['Content-Length: 20']));
      server.onRequest = request => request.answer();
      assert.equal((await first).code, 'UND_ERR_BODY_TIMEOUT');
      assert.deepEqual(await Promise.all(others), ['/a', '/b']);
    });
  }
});
