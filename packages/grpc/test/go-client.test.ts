import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { before, describe, it, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type Answer, Probe, type Question } from './fixtures/probe.ts';
import { serve } from './kit/serve.ts';

const run = promisify(execFile);
const SOURCE = fileURLToPath(new URL('./go-client/', import.meta.url));
const CACHE = fileURLToPath(new URL('../../../node_modules/.cache/grpc-go-client/', import.meta.url));
const CLIENT = `${CACHE}client`;
const MIB = 1024 * 1024;

interface Asked {
  readonly method: 'Ask' | 'Add' | 'Count' | 'Chat';
  readonly requests: readonly Partial<Question>[];
  readonly deadlineMs?: number;
  readonly cancelAfter?: number;
  readonly cancelMs?: number;
}

interface Ended {
  readonly code: string;
  readonly details: string;
  readonly answers: readonly Answer[];
}

/** Makes calls all at once, by grpc-go. */
async function askAll(address: string, calls: readonly Asked[]): Promise<Ended[]> {
  const listed = calls.map(({ method, requests, deadlineMs = 0, cancelAfter = -1, cancelMs = 0 }) => {
    const { path, requestStream, responseStream, requestSerialize } = Probe.service[method]!;
    return {
      path,
      requests: requests.map(request => requestSerialize(request).toString('base64')),
      sends: requestStream,
      gives: responseStream,
      deadlineMs,
      cancelAfter,
      cancelMs,
    };
  });
  const asking = run(CLIENT, [address], { timeout: 60_000, maxBuffer: 64 * MIB });
  asking.child.stdin!.end(JSON.stringify(listed));
  const ended = JSON.parse((await asking).stdout) as {
    code: string;
    details: string;
    answers: string[] | null;
  }[];
  return ended.map(({ code, details, answers }, i) => ({
    code,
    details,
    answers: (answers ?? []).map(
      bytes => Probe.service[calls[i]!.method]!.responseDeserialize(Buffer.from(bytes, 'base64')) as Answer,
    ),
  }));
}

async function ask(address: string, call: Asked): Promise<Ended> {
  const [ended] = await askAll(address, [call]);
  return ended!;
}

describe('a client in Go', () => {
  let missing: string | undefined;
  before(async () => {
    await mkdir(CACHE, { recursive: true });
    try {
      await run('go', ['build', '-o', CLIENT, '.'], { cwd: SOURCE });
    } catch (error) {
      missing = `It cannot be built here: ${(error as { stderr?: string }).stderr || (error as Error).message}`;
    }
  });

  /** @param body is given the address of handlers on one lane, unless the options say otherwise */
  const its = (
    name: string,
    options: Parameters<typeof serve>[1],
    body: (address: string) => Promise<void>,
  ) =>
    it(name, async (t: TestContext) => {
      if (missing !== undefined) return t.skip(missing);
      const { address } = await serve(t, options);
      await body(address);
    });

  its('has all four kinds of call answered', {}, async address => {
    const numbers = [1, 2, 3].map(number => ({ number }));
    const [one, sum, many, talk] = await askAll(address, [
      { method: 'Ask', requests: [{ text: 'echo', number: 7 }] },
      { method: 'Add', requests: numbers },
      { method: 'Count', requests: [{ number: 4 }] },
      { method: 'Chat', requests: numbers },
    ]);
    for (const { code, details } of [one!, sum!, many!, talk!]) assert.equal(code, 'OK', details);
    assert.deepEqual(
      [one!, sum!, many!, talk!].map(({ answers }) => answers.map(({ number }) => number)),
      [[7], [6], [0, 1, 2, 3], [1, 2, 3]],
    );
  });

  its('is told what a handler throws, and a status that it gives', {}, async address => {
    const [thrown, given, failing] = await askAll(address, [
      { method: 'Ask', requests: [{ text: 'throw' }] },
      { method: 'Ask', requests: [{ text: 'status' }] },
      { method: 'Count', requests: [{ text: 'fail', number: 2 }] },
    ]);
    assert.deepEqual([thrown!.code, thrown!.details], ['Unknown', 'thrown in the handler']);
    assert.deepEqual([given!.code, given!.details], ['NotFound', 'no such thing: ü']);
    assert.deepEqual([failing!.code, failing!.answers.length], ['DataLoss', 2]);
  });

  its('has its deadline and its cancelling kept; the lane goes on', {}, async address => {
    const [late, cancelled, left] = await askAll(address, [
      { method: 'Ask', requests: [{ text: 'never' }], deadlineMs: 200 },
      { method: 'Ask', requests: [{ text: 'never' }], cancelMs: 200 },
      { method: 'Count', requests: [{ number: 1_000_000 }], cancelAfter: 3 },
    ]);
    assert.equal(late!.code, 'DeadlineExceeded');
    assert.equal(cancelled!.code, 'Canceled');
    assert.equal(left!.code, 'Canceled');
    const { code, answers } = await ask(address, { method: 'Ask', requests: [{ text: 'echo' }] });
    assert.deepEqual([code, answers[0]!.lane], ['OK', 1]);
  });

  its('gets UNAVAILABLE when the lane is lost, and an answer of the next', {}, async address => {
    assert.equal((await ask(address, { method: 'Ask', requests: [{ text: 'exit' }] })).code, 'Unavailable');
    assert.equal((await ask(address, { method: 'Ask', requests: [{ text: 'echo' }] })).code, 'OK');
  });

  its(
    'gets RESOURCE_EXHAUSTED beyond the queue, and all else is answered',
    { maxQueue: 4, concurrency: 1 },
    async address => {
      const calls = Array.from({ length: 20 }, () => ({
        method: 'Ask' as const,
        requests: [{ text: 'later', number: 30 }],
      }));
      const codes = (await askAll(address, calls)).map(({ code }) => code);
      assert.ok(codes.includes('ResourceExhausted') && codes.includes('OK'), codes.join());
      assert.ok(
        codes.every(code => code === 'ResourceExhausted' || code === 'OK'),
        codes.join(),
      );
    },
  );

  its(
    'is held to the limits of messages',
    {
      server: { 'grpc.max_receive_message_length': MIB, 'grpc.max_send_message_length': MIB },
    },
    async address => {
      const [fits, tooLarge, tooMuch] = await askAll(address, [
        { method: 'Ask', requests: [{ text: 'big', number: 1_000, blob: Buffer.alloc(MIB - 100) }] },
        { method: 'Ask', requests: [{ text: 'big', blob: Buffer.alloc(MIB) }] },
        { method: 'Ask', requests: [{ text: 'big', number: 2 * MIB }] },
      ]);
      assert.deepEqual(
        [fits!.code, tooLarge!.code, tooMuch!.code],
        ['OK', 'ResourceExhausted', 'ResourceExhausted'],
      );
    },
  );
});
