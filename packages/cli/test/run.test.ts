import assert from 'node:assert/strict';
import { isUtf8 } from 'node:buffer';
import { Readable, Writable } from 'node:stream';
import { test } from 'node:test';
import fc from 'fast-check';
import { Depth } from '../src/depth.ts';
import type { Input, Source } from '../src/inputs.ts';
import { firstInvalid, LineSource } from '../src/lines.ts';
import { Output } from '../src/output.ts';
import { Run } from '../src/run.ts';

const stays = { stepAside() {}, comeBack() {} };

async function linesOf(chunks: readonly Uint8Array[], most?: number): Promise<Input[]> {
  const inputs: Input[] = [];
  for await (const input of new LineSource(Readable.from(chunks.map(c => Buffer.from(c))), most))
    inputs.push(input);
  return inputs;
}

test('lines do not depend on how stdin was cut into chunks', async () => {
  const byte = fc.constantFrom(0x61, 0x0a, 0x0a, 0x0d, 0xc3, 0xa4, 0xf0, 0x9f, 0x92, 0xa9, 0xff);
  await fc.assert(
    fc.asyncProperty(
      fc.array(byte, { maxLength: 60 }),
      fc.array(fc.nat(60), { maxLength: 6 }),
      async (bytes, cuts) => {
        const whole = Uint8Array.from(bytes);
        const at = [0, ...cuts.map(cut => Math.min(cut, whole.length)).sort((a, b) => a - b), whole.length];
        const chunks = at
          .slice(1)
          .map((end, i) => whole.subarray(at[i], end))
          .filter(chunk => chunk.length > 0);
        const expected = Buffer.from(whole)
          .toString('latin1')
          .split('\n')
          .map(line => Buffer.from(line, 'latin1'));
        if (expected.at(-1)!.length === 0) expected.pop();
        const inputs = await linesOf(chunks);
        assert.deepEqual(
          inputs.map(input => input.text),
          expected.map(line => line.toString().replace(/\r$/, '')),
        );
        assert.deepEqual(
          inputs.map(input => input.problem === undefined),
          expected.map(line => isUtf8(line)),
        );
      },
    ),
  );
});

test('the first byte that is not UTF-8 is where the longest valid beginning ends', () => {
  const byte = fc.oneof(
    fc.integer({ min: 0, max: 255 }),
    fc.constantFrom(0xc3, 0xa4, 0xe2, 0x82, 0xac, 0xed, 0xa0, 0xf4, 0x90, 0x80),
  );
  fc.assert(
    fc.property(fc.array(byte, { maxLength: 12 }), bytes => {
      const whole = Uint8Array.from(bytes);
      let longest = 0;
      for (let end = 1; end <= whole.length; end++) if (isUtf8(whole.subarray(0, end))) longest = end;
      assert.equal(firstInvalid(whole), longest === whole.length ? -1 : longest);
    }),
    { numRuns: 2_000 },
  );
});

test('a byte order mark before the first line is not part of it', async () => {
  const inputs = await linesOf([Buffer.from('\ufeffa\n\ufeffb\n')]);
  assert.deepEqual(inputs, [{ text: 'a' }, { text: '\ufeffb' }]);
});

test('a line that is too long fails by itself, however it comes in', async () => {
  for (const cut of [1, 5, 500]) {
    const bytes = Buffer.from(`a\n${'x'.repeat(300)}\nb`);
    const chunks: Buffer[] = [];
    for (let at = 0; at < bytes.length; at += cut) chunks.push(bytes.subarray(at, at + cut));
    const [a, long, b] = await linesOf(chunks, 200);
    assert.deepEqual([a, b], [{ text: 'a' }, { text: 'b' }]);
    assert.equal(long!.text, 'x'.repeat(100));
    assert.equal(long!.problem?.message, 'line 2 (at byte 2) has 300 bytes; the most is 200');
  }
});

function source(count: number, isProblem: (i: number) => boolean = () => false): Source {
  return {
    total: count,
    stop() {},
    async *[Symbol.asyncIterator]() {
      for (let i = 0; i < count; i++) {
        yield isProblem(i) ? { text: `${i}`, problem: { name: 'Error', message: 'bad' } } : { text: `${i}` };
      }
    },
  };
}

test('whatever the order in which calls settle, results come in the order of the inputs, and never too many wait', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 0, max: 400 }),
      fc.integer({ min: 1, max: 9 }),
      fc.infiniteStream(fc.nat(1_000)),
      async (count, lanes, random) => {
        const next = () => random.next().value as number;
        const open: { input: string; settle: (failed: boolean) => void }[] = [];
        let text = '';
        let most = 0;
        const stream = new Writable({
          highWaterMark: 64,
          decodeStrings: false,
          write(chunk, _encoding, done) {
            text += chunk;
            setImmediate(done);
          },
        });
        const run = new Run(
          source(count, i => i % 7 === 3),
          new Output(stream, stays),
          {
            ordered: true,
            ahead: false,
            lanes: () => ({ capacity: lanes, abandoned: 0 }),
            onProblem() {},
            call: input =>
              new Promise((resolve, reject) => {
                open.push({
                  input,
                  settle: failed => (failed ? reject(new Error('no')) : resolve(`"${input}"`)),
                });
                most = Math.max(most, open.length);
              }),
          },
        );
        let over = false;
        const ended = run.start().then(() => {
          over = true;
        });
        while (!over) {
          if (open.length > 0) open.splice(next() % open.length, 1)[0]!.settle(next() % 10 === 0);
          await new Promise(resolve => setImmediate(resolve));
        }
        await ended;
        await new Promise<void>(resolve => {
          setImmediate(() => stream.end(resolve));
        });
        const results = text
          .split('\n')
          .slice(0, -1)
          .map(line => JSON.parse(line));
        assert.deepEqual(
          results.map(r => r.input),
          Array.from({ length: count }, (_, i) => `${i}`),
        );
        for (const { input, value, error } of results) assert.ok(value === input || error !== undefined);
        assert.equal(run.done + run.failed, count);
        assert.ok(most <= lanes, `${most} calls at once on ${lanes} lanes`);
      },
    ),
    { numRuns: 25 },
  );
});

test('calls are made ahead of free lanes only as far as the lanes are fast', () => {
  const lanes = { capacity: 4, abandoned: 0 };
  const slow = new Depth(0, true);
  for (let s = 1; s <= 10; s++) slow.review(s * 1_000, s * 40, lanes); // 100 ms each
  assert.equal(slow.limit, 4);
  const fast = new Depth(0, true);
  fast.review(20, 20 * 4, lanes); // 1 ms each
  assert.equal(fast.limit, 4 + 40);
  const none = new Depth(0, false);
  none.review(20, 1_000_000, lanes);
  assert.equal(none.limit, 4);
});

test('no call is made while all lanes are held by calls that were given up', () => {
  const depth = new Depth(0, true);
  depth.review(20, 100, { capacity: 2, abandoned: 2 });
  assert.equal(depth.limit, 0);
  depth.review(40, 100, { capacity: 2, abandoned: 1 });
  assert.ok(depth.limit >= 1);
});
