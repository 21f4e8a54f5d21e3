import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { describe, it } from 'node:test';
import { Hotline, type TrustMessage, type TrustRecord } from '@hotlane/http';
import { Link } from '../src/link.ts';
import { Trust } from '../src/trust.ts';
import { failure, get, open } from './kit/ask.ts';
import { leavesNothingBehind } from './kit/leftovers.ts';
import { RawServer, until } from './kit/raw-server.ts';

leavesNothingBehind();

const T = 1_000_000;
const unknown: TrustRecord = { state: 'unknown', depth: 2, strikes: 0, brokenUntil: 0, closesAfter: 0 };

function trustOf(deepest = 16): { trust: Trust; told: string[] } {
  const told: string[] = [];
  return { trust: new Trust(deepest, state => told.push(state)), told };
}

/** When it is over that an origin is held to be broken. */
function brokenUntil(trust: Trust, now: number): number {
  return trust.export(now).brokenUntil;
}

describe('trust in an origin', () => {
  it('begins with two requests at once on one connection only', () => {
    const { trust } = trustOf();
    assert.equal(trust.state(T), 'unknown');
    assert.equal(trust.depth(true, T), 2);
    assert.equal(trust.depth(false, T), 1);
  });

  it('grows by one with each pipelined response, up to the deepest', () => {
    const { trust, told } = trustOf(6);
    const depths = Array.from({ length: 6 }, () => {
      trust.onPipelined();
      return trust.depth(false, T);
    });
    assert.deepEqual(depths, [4, 5, 6, 6, 6, 6]);
    assert.deepEqual(told, ['proven']);
  });

  it('never asks for more than the deepest, whatever else is known', () => {
    const { trust } = trustOf(1);
    assert.equal(trust.depth(true, T), 1);
    trust.onPipelined();
    assert.equal(trust.depth(true, T), 1);
    trust.import({ ...unknown, state: 'proven', depth: 9 });
    assert.equal(trust.depth(true, T), 1);
  });

  it('is lost for a while when pipelines break, and begins anew after that', () => {
    const { trust, told } = trustOf();
    trust.onPipelined();
    trust.onBroken('closed', T);
    const end = brokenUntil(trust, T);
    assert.equal(trust.depth(true, T), 1);
    assert.equal(trust.state(end - 1), 'broken');
    assert.equal(trust.state(end), 'unknown');
    assert.equal(trust.depth(true, end), 2);
    assert.deepEqual(told, ['proven', 'broken', 'unknown']);
  });

  it('is not lost for longer than that by a clock that goes back, or by one that is elsewhere', () => {
    const { trust } = trustOf();
    trust.onBroken('closed', T);
    assert.equal(trust.state(T - 86_400_000), 'unknown');
    trust.import({ ...unknown, state: 'broken', brokenUntil: Number.MAX_VALUE });
    assert.equal(trust.state(T), 'unknown');
  });

  it('is lost for longer each time, but never for longer than ten minutes', () => {
    const { trust } = trustOf();
    let now = T;
    const breaks: number[] = [];
    for (let strike = 0; strike < 12; strike++) {
      trust.onBroken('closed', now);
      const end = brokenUntil(trust, now);
      breaks.push(end - now);
      now = end;
      trust.state(now);
    }
    assert.deepEqual(breaks.slice(0, 4), [5_000, 10_000, 20_000, 40_000]);
    assert.equal(breaks.at(-1), 600_000);
  });

  it('counts what was on its way when pipelines broke as the same break', () => {
    const { trust } = trustOf();
    trust.onBroken('closed', T);
    trust.onBroken('closed', T + 1);
    assert.equal(trust.export(T + 1).strikes, 1);
  });

  it('forgets a strike after many pipelined responses', () => {
    const { trust } = trustOf();
    trust.onBroken('closed', T);
    trust.state(brokenUntil(trust, T));
    for (let i = 0; i < 256; i++) trust.onPipelined();
    assert.equal(trust.export(T).strikes, 0);
  });

  it('halves the depth when a response made others wait for very long', () => {
    const { trust } = trustOf();
    for (let i = 0; i < 20; i++) trust.onPipelined();
    trust.onSlow();
    assert.equal(trust.depth(false, T), 8);
    for (let i = 0; i < 9; i++) trust.onSlow();
    assert.equal(trust.depth(false, T), 2);
  });

  it('learns after how many responses the origin says that it closes, and that it does so no longer', () => {
    const { trust } = trustOf();
    trust.onAnswered(3, true);
    assert.equal(trust.closesAfter, 3);
    trust.onAnswered(2, false);
    assert.equal(trust.closesAfter, 3);
    trust.onAnswered(3, false);
    assert.equal(trust.closesAfter, Number.POSITIVE_INFINITY);
  });

  it('goes through JSON and is the same', () => {
    const { trust } = trustOf();
    trust.onBroken('closed', T);
    trust.onAnswered(7, true);
    const other = trustOf();
    other.trust.import(JSON.parse(JSON.stringify(trust.export(T))));
    assert.deepEqual(other.trust.export(T), trust.export(T));
    assert.equal(other.trust.closesAfter, 7);
  });
});

describe('what is known of a link', () => {
  it('has the shortest round trip, until that is old', () => {
    const link = new Link();
    link.onConnected(30, true, T);
    link.onConnected(20, true, T + 1);
    link.onConnected(50, true, T + 2);
    assert.equal(link.rttMs, 20);
    link.onConnected(50, true, T + 120_000);
    assert.equal(link.rttMs, 50);
  });

  it('takes no round trip from a connection with TLS', () => {
    const link = new Link();
    link.onConnected(30, false, T);
    assert.equal(link.rttMs, 0);
    assert.equal(link.connectMs, 30);
  });

  it('tells the time that the server thinks from the way there and back', () => {
    const link = new Link();
    link.onConnected(20, true, T);
    link.onFirstByte(T, T, 0, T + 120);
    assert.equal(link.thinkMs, 100);
    assert.equal(link.rttMs, 20);
  });

  it('tells the time that the server thinks from the time that other bytes take', () => {
    const link = new Link();
    link.onConnected(20, true, T);
    link.received = 10_000;
    link.onRest(T, 0, T + 100);
    assert.equal(link.rate, 100);
    // Those of another connection fill the link for 50 ms of the 60 that this response takes.
    link.received += 5_000;
    assert.equal(link.overdueMs(T, T, 10_000, T + 60), 10);
  });

  it('counts from the end of the response before it where that is later than its own round trip', () => {
    const link = new Link();
    link.onConnected(20, true, T);
    assert.equal(link.overdueMs(T, T + 100, 0, T + 130), 30);
    assert.equal(link.overdueMs(T + 95, T + 100, 0, T + 130), 15);
  });

  it('takes the rate of the body that came fastest', () => {
    const link = new Link();
    for (const [bytes, ms] of [
      [10_000, 200],
      [10_000, 100],
      [10_000, 1_000],
    ]) {
      const before = link.received;
      link.received += bytes;
      link.onRest(T, before, T + ms);
    }
    assert.equal(link.rate, 100);
  });

  it('takes no rate from a body that drips', () => {
    const link = new Link();
    link.received = 2;
    link.onRest(T, 0, T + 200);
    assert.equal(link.rate, 0);
  });
});

describe('an origin', () => {
  it('that closes with requests outstanding gets one at a time, and all are answered', async () => {
    await using server = await RawServer.listen();
    await using hotline = open(server.origin, { connections: 1, ...server.proven() });
    const answers = ['/a', '/b', '/c', '/d'].map(path => get(hotline, path));
    await server.came(4);
    server.asked[0].answer();
    await answers[0];
    server.onRequest = request => request.answer();
    server.wires[0].socket.destroy();
    assert.deepEqual(await Promise.all(answers), ['/a', '/b', '/c', '/d']);
    assert.equal(hotline.stats()[server.origin].trust, 'broken');
    await Promise.all(Array.from({ length: 10 }, () => get(hotline, '/x')));
    assert.deepEqual([...new Set(server.asked.slice(4).map(({ outstanding }) => outstanding))], [0]);
    assert.equal(hotline.stats()[server.origin].retried, 3);
  });

  it('that was broken until now is tried again with two at once', async () => {
    await using server = await RawServer.listen();
    const record = { ...unknown, state: 'broken' as const, strikes: 1, brokenUntil: Date.now() - 1 };
    await using hotline = open(server.origin, { connections: 1, trust: { [server.origin]: record } });
    const answers = ['/a', '/b', '/c'].map(path => get(hotline, path));
    await server.came(2);
    assert.equal(server.asked[1].outstanding, 1);
    server.answerAlways();
    await Promise.all(answers);
    assert.equal(hotline.trust()[server.origin].state, 'proven');
  });

  it('that is broken for a while yet gets one at a time', async () => {
    await using server = await RawServer.listen(request => request.answer());
    const record = { ...unknown, state: 'broken' as const, strikes: 1, brokenUntil: Date.now() + 600_000 };
    await using hotline = open(server.origin, { connections: 1, trust: { [server.origin]: record } });
    await Promise.all(['/a', '/b', '/c'].map(path => get(hotline, path)));
    assert.deepEqual(
      server.asked.map(({ outstanding }) => outstanding),
      [0, 0, 0],
    );
  });

  it('that answers what cannot be is broken', async () => {
    await using server = await RawServer.listen(request =>
      request.path === '/bad' ? request.send('nonsense\r\n\r\n') : request.answer(),
    );
    await using hotline = open(server.origin, { connections: 1 });
    assert.match(String((await failure(get(hotline, '/bad'))).name), /HTTPParserError/);
    assert.equal(hotline.trust()[server.origin].state, 'broken');
    assert.equal(await get(hotline, '/good'), '/good');
  });

  it('that says when it closes is asked for no more than that on a connection', async () => {
    await using server = await RawServer.listen(request => {
      const last = request.connection.asked.length % 3 === 0;
      request.answer(request.path, last ? ['Connection: close'] : []);
      if (last) request.connection.socket.end();
    });
    await using hotline = open(server.origin, { connections: 1, ...server.proven() });
    for (let i = 0; i < 3; i++) await get(hotline, `/${i}`);
    assert.equal(hotline.trust()[server.origin].closesAfter, 3);
    const paths = Array.from({ length: 12 }, (_, i) => `/then-${i}`);
    assert.deepEqual(await Promise.all(paths.map(path => get(hotline, path))), paths);
    assert.equal(hotline.stats()[server.origin].retried, 0);
    assert.equal(hotline.trust()[server.origin].state, 'proven');
  });

  it('tells of its trust through a diagnostics channel', async () => {
    const messages: TrustMessage[] = [];
    const listen = (message: unknown) => void messages.push(message as TrustMessage);
    subscribe('hotlane:http:trust', listen);
    await using server = await RawServer.listen();
    await using hotline = open(server.origin, { connections: 1 });
    const answers = ['/a', '/b', '/c', '/d', '/e'].map(path => get(hotline, path));
    await server.came(2);
    server.asked[0].answer();
    await server.came(3);
    assert.equal(messages.length, 0, 'the first was sent as if there were no pipelines');
    server.asked[1].answer();
    await server.came(5);
    server.onRequest = request => request.answer();
    server.wires[0].socket.destroy();
    await Promise.all(answers);
    unsubscribe('hotlane:http:trust', listen);
    assert.deepEqual(
      messages.map(({ origin, state }) => [origin, state]),
      [
        [server.origin, 'proven'],
        [server.origin, 'broken'],
      ],
    );
    assert.match(messages[1].why, /3 pipelined requests/);
  });

  it('is trusted by another Hotline as far as by the first', async () => {
    await using server = await RawServer.listen();
    await using first = open(server.origin, { connections: 1 });
    const answers = ['/a', '/b', '/c'].map(path => get(first, path));
    await server.came(2);
    server.answerAlways();
    await Promise.all(answers);
    const trust = JSON.parse(JSON.stringify(first.trust()));
    server.onRequest = () => {};
    await using second = open(server.origin, { connections: 1, trust });
    const more = ['/d', '/e', '/f', '/g'].map(path => get(second, path));
    await until(() => server.wires[1]?.waiting.length === 4);
    server.answerAlways();
    await Promise.all(more);
  });
});

describe('records of trust that were not made by a Hotline', () => {
  const bad: [string, unknown][] = [
    ['no object', 'proven'],
    ['a record that is null', { 'http://a': null }],
    ['a state that there is not', { 'http://a': { ...unknown, state: 'blind' } }],
    ['a depth below two', { 'http://a': { ...unknown, depth: 0 } }],
    ['strikes that are no number', { 'http://a': { ...unknown, strikes: 'many' } }],
    ['a time that is not finite', { 'http://a': { ...unknown, brokenUntil: Number.POSITIVE_INFINITY } }],
  ];
  for (const [what, trust] of bad) {
    it(`are refused: ${what}`, () => {
      assert.throws(() => new Hotline({ trust: trust as never }), {
        code: 'ERR_HOTLANE_OPTION',
        message: /`trust.*expected what `hotline.trust\(\)` gave/,
      });
    });
  }

  it('are taken as they were given by a Hotline with any depth', async () => {
    for (const maxDepth of [1, 2, 5]) {
      await using server = await RawServer.listen(request => request.answer());
      await using hotline = open(server.origin, { maxDepth });
      await get(hotline, '/');
      const trust = hotline.trust();
      await using other = open(server.origin, { trust });
      assert.deepEqual(Object.keys(other.trust()), [server.origin]);
    }
  });
});
