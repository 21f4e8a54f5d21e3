import assert from 'node:assert/strict';
import { test } from 'node:test';
import { status } from '@grpc/grpc-js';
import { workers } from '@hotlane/grpc';
import { Auto, TO_INLINE_MS, TO_LANES_MS } from '../src/auto.ts';
import { Probe } from './fixtures/probe.ts';
import { fixture, serve } from './kit/serve.ts';

// ---- inline and auto ------------------------------------------------------------------------------------

test('inline runs on the host, all kinds, and starts no lane', async t => {
  const { client, service } = await serve(t, { mode: 'inline', lanes: { min: 0, max: 1 } });
  assert.equal((await client.ask({ text: 'echo' })).answer?.lane, 0);
  assert.equal((await client.add([{ number: 1 }])).answer?.number, 1);
  assert.equal((await client.count({ number: 5 })).answers.length, 5);
  assert.equal((await client.chat([{}, {}])).answers.length, 2);
  assert.deepEqual(service.stats().lanes, []);
  const thrown = await client.ask({ text: 'throw' });
  assert.deepEqual([thrown.code, thrown.details], [status.UNKNOWN, 'thrown in the handler']);
  const streamed = await client.count({ text: 'throw' });
  assert.deepEqual([streamed.code, streamed.details], [status.UNKNOWN, 'thrown at once']);
});

test('inline takes async functions and generators too', async t => {
  const { client } = await serve(t, { mode: 'inline', handlers: fixture('modern-handlers.ts') });
  assert.equal((await client.ask({ text: 'hi' })).answer?.text, 'hi there');
  assert.equal((await client.add([{ number: 2 }])).answer?.number, 2);
  assert.equal((await client.count({ number: 50 })).answers.length, 50);
  const failed = await client.count({ text: 'throw', number: 3 });
  assert.deepEqual([failed.answers.length, failed.code], [3, status.UNAUTHENTICATED]);
});

test('inline says what cannot be loaded, and what there is not', async t => {
  const missing = await serve(t, { mode: 'inline', handlers: fixture('none.ts') });
  const { code, details } = await missing.client.ask({});
  assert.equal(code, status.UNAVAILABLE);
  assert.match(details, /cannot be loaded/);
  const partly = await serve(t, { mode: 'inline', handlers: fixture('one-handler.ts') });
  assert.equal((await partly.client.count({})).code, status.UNIMPLEMENTED);
});

test('a method may have a mode of its own, by either of its names', async t => {
  const { client, service } = await serve(t, { mode: 'inline', methods: { ask: { mode: 'lanes' } } });
  assert.equal((await client.ask({ text: 'echo' })).answer?.lane, 1);
  const counted = await client.count({ number: 1 });
  assert.equal(counted.answer?.lane, 0);
  assert.deepEqual(service.stats().methods, {
    Ask: { runs: 'lanes' },
    Add: { runs: 'inline' },
    Count: { runs: 'inline' },
    Chat: { runs: 'inline' },
  });
});

test('auto keeps a quick method inline, and moves one that keeps the thread to lanes and back', async t => {
  const { client, service } = await serve(t, { mode: 'auto' });
  await service.ready();
  const runs = () => service.stats().methods.Ask?.runs;
  const laneOf = async (question: object) => (await client.ask(question)).answer?.lane;
  // While others use the machine a quick call may take long. It ends inline all the same.
  for (let i = 0; i < 100; i++) await client.ask({ text: 'echo' });
  while ((await laneOf({ text: 'echo' })) !== 0 || runs() !== 'inline') {}
  while ((await laneOf({ text: 'work', number: 5 })) !== 1 || runs() !== 'lanes') {}
  while ((await laneOf({ text: 'echo' })) !== 0 || runs() !== 'inline') {}
});

test('auto answers as lanes do: statuses, metadata, errors', async t => {
  const { client } = await serve(t, { mode: 'auto' });
  for (let i = 0; i < 3; i++) {
    const { code, details, trailers } = await client.ask({ text: 'status' });
    assert.deepEqual([code, details], [status.NOT_FOUND, 'no such thing: ü']);
    assert.deepEqual(trailers.get('why'), ['because']);
    const thrown = await client.ask({ text: 'throw' });
    assert.deepEqual([thrown.code, thrown.details], [status.UNKNOWN, 'thrown in the handler']);
    const told = await client.ask({ text: 'metadata' }, { metadata: { asked: 'this' } });
    assert.deepEqual(told.headers.get('from-handler'), ['early']);
    assert.deepEqual(told.trailers.get('got'), ['this']);
  }
});

test('auto says what it cannot read or write, and takes the first answer', async t => {
  const modern = await serve(t, { mode: 'auto', handlers: fixture('modern-handlers.ts') });
  const plain = await serve(t, { mode: 'auto' });
  for (const { client, service } of [modern, plain]) {
    while (service.stats().methods.Ask?.runs !== 'inline') await client.ask({});
  }
  const { code, details } = await modern.client.ask({ text: 'unwritable' });
  assert.equal(code, status.INTERNAL);
  assert.match(details, /^Error serializing response: /);
  const broken = await new Promise<any>(resolve => {
    const read = (bytes: Buffer) => bytes;
    const write = () => Buffer.from([255]);
    modern.client.stub.makeUnaryRequest('/hotlane.test.Probe/Ask', write, read, {}, resolve);
  });
  assert.equal(broken.code, status.INTERNAL);
  assert.match(broken.details, /^Error deserializing request: /);
  assert.equal((await plain.client.ask({ text: 'twice' })).answer?.text, 'first');
});

test('auto moves for one slow call in ten, not for one in a hundred, and not to and fro', () => {
  const auto = new Auto();
  auto.add(1.5); // cold
  for (let i = 0; i < 50; i++) auto.add(0.01);
  assert.equal(auto.isInline, true);
  auto.add(300); // a collection of garbage
  assert.equal(auto.isInline, true);
  for (let i = 0; i < 100; i++) auto.add(i % 10 === 0 ? 100 : 0.01);
  assert.equal(auto.isInline, false);
  for (let i = 0; i < 500; i++) auto.add((TO_LANES_MS + TO_INLINE_MS) / 2); // between the two it stays
  assert.equal(auto.isInline, false);
  for (let i = 0; i < 500; i++) auto.add(0.01);
  assert.equal(auto.isInline, true);
});

test('auto moves what takes milliseconds with its first call', () => {
  const auto = new Auto();
  auto.add(20);
  assert.equal(auto.isInline, false);
});

test('on lanes auto asks for the time of one call in four', () => {
  const auto = new Auto();
  assert.equal(Array.from({ length: 40 }, () => auto.timesNext()).filter(Boolean).length, 10);
});

// ---- bad input ------------------------------------------------------------------------------------------

test('options say what was expected, what came, and what there is', () => {
  const url = fixture('handlers.ts');
  const make =
    (options: any, definition: any = Probe.service) =>
    () =>
      workers(definition, url, options);
  for (const [bad, message] of [
    [make({ mode: 'fast' }), /Option `mode`: expected 'lanes', 'inline' or 'auto', got "fast"/],
    [make({ methods: { asking: {} } }), /the service has no `asking`. It has `Ask`, `Add`, `Count`, `Chat`/],
    [make({ methods: { ask: { made: 1 } } }), /`methods\.ask`: there is no `made`. Known are `mode`/],
    [make({ methods: { ask: { mode: 1 } } }), /Option `methods\.ask\.mode`: expected .*, got 1/],
    [make({ methods: { ask: { priority: 0.5 } } }), /`priority`/],
    [make({ methods: [] }), /Option `methods`: expected an object, got an array of 0/],
    [make({ loader: true }), /Option `loader`: expected an object, got true/],
    [make({ deadlineMs: 5 }), /the deadline that its client gave/],
    [make({ lanes: 0 }), /Option `lanes`/],
    [make({ nothing: 1 }), /there is no `nothing`/],
    [make(null), /expected options, got null/],
    [make({}, null), /expected a service definition first, got null/],
    [make({}, {}), /has no methods/],
    [make({}, { service: Probe.service }), /its `service` is no method/],
    [() => workers(Probe.service, 7 as never), /Task module/],
  ] as const) {
    assert.throws(bad, error => {
      assert.equal((error as { code?: string }).code, 'ERR_HOTLANE_OPTION');
      assert.match((error as Error).message, message);
      return true;
    });
  }
});
