import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  ResponderBuilder,
  ServerInterceptingCall,
  type ServerInterceptor,
  ServerListenerBuilder,
  status,
} from '@grpc/grpc-js';
import type { ProbeClient } from './kit/client.ts';
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

/** Keeps what the server reads, so that tests see what became of it. */
function keeping(kept: Buffer[]): ServerInterceptor {
  return (_, call) => {
    const listener = new ServerListenerBuilder()
      .withOnReceiveMessage((message, next) => {
        kept.push(message);
        next(message);
      })
      .build();
    const responder = new ResponderBuilder().withStart(next => next(listener)).build();
    return new ServerInterceptingCall(call, responder);
  };
}

test('a large request is moved to its lane, a small one copied', async t => {
  for (const compression of [0, 2]) {
    const requests: Buffer[] = [];
    const { client } = await serve(t, {
      maxQueuedBytes: 200 * 1024, // room for one at a time
      server: { interceptors: [keeping(requests)] } as object,
      client: { 'grpc.default_compression_algorithm': compression },
    });
    for (const bytes of [128 * 1024, 128 * 1024, 100 * 1024]) {
      const blob = Buffer.alloc(bytes, 'x');
      const { answer, code, details } = await client.ask({ text: 'echo', blob });
      assert.equal(code, status.OK, details);
      assert.ok(blob.equals(answer!.blob));
    }
    const [large, another, small] = requests;
    assert.equal(large!.byteLength, 0); // its memory has left this thread
    assert.equal(another!.byteLength, 0);
    assert.ok(small!.byteLength > 100 * 1024);
  }
});

test('a large request that lies among other bytes is copied', async t => {
  const rooms: Buffer[] = [];
  const embed: ServerInterceptor = (_, call) => {
    const listener = new ServerListenerBuilder()
      .withOnReceiveMessage((message, next) => {
        const room = Buffer.concat([message, Buffer.alloc(1_000)]);
        rooms.push(room);
        next(room.subarray(0, message.length));
      })
      .build();
    return new ServerInterceptingCall(call, new ResponderBuilder().withStart(next => next(listener)).build());
  };
  const { client } = await serve(t, { server: { interceptors: [embed] } as object });
  assert.equal((await client.ask({ text: 'echo', blob: Buffer.alloc(MIB) })).answer?.blob.length, MIB);
  assert.ok(rooms[0]!.byteLength > MIB);
});

test('a large request that may run twice is there for the second time', async t => {
  const requests: Buffer[] = [];
  const { client } = await serve(t, {
    methods: { ask: { idempotent: true } },
    server: { interceptors: [keeping(requests)] } as object,
  });
  const blob = Buffer.alloc(MIB, 'x');
  const { answer, code, details } = await client.ask({ text: 'exit once', blob });
  assert.equal(code, status.OK, details);
  assert.equal(answer!.lane, 2);
  assert.ok(blob.equals(answer!.blob));
  assert.ok(requests[0]!.byteLength > MIB);
});

test('more bytes than may wait are RESOURCE_EXHAUSTED, moved or copied', async t => {
  const { client } = await serve(t, { maxQueuedBytes: 1.5 * MIB });
  const { code, details } = await client.ask({ text: 'echo', blob: Buffer.alloc(2 * MIB) });
  assert.equal(code, status.RESOURCE_EXHAUSTED);
  assert.match(details, /maxQueuedBytes/);
  // One is moved, one copied; for more there is no room.
  const blob = Buffer.alloc(MIB);
  const waiting = [0, 1, 2].map(() => client.asking({ text: 'never', blob }));
  const first = await Promise.race(waiting.map(({ outcome }) => outcome));
  assert.equal(first.code, status.RESOURCE_EXHAUSTED);
  for (const { call } of waiting) call.cancel();
  for (const { outcome } of waiting) await outcome;
  // What is over leaves room, however often.
  for (let i = 0; i < 5; i++) {
    assert.equal((await client.ask({ text: 'big', blob })).code, status.OK);
  }
});

test('a small request takes no more room than its bytes, whatever buffer it lies in', async t => {
  const { client } = await serve(t, { maxQueuedBytes: 64 * 1024 });
  const outcomes = await Promise.all(
    Array.from({ length: 30 }, () => client.ask({ text: 'later', number: 50 })),
  );
  assert.deepEqual(new Set(outcomes.map(({ code }) => code)), new Set([status.OK]));
});

/** Waits until what is measured changes no more: nobody reads. */
async function settled(measure: () => number): Promise<void> {
  for (let last = -1, now = measure(); last !== now; now = measure()) {
    last = now;
    await sleep(300);
  }
}

/** What the lane tells, once it tells of `what`. @param question that makes it tell what is new */
async function logged(client: ProbeClient, question: string, what: string): Promise<string> {
  let log = '';
  while (!log.includes(what)) {
    await sleep(5);
    log += (await client.ask({ text: question })).answer?.text;
  }
  return log;
}

test('a slow reader holds its writer back', async () => {
  const { client } = await plain();
  const { call } = client.counting({ text: 'large', number: 1_000_000 });
  await new Promise(resolve => call.once('readable', resolve));
  call.read();
  await settled(() => call.readableLength);
  call.cancel(); // what the handler has written by now it tells then
  const count = Number(/after (\d+)/.exec(await logged(client, 'seen', 'count cancelled'))?.[1]);
  // 64 KiB each: what is on the way in the sockets, the windows and the pool, and not a million of them.
  assert.ok(count < 500, `${count} were written`);
});

test('a slow reader holds a generator back', async t => {
  const { client } = await serve(t, { handlers: fixture('modern-handlers.ts') });
  const { call } = client.counting({ number: 1_000_000 });
  await new Promise(resolve => call.once('readable', resolve));
  call.read();
  await settled(() => call.readableLength);
  call.cancel();
  const count = Number(/(\d+)/.exec(await logged(client, 'log', 'closed after some'))?.[1]);
  // 8 KiB each.
  assert.ok(count < 4_000, `${count} were asked for`);
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
