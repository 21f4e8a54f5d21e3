import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { status } from '@grpc/grpc-js';
import type { ProbeClient } from './kit/client.ts';
import { fixture, type ServeOptions, serve, shared } from './kit/serve.ts';

const plain = shared();

/** Waits until the lane has seen something. The test's own timeout bounds it. */
async function seen(client: ProbeClient, what: string): Promise<void> {
  let all = '';
  while (!all.includes(what)) {
    await sleep(5);
    all += ` ${(await client.ask({ text: 'seen' })).answer?.text}`;
  }
}

// ---- deadlines and cancelling ---------------------------------------------------------------------------

test('a deadline ends the call, and the handler hears of it', async () => {
  const { client } = await plain();
  await client.ask({ text: 'seen' });
  const { code } = await client.ask({ text: 'never' }, { deadline: Date.now() + 200 });
  assert.equal(code, status.DEADLINE_EXCEEDED);
  await seen(client, 'began aborted cancelled:true');
});

test('a client that cancels is heard by the handler of each kind of call', async () => {
  const { client } = await plain();
  const asking = client.asking({ text: 'never' });
  await seen(client, 'began');
  asking.call.cancel();
  assert.equal((await asking.outcome).code, status.CANCELLED);
  await seen(client, 'cancelled:true');

  const adding = client.adding();
  adding.call.write({ text: 'hold' });
  const counting = client.counting({ number: 1_000_000 });
  const chatting = client.chatting();
  chatting.call.write({ text: 'hold' });
  await new Promise(resolve => chatting.call.once('data', resolve));
  await new Promise(resolve => counting.call.once('data', resolve));
  for (const { call, outcome } of [adding, counting, chatting]) {
    call.cancel();
    assert.equal((await outcome).code, status.CANCELLED);
  }
  // Streams are closed after that, as everywhere in Node.
  const wanted = ['add', 'count', 'chat'].map(kind => new RegExp(`${kind} cancelled.* ${kind} closed`));
  let all = '';
  while (!wanted.every(one => one.test(all))) {
    await sleep(5);
    all += ` ${(await client.ask({ text: 'seen' })).answer?.text}`;
  }
});

/** Waits until the generators of modern handlers have told something. */
async function logged(client: ProbeClient, what: string): Promise<void> {
  let log = '';
  while (!log.includes(what)) {
    await sleep(5);
    log += (await client.ask({ text: 'log' })).answer?.text;
  }
}

for (const mode of ['lanes', 'inline'] as const) {
  test(`a generator's \`finally\` runs when its client leaves: ${mode}`, async t => {
    const { client } = await serve(t, { handlers: fixture('modern-handlers.ts'), mode });
    const { call, outcome } = client.counting({ number: 1_000_000 });
    await new Promise(resolve => call.once('data', resolve));
    call.cancel();
    await outcome;
    await logged(client, 'closed after some');
  });
}

test('an iterator that has nothing to give yet hears of it, too, when its client leaves', async t => {
  const { client } = await serve(t, { handlers: fixture('modern-handlers.ts') });
  const { call, outcome } = client.counting({ text: 'wait' }, {}, true);
  await logged(client, 'waits');
  call.cancel();
  await outcome;
  await logged(client, 'waited enough');
});

test('a loop that asks whether it is wanted stops, and its lane goes on', async () => {
  const { client } = await plain();
  const { code } = await client.ask({ text: 'loop' }, { deadline: Date.now() + 200 });
  assert.equal(code, status.DEADLINE_EXCEEDED);
  const { answer } = await client.ask({ text: 'echo' });
  assert.equal(answer?.lane, 1);
});

test('a loop that asks its call whether it was cancelled stops too', async () => {
  const { client } = await plain();
  await client.ask({ text: 'seen' });
  const { code } = await client.ask({ text: 'loop by the call' }, { deadline: Date.now() + 200 });
  assert.equal(code, status.DEADLINE_EXCEEDED);
  await seen(client, 'stopped');
  assert.equal((await client.ask({ text: 'echo' })).answer?.lane, 1);
});

test('a deadline ends a loop also while the server has no time to say so', async t => {
  const { client, counts } = await setUp(t);
  await client.ask({});
  const { outcome } = client.counting({}, { deadline: Date.now() + 500 }, true);
  while (Atomics.load(counts, 2) === 0) await sleep(5);
  // Here is the server's thread: until the loop is left it does nothing else.
  assert.notEqual(Atomics.wait(counts, 3, 0, 20_000), 'timed-out');
  assert.equal((await outcome).code, status.DEADLINE_EXCEEDED);
});

test('that a call was cancelled says nothing of another that is under way in the lane', async () => {
  const { client } = await plain();
  const keeping = client.asking({ text: 'keep' });
  await seen(client, 'kept');
  await client.ask({ text: 'loop' }, { deadline: Date.now() + 200 });
  await seen(client, 'stopped, the other false');
  keeping.call.cancel();
});

test('a handler that goes on past its grace loses its lane, and another takes its place', async t => {
  const { client, service } = await serve(t, { graceMs: 50 });
  await service.ready();
  const { code } = await client.ask({ text: 'loop on' }, { deadline: Date.now() + 300 });
  assert.equal(code, status.DEADLINE_EXCEEDED);
  const { answer } = await client.ask({ text: 'echo' });
  assert.equal(answer?.lane, 2);
});

test('a handler that never answers holds up nobody else in its lane', async () => {
  const { client, service } = await plain();
  const stuck = Array.from({ length: 20 }, () => client.asking({ text: 'never' }));
  await seen(client, 'began');
  assert.equal((await client.ask({ text: 'echo' })).code, status.OK);
  for (const { call } of stuck) call.cancel();
  await Promise.all(stuck.map(({ outcome }) => outcome));
  while (service.stats().running > 0) await sleep(5); // cancelled, they no longer count as running
  assert.equal((await client.ask({ text: 'echo' })).answer?.lane, 1); // and have cost no lane
});

// ---- lost lanes, full queues ----------------------------------------------------------------------------

test('a lost lane is UNAVAILABLE, and the next call finds another', async t => {
  const { client } = await serve(t);
  const { code, details } = await client.ask({ text: 'exit' });
  assert.equal(code, status.UNAVAILABLE);
  assert.match(details, /^Lane 1 was lost while it ran `\/hotlane\.test\.Probe\/Ask`/);
  assert.equal((await client.ask({ text: 'echo' })).answer?.lane, 2);
});

test('a stream whose lane is lost gets the messages that came, and UNAVAILABLE', async t => {
  const { client } = await serve(t);
  const { answers, code } = await client.count({ text: 'exit', number: 10 });
  assert.equal(code, status.UNAVAILABLE);
  assert.equal(answers.length, 4);
});

test('a call that may run twice outlives a lane', async t => {
  const { client } = await serve(t, { lanes: 1, methods: { ask: { idempotent: true } } });
  const outcomes = await Promise.all([
    client.ask({ text: 'later', number: 400 }), // under way when its lane is lost
    client.ask({ text: 'exit once' }),
  ]);
  assert.deepEqual(
    outcomes.map(({ code, answer }) => [code, answer?.lane]),
    [
      [status.OK, 2],
      [status.OK, 2],
    ],
  );
  assert.equal((await client.ask({ text: 'exit' })).code, status.UNAVAILABLE); // its retries are used up
});

test('a full queue is RESOURCE_EXHAUSTED at once', async t => {
  const { client } = await serve(t, { concurrency: 1, maxQueue: 1 });
  await client.ask({ text: 'echo' });
  const running = [client.asking({ text: 'never' }), client.asking({ text: 'never' })];
  let refused = await client.ask({ text: 'echo' }, { deadline: Date.now() + 10_000 });
  assert.equal(refused.code, status.RESOURCE_EXHAUSTED);
  assert.match(refused.details, /maxQueue/);
  refused = await client.count({ number: 1 });
  assert.equal(refused.code, status.RESOURCE_EXHAUSTED);
  for (const { call } of running) call.cancel();
});

test('handlers that cannot be loaded are UNAVAILABLE, with the cause', async t => {
  const { client, service } = await serve(t, { handlers: fixture('none.ts') });
  const { code, details } = await client.ask({});
  assert.equal(code, status.UNAVAILABLE);
  assert.match(details, /Cannot find module/);
  await assert.rejects(service.ready(), { code: 'ERR_HOTLANE_LANE_START' });
});

test('a module without the definition says how to give it', async t => {
  const { client } = await serve(t, { definition: undefined as never });
  const { code, details } = await client.ask({});
  assert.equal(code, status.UNAVAILABLE);
  assert.match(details, /has no definition of a service with .*option `definition`/);
});

test('a module without handlers says what was looked for', async t => {
  const { client } = await serve(t, { handlers: fixture('probe.ts') });
  assert.match((await client.ask({})).details, /has no handlers: .*Ask, Add, Count, Chat/);
});

// ---- the end --------------------------------------------------------------------------------------------

test('close() lets calls finish, and refuses the next', async t => {
  const { client, service } = await serve(t);
  await client.ask({ text: 'echo' });
  const { call, answers, outcome } = client.chatting();
  call.write({ number: 1 });
  await new Promise(resolve => call.once('data', resolve));
  const closed = service.close();
  assert.equal((await client.ask({ text: 'echo' })).code, status.UNAVAILABLE);
  call.write({ number: 2 });
  call.end();
  assert.equal((await outcome).code, status.OK);
  assert.equal(answers.length, 2);
  await closed;
  assert.deepEqual(service.stats().lanes, []);
});

test('destroy() ends what is under way with UNAVAILABLE', async t => {
  const { client, service } = await serve(t);
  const asking = client.asking({ text: 'never' });
  const { call, outcome } = client.chatting();
  call.write({ number: 1 });
  await new Promise(resolve => call.once('data', resolve));
  await service.destroy();
  assert.equal((await asking.outcome).code, status.UNAVAILABLE);
  assert.equal((await outcome).code, status.UNAVAILABLE);
});

test('lanes are replaced by fresh ones without a call that fails or waits for it', async t => {
  const { client } = await serve(t, { recycle: { afterCalls: 20 } });
  const lanes = new Set<number>();
  // Long enough in all for fresh lanes to come up beside the worn one.
  while (lanes.size < 3) {
    const outcomes = await Promise.all(Array.from({ length: 8 }, () => client.ask({ text: 'echo' })));
    for (const { code, answer } of outcomes) {
      assert.equal(code, status.OK);
      lanes.add(answer!.lane);
    }
  }
});

/** A service that is set up, and what its handlers count in memory that is shared with them. */
async function setUp(t: TestContext, options: ServeOptions = {}) {
  const counts = new Int32Array(new SharedArrayBuffer(16));
  const serving = await serve(t, {
    handlers: fixture('set-up-handlers.ts'),
    setup: 'open',
    teardown: 'close',
    data: { greeting: 'hello', counts },
    ...options,
  });
  return { ...serving, counts };
}

test('setup and teardown are exports of the module with the handlers', async t => {
  const { client, service, counts } = await setUp(t);
  const { answer } = await client.ask({});
  assert.deepEqual([answer?.text, answer?.lane], ['hello', 1]);
  assert.deepEqual([...counts], [1, 0, 0, 0]);
  await service[Symbol.asyncDispose](); // the same as close()
  assert.deepEqual([...counts], [1, 1, 0, 0]);
});

test('inline they run on the host', async t => {
  const { client, service, counts } = await setUp(t, { mode: 'inline', lanes: { min: 0, max: 1 } });
  await service.ready();
  assert.deepEqual([...counts], [1, 0, 0, 0]); // before any call
  const { answer } = await client.ask({});
  assert.deepEqual([answer?.text, answer?.lane], ['hello', 0]);
  await service.close();
  await service[Symbol.asyncDispose](); // again
  assert.deepEqual([...counts], [1, 1, 0, 0]);
});
