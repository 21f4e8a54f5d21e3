import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { get, open, watch } from './kit/ask.ts';
import { leavesNothingBehind } from './kit/leftovers.ts';
import { aWhile, RawServer, until } from './kit/raw-server.ts';

leavesNothingBehind();

/** Bytes of which none is like those beside it. */
function pattern(length: number): Buffer {
  return Buffer.from(Uint32Array.from({ length: length / 4 }, (_, i) => i).buffer);
}

const LITTLE = pattern(100_000);
const MUCH = pattern(4_000_000);

describe('a reader that pauses', () => {
  it('gets all of it, in order, and only while it does not', async () => {
    await using server = await RawServer.listen(request => request.answer(MUCH));
    await using hotline = open(server.origin);
    let paused = false;
    const read = watch(hotline, '/', {}, (event, { controller }) => {
      if (event !== 'data') return;
      assert.equal(paused, false, 'told while paused');
      paused = true;
      controller.pause();
      setImmediate(() => {
        paused = false;
        controller.resume();
      });
    });
    await read.done;
    assert.equal(read.error, null);
    assert.ok(read.body.equals(MUCH));
    assert.equal(read.events.at(-1), 'end');
  });

  it('hears of the end when it goes on, not before', async () => {
    await using server = await RawServer.listen(request => request.answer());
    await using hotline = open(server.origin, { connections: 1, ...server.proven() });
    const read = watch(hotline, '/first', {}, (event, { controller }) => {
      if (event === 'data') controller.pause();
    });
    assert.equal(await get(hotline, '/second'), '/second');
    await aWhile();
    assert.equal(read.events.at(-1), 'data');
    read.controller.resume();
    assert.equal(read.events.at(-1), 'end');
  });

  it('does not hold up those behind it while there is little', async () => {
    await using server = await RawServer.listen();
    await using hotline = open(server.origin, { connections: 1, ...server.proven() });
    const read = watch(hotline, '/first', {}, (event, { controller }) => {
      if (event === 'data') controller.pause();
    });
    const behind = [get(hotline, '/second'), get(hotline, '/third')];
    await server.came(3);
    server.onRequest = request => request.answer();
    server.asked[0].answer(LITTLE);
    for (const request of server.asked.slice(1)) request.answer();
    assert.deepEqual(await Promise.all(behind), ['/second', '/third']);
    assert.equal(read.events.filter(event => event === 'data').length, 1);
    while (!read.isDone) read.controller.resume();
    assert.ok(read.body.equals(LITTLE));
    assert.equal(server.wires.length, 1);
  });

  it('has those behind it move elsewhere when there is much', async () => {
    await using server = await RawServer.listen();
    await using hotline = open(server.origin, { connections: 2, ...server.proven() });
    const read = watch(hotline, '/first', {}, (event, { controller }) => {
      if (event === 'data') controller.pause();
    });
    const behind = [get(hotline, '/second'), get(hotline, '/third')];
    await server.came(3);
    server.onRequest = request => request.answer();
    server.asked[0].answer(MUCH);
    assert.deepEqual(await Promise.all(behind), ['/second', '/third']);
    assert.deepEqual(
      server.of('/second', '/third').map(({ connection }) => connection.index),
      [0, 0, 1, 1],
    );
    const first = read.body.length;
    await aWhile();
    assert.equal(read.body.length, first, 'told while paused');
    while (!read.isDone) {
      read.controller.resume();
      await new Promise(setImmediate);
    }
    assert.ok(read.body.equals(MUCH));
    await until(() => server.wires[0].closed);
  });

  it('before its headers has them, and its body when it goes on', async () => {
    await using server = await RawServer.listen(request => request.answer());
    await using hotline = open(server.origin);
    const read = watch(hotline, '/first', {}, (event, { controller }) => {
      if (event === 'start') controller.pause();
    });
    await until(() => read.events.includes('status 200'));
    await aWhile();
    assert.deepEqual(read.events, ['start', 'status 200']);
    read.controller.resume();
    await read.done;
    assert.deepEqual(read.events, ['start', 'status 200', 'data', 'end']);
  });

  it('and goes on in the same moment misses nothing', async () => {
    await using server = await RawServer.listen(request => request.answer(MUCH));
    await using hotline = open(server.origin, { connections: 1, ...server.proven() });
    const reads = ['/a', '/b'].map(path =>
      watch(hotline, path, {}, (event, { controller }) => {
        if (event === 'end' || event === 'start') return;
        controller.pause();
        controller.resume();
      }),
    );
    await Promise.all(reads.map(({ done }) => done));
    for (const read of reads) assert.ok(read.body.equals(MUCH));
  });

  it('while what was held is handed over gets the rest later, in order', async () => {
    await using server = await RawServer.listen();
    await using hotline = open(server.origin, { connections: 1, ...server.proven() });
    const read = watch(hotline, '/first', {}, (event, { controller }) => {
      if (event === 'data') controller.pause();
    });
    const second = get(hotline, '/second');
    await server.came(2);
    server.asked[0].answer(LITTLE);
    server.asked[1].answer();
    await second;
    for (let goes = 0; !read.isDone; goes++) {
      assert.equal(read.events.filter(event => event === 'data').length, goes + 1);
      read.controller.resume();
    }
    assert.ok(read.body.equals(LITTLE));
  });

  it('may be one that goes on from within what another connection is told', async () => {
    await using server = await RawServer.listen(request => request.answer(pattern(1_000_000)));
    await using hotline = open(server.origin);
    const paused = watch(hotline, '/paused', { method: 'POST' }, (event, { controller, events }) => {
      if (event === 'data' && events.length === 3) controller.pause();
    });
    await until(() => paused.events.includes('data'));
    const other = watch(hotline, '/other', { method: 'POST' }, event => {
      if (event === 'data') paused.controller.resume();
    });
    await Promise.all([other.done, paused.done]);
    for (const read of [other, paused]) assert.ok(read.body.equals(pattern(1_000_000)));
  });
});

describe('a body that nobody reads', () => {
  it('holds up nobody else, and fails when its connection is lost', async () => {
    await using server = await RawServer.listen(request =>
      request.path === '/unread' ? request.answer(MUCH) : request.answer(),
    );
    await using hotline = open(server.origin, server.proven());
    const { body } = await hotline.request({ method: 'GET', path: '/unread' });
    for (let i = 0; i < 5; i++) assert.equal(await get(hotline, `/${i}`), `/${i}`);
    const failed = new Promise<Error>(resolve => body.on('error', resolve));
    await aWhile();
    server.of('/unread')[0].connection.socket.resetAndDestroy();
    body.resume();
    assert.ok((await failed) instanceof Error);
    assert.equal(await get(hotline, '/after'), '/after');
  });

  it('is dumped where that is asked for, and its connection goes on', async () => {
    await using server = await RawServer.listen(request => request.answer(LITTLE));
    await using hotline = open(server.origin, { connections: 1 });
    const { body } = await hotline.request({ method: 'GET', path: '/unread' });
    await body.dump();
    await get(hotline, '/after');
    assert.equal(server.wires.length, 1);
  });
});
