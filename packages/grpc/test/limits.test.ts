import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { status } from '@grpc/grpc-js';
import { fixture, serve, shared } from './kit/serve.ts';

const MIB = 1024 * 1024;
const plain = shared();

test('a request that is too large is RESOURCE_EXHAUSTED, and one of the limit is not', async t => {
  const { client } = await serve(t, { server: { 'grpc.max_receive_message_length': MIB } });
  const { code } = await client.ask({ blob: Buffer.alloc(MIB) });
  assert.equal(code, status.RESOURCE_EXHAUSTED);
  const fits = await client.ask({ text: 'big', blob: Buffer.alloc(MIB - 100) });
  assert.equal(fits.code, status.OK);
});

test('a reply that is too large is RESOURCE_EXHAUSTED', async t => {
  const { client } = await serve(t, { server: { 'grpc.max_send_message_length': 1_000 } });
  assert.equal((await client.ask({ text: 'big', number: 900 })).code, status.OK);
  const { code, details } = await client.ask({ text: 'big', number: 2_000 });
  assert.equal(code, status.RESOURCE_EXHAUSTED);
  assert.match(details, /larger than max/);
  assert.equal((await client.count({ text: 'large', number: 1 })).code, status.RESOURCE_EXHAUSTED);
});

test('messages of megabytes go both ways as they are', async () => {
  const { client } = await plain();
  const blob = Buffer.alloc(3 * MIB, 'x');
  const { answer, code } = await client.ask({ text: 'echo', blob });
  assert.equal(code, status.OK);
  assert.ok(blob.equals(answer!.blob));
});

test('a small request takes no more room than its bytes, whatever buffer it lies in', async t => {
  const { client } = await serve(t, { maxQueuedBytes: 64 * 1024 });
  const outcomes = await Promise.all(
    Array.from({ length: 30 }, () => client.ask({ text: 'later', number: 50 })),
  );
  assert.deepEqual(new Set(outcomes.map(({ code }) => code)), new Set([status.OK]));
});

test('a slow reader holds its writer back', async () => {
  const { client } = await plain();
  const { call } = client.counting({ text: 'large', number: 1_000_000 });
  await new Promise(resolve => call.once('readable', resolve));
  call.read();
  // Nobody reads. What the handler has written by now it tells when it is cancelled.
  let written = -1;
  for (let last = -2; last !== written; ) {
    last = written;
    await sleep(300);
    written = call.readableLength;
  }
  call.cancel();
  let log = '';
  while (!log.includes('count cancelled')) {
    await sleep(5);
    log += (await client.ask({ text: 'seen' })).answer?.text;
  }
  const count = Number(/after (\d+)/.exec(log)?.[1]);
  // 64 KiB each: what is on the way in the sockets, the windows and the pool, and not a million of them.
  assert.ok(count < 500, `${count} were written`);
});

test('a slow handler holds its client back', async t => {
  const { client } = await serve(t, { handlers: fixture('slow-reader.ts') });
  const { call, outcome } = client.adding();
  const blob = Buffer.alloc(64 * 1024);
  let sent = 0;
  // Until there is no room for a while.
  for (let full = 0; full < 20; ) {
    if (call.writableLength < 16) {
      call.write({ blob });
      sent++;
      full = 0;
    } else {
      full++;
      await sleep(20);
    }
    assert.ok(sent < 2_000, 'it takes everything');
  }
  call.end();
  await client.ask({}); // lets the handler read on
  assert.equal((await outcome).answer?.number, sent);
});
