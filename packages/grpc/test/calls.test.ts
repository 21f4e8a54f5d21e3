import assert from 'node:assert/strict';
import { test } from 'node:test';
import { status } from '@grpc/grpc-js';
import { fixture, serve, shared } from './kit/serve.ts';

const plain = shared();
const modern = shared({ handlers: fixture('modern-handlers.ts') });

test('a unary call runs in a lane, and gets what its handler calls back with', async () => {
  const { client } = await plain();
  const { answer, code } = await client.ask({ text: 'echo', number: 7, blob: Buffer.from('bytes') });
  assert.equal(code, status.OK);
  assert.equal(answer?.number, 7);
  assert.equal(String(answer?.blob), 'bytes');
  assert.equal(answer?.lane, 1); // on the host it would be 0
});

test('an empty message is one too', async () => {
  const { client } = await plain();
  assert.equal((await client.ask({})).code, status.OK);
  assert.equal((await client.chat([{}, {}])).answers.length, 2);
});

test('a client streams, and gets one answer with its headers and trailers', async () => {
  const { client } = await plain();
  const { answer, code, headers, trailers } = await client.add([
    { number: 1 },
    { number: 2 },
    { number: 39 },
  ]);
  assert.equal(code, status.OK);
  assert.deepEqual([answer?.number, answer?.lane], [42, 1]);
  assert.deepEqual(headers.get('adds'), ['yes']);
  assert.deepEqual(trailers.get('count'), ['3']);
});

test('a client that streams nothing gets its answer', async () => {
  const { client } = await plain();
  assert.equal((await client.add([])).answer?.number, 0);
});

test('a handler may answer before it has read everything', async () => {
  const { client } = await plain();
  const { call, outcome } = client.adding();
  call.write({ number: 1 });
  call.write({ number: 2, text: 'enough' });
  const { answer, code } = await outcome; // the client has not ended
  assert.deepEqual([code, answer?.number], [status.OK, 3]);
});

test('a server streams: headers, all messages in order, trailers', async () => {
  const { client } = await plain();
  const { answers, code, headers, trailers } = await client.count({ number: 500 });
  assert.equal(code, status.OK);
  assert.deepEqual(
    answers.map(({ number }) => number),
    Array.from({ length: 500 }, (_, i) => i),
  );
  assert.deepEqual(headers.get('total'), ['500']);
  assert.deepEqual(trailers.get('written'), ['500']);
});

test('both stream, each answer while the next question is not asked yet', async () => {
  const { client } = await plain();
  const { call, answers, outcome } = client.chatting();
  for (let i = 0; i < 20; i++) {
    call.write({ number: i });
    await new Promise(resolve => call.once('data', resolve));
    assert.equal(answers.length, i + 1);
  }
  call.end();
  const { code, trailers } = await outcome;
  assert.equal(code, status.OK);
  assert.deepEqual(trailers.get('chatted'), ['enough']);
});

test('an early header of a stream reaches the client before there is any message', async () => {
  const { client } = await modern();
  const { call } = client.chatting();
  const headers = await new Promise<any>(resolve => call.on('metadata', resolve));
  assert.deepEqual(headers.get('early'), ['yes']);
  call.cancel();
});

test('metadata goes both ways: texts, bytes, several of a key', async () => {
  const { client } = await plain();
  const raw = Buffer.from([0, 255, 10]);
  const { code, headers, trailers } = await client.ask(
    { text: 'metadata' },
    { metadata: { asked: 'this', 'asked-bin': raw } },
  );
  assert.equal(code, status.OK);
  assert.deepEqual(headers.get('from-handler'), ['early']); // of two the first counts
  assert.deepEqual(trailers.get('keys'), ['asked,asked-bin,user-agent']);
  assert.deepEqual(trailers.get('got'), ['this']);
  assert.deepEqual(trailers.get('got-bin'), [raw]);
  assert.match(String(trailers.get('agent')[0]), /grpc-node/);
});

test('a call tells what it is: peer, host, path, deadline', async () => {
  const { client, address } = await plain();
  const bare = JSON.parse((await client.ask({ text: 'surface' })).answer!.text);
  assert.match(bare.peer, /^127\.0\.0\.1:\d+$/);
  assert.equal(bare.host, address);
  assert.equal(bare.path, '/hotlane.test.Probe/Ask');
  assert.equal(bare.deadline, 'never');
  assert.equal(bare.cancelled, false);
  assert.deepEqual(bare.auth, {});
  const limited = await client.ask({ text: 'surface' }, { deadline: Date.now() + 60_000 });
  assert.equal(JSON.parse(limited.answer!.text).deadline, 'a date');
});

test('a status that a handler gives arrives as it is, with its details and metadata', async () => {
  const { client } = await plain();
  const { code, details, trailers } = await client.ask({ text: 'status' });
  assert.deepEqual([code, details], [status.NOT_FOUND, 'no such thing: ü']);
  assert.deepEqual(trailers.get('why'), ['because']);
  assert.deepEqual(trailers.get('raw-bin'), [Buffer.from([1, 2, 3])]);
});

test('trailers that a handler gives beside an error go before those in it', async () => {
  const { client } = await plain();
  const { code, details, trailers } = await client.ask({ text: 'status and trailers' });
  assert.deepEqual([code, details], [status.ABORTED, 'no']);
  assert.deepEqual(trailers.get('why'), ['given beside']);
});

test('what a handler throws, or rejects with, is UNKNOWN with its message', async () => {
  const { client } = await plain();
  const thrown = await client.ask({ text: 'throw' });
  assert.deepEqual([thrown.code, thrown.details], [status.UNKNOWN, 'thrown in the handler']);
  const half = await client.ask({ text: 'half' }); // of a character, which no header can have
  assert.deepEqual([half.code, half.details], [status.UNKNOWN, 'half a \ufffd']);
  const rejected = await client.ask({ text: 'reject' });
  assert.deepEqual([rejected.code, rejected.details], [status.UNKNOWN, 'rejected in the handler']);
  const streamed = await client.count({ text: 'throw' });
  assert.deepEqual([streamed.code, streamed.details], [status.UNKNOWN, 'thrown at once']);
});

test('an error that a stream emits is its status, after what was written before it', async () => {
  const { client } = await plain();
  const { answers, code, details } = await client.count({ text: 'fail', number: 30 });
  assert.equal(answers.length, 30);
  assert.deepEqual([code, details], [status.DATA_LOSS, 'failed while writing']);
  const added = await client.add([{ text: 'fail' }]);
  assert.deepEqual([added.code, added.details], [status.ABORTED, 'failed while reading']);
});

test('the first answer counts', async () => {
  const { client } = await plain();
  const { answer, code } = await client.ask({ text: 'twice' });
  assert.deepEqual([code, answer?.text], [status.OK, 'first']);
});

test('a message that cannot be read, or written, is INTERNAL', async () => {
  const { client } = await modern();
  const { code, details } = await client.ask({ text: 'unwritable' });
  assert.equal(code, status.INTERNAL);
  assert.match(details, /^Error serializing response: /);
  const broken = await new Promise<any>(resolve => {
    client.stub.makeUnaryRequest(
      '/hotlane.test.Probe/Ask',
      () => Buffer.from([255]),
      bytes => bytes,
      {},
      resolve,
    );
  });
  assert.equal(broken.code, status.INTERNAL);
  assert.match(broken.details, /^Error deserializing request: /);
});

test('so it is for streams', async () => {
  const { client } = await modern();
  for (const [method, requestStream] of [
    ['Count', false],
    ['Chat', true],
  ] as const) {
    const path = `/hotlane.test.Probe/${method}`;
    const write = () => Buffer.from([255]);
    const read = (bytes: Buffer) => bytes;
    const call: any = requestStream
      ? client.stub.makeBidiStreamRequest(path, write, read)
      : client.stub.makeServerStreamRequest(path, write, read, {});
    if (requestStream) call.write({});
    call.on('data', () => {});
    const broken = await new Promise<any>(resolve => call.on('error', resolve));
    assert.equal(broken.code, status.INTERNAL);
    assert.match(broken.details, /Error deserializing request: /);
  }
  const counted = await client.count({ text: 'unwritable' });
  assert.equal(counted.code, status.INTERNAL);
  assert.match(counted.details, /^Error serializing response: /);
  const added = await client.add([{ text: 'unwritable' }]);
  assert.equal(added.code, status.INTERNAL);
  assert.match(added.details, /^Error serializing response: /);
});

test('handlers may be async functions and async generators', async () => {
  const { client } = await modern();
  assert.equal((await client.ask({ text: 'hi' })).answer?.text, 'hi there');
  assert.equal((await client.add([{ number: 2 }, { number: 3 }])).answer?.number, 5);
  const counted = await client.count({ number: 100 });
  assert.deepEqual([counted.code, counted.answers.length], [status.OK, 100]);
  const chatted = await client.chat([{ text: 'a' }, { text: 'b' }]);
  assert.deepEqual(
    chatted.answers.map(({ text }) => text),
    ['a!', 'b!', 'bye'],
  );
});

test('an async function that takes a callback answers with that, not with what it returns', async () => {
  const { client } = await plain();
  const { answer } = await client.ask({ text: 'return, then call back' });
  assert.equal(answer?.text, 'called back');
});

test('a generator that throws ends its stream with the error, after what it gave', async () => {
  const { client } = await modern();
  const { answers, code, details } = await client.count({ text: 'throw', number: 3 });
  assert.deepEqual([answers.length, code, details], [3, status.UNAUTHENTICATED, 'enough']);
});

test('a handler that reads with `for await` can write after the last message', async () => {
  const { client } = await modern();
  const { answers, code } = await client.chat([{ text: 'written' }, { text: 'b' }]);
  assert.equal(code, status.OK);
  assert.deepEqual(
    answers.map(({ text }) => text),
    ['written', 'b', 'after all'],
  );
});

test('a method without a handler is UNIMPLEMENTED, whatever its kind', async t => {
  const { client } = await serve(t, { handlers: fixture('one-handler.ts') });
  assert.equal((await client.ask({})).code, status.OK);
  for (const outcome of [await client.add([{}]), await client.count({}), await client.chat([{}])]) {
    assert.equal(outcome.code, status.UNIMPLEMENTED);
    assert.match(outcome.details, /^The server does not implement the method /);
  }
});

test('calls are balanced one by one, though they come on one connection', async t => {
  const { client, service } = await serve(t, { lanes: 2 });
  await service.ready();
  const outcomes = await Promise.all(
    Array.from({ length: 8 }, () => client.ask({ text: 'work', number: 30 })),
  );
  assert.deepEqual(new Set(outcomes.map(({ answer }) => answer?.lane)), new Set([1, 2]));
});
