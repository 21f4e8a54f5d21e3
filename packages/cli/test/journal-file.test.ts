import assert from 'node:assert/strict';
import {
  appendFileSync,
  closeSync,
  openSync,
  readFileSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { test } from 'node:test';
import fc from 'fast-check';
import { HashIndex, hashOf } from '../src/hash-index.ts';
import { Journal } from '../src/journal.ts';
import { headerLine, recordLine } from '../src/journal-format.ts';
import { Output } from '../src/output.ts';
import { Run } from '../src/run.ts';
import { makeFolder } from './cli.ts';

const COMMAND = { module: 'file:///tasks.js', export: 'f', folder: '/w' };
const line = (input: string, value: unknown) =>
  `{"input":${JSON.stringify(input)},"value":${JSON.stringify(value)}}\n`;

test('wherever a journal was cut, what was whole before is there, and what follows is as if nothing had been', async t => {
  const path = join(makeFolder(t), 'j');
  const inputs = ['a', 'ä💩', '', 'a'];
  const records = [1, 1, 1, 2].map((nth, i) => recordLine(nth, line(inputs[i]!, `${i}`)));
  const whole = Buffer.from(headerLine(COMMAND) + records.join(''));
  for (let size = 0; size <= whole.length; size++) {
    writeFileSync(path, whole.subarray(0, size));
    const journal = new Journal(path, COMMAND);
    let end = headerLine(COMMAND).length;
    let next = size < end ? 0 : end;
    inputs.forEach((input, i) => {
      end += Buffer.byteLength(records[i]!);
      const found = journal.find(input, journal.count(input));
      if (end <= size) next = end;
      assert.equal(found, end <= size ? line(input, `${i}`) : undefined, `${input} at ${size}`);
      if (found === undefined) journal.add([1, 1, 1, 2][i]!, line(input, `${i}`));
    });
    assert.equal(journal.cutBytes, size - next);
    await journal.close();
    assert.deepEqual(readFileSync(path), whole, `cut at ${size}`);
  }
});

test('whatever is added, removed and moved between runs, an input has the result it had, and only the rest is called', async t => {
  const path = join(makeFolder(t), 'j');
  const inputs = fc.array(fc.constantFrom('a', 'b', 'c', 'd', 'é', ''), { maxLength: 30 });
  await fc.assert(
    fc.asyncProperty(fc.array(inputs, { minLength: 2, maxLength: 4 }), fc.nat(4), async (runs, failing) => {
      writeFileSync(path, '');
      const known = new Map<string, string>(); // by input and nth
      let calls = 0;
      for (const texts of runs) {
        const journal = new Journal(path, COMMAND);
        let text = '';
        const stream = new Writable({
          decodeStrings: false,
          write(chunk, _encoding, done) {
            text += chunk;
            const held = readFileSync(path, 'utf8');
            for (const result of text.split('\n')) {
              const isHeld = !result.includes('"value"') || held.includes(result.slice(1));
              assert.ok(isHeld, 'a result was in the output before it was in the journal');
            }
            done();
          },
        });
        const called: string[] = [];
        const output = new Output(stream, { stepAside() {}, comeBack() {} });
        output.beforeWrite = () => journal.flush();
        const run = new Run(
          {
            total: texts.length,
            stop() {},
            async *[Symbol.asyncIterator]() {
              for (const input of texts) yield { text: input };
            },
          },
          output,
          {
            ordered: true,
            ahead: false,
            journal,
            lanes: () => ({ capacity: 3, abandoned: 0 }),
            onProblem() {},
            call: async input => {
              called.push(input);
              calls++;
              if (calls % 5 === failing) throw new Error('no');
              return `"call ${calls}"`;
            },
          },
        );
        await run.start();
        await output.finish();
        await journal.close();
        const nths = new Map<string, number>();
        const fresh: string[] = [];
        for (const [i, result] of text.split('\n').slice(0, -1).entries()) {
          const { input, value } = JSON.parse(result);
          assert.equal(input, texts[i]);
          const nth = (nths.get(input) ?? 0) + 1;
          nths.set(input, nth);
          const key = `${nth} ${input}`;
          if (known.has(key)) assert.equal(value, known.get(key));
          else fresh.push(input);
          if (value !== undefined) known.set(key, value);
        }
        assert.deepEqual(called.sort(), fresh.sort());
        assert.equal(run.taken, texts.length);
      }
    }),
    { numRuns: 60 },
  );
});

test('results longer than any buffer are read back whole, in any order', async t => {
  const path = join(makeFolder(t), 'j');
  const values = ['x'.repeat(700_000), 'short', 'ä'.repeat(200_000), ''];
  writeFileSync(path, headerLine(COMMAND));
  for (const [i, value] of values.entries()) appendFileSync(path, recordLine(1, line(`${i}`, value)));
  const journal = new Journal(path, COMMAND);
  for (const i of [2, 0, 3, 1, 1, 0]) assert.equal(journal.find(`${i}`, 1), line(`${i}`, values[i]));
  assert.equal(journal.find('0', 2), undefined);
  assert.equal(journal.find('4', 1), undefined);
  await journal.close();
});

test('results are not kept in memory', async t => {
  const path = join(makeFolder(t), 'j');
  const file = openSync(path, 'w');
  writeSync(file, headerLine(COMMAND));
  const count = 20_000;
  for (let i = 0; i < count; i++) writeSync(file, recordLine(1, line(`${i}`, 'x'.repeat(2_000))));
  closeSync(file);
  const used = () => {
    globalThis.gc!();
    const { heapUsed, arrayBuffers } = process.memoryUsage();
    return heapUsed + arrayBuffers;
  };
  const before = used();
  const journal = new Journal(path, COMMAND);
  const mib = (used() - before) / 2 ** 20;
  assert.ok(mib < 8, `${mib} MiB for a journal of 40 MB`);
  assert.equal(journal.find('19999', 1), line('19999', 'x'.repeat(2_000)));
  await journal.close();
});

test('a journal that lost its end meanwhile gives nothing rather than half a result', async t => {
  const path = join(makeFolder(t), 'j');
  writeFileSync(path, headerLine(COMMAND) + recordLine(1, line('a', 'value')));
  const journal = new Journal(path, COMMAND);
  truncateSync(path, readFileSync(path).length - 4);
  assert.equal(journal.find('a', 1), undefined);
  await journal.close();
});

test('numbers are found under their hashes, several under one too', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 40 }), { maxLength: 200 }), hashes => {
      const index = new HashIndex();
      const counts = new HashIndex();
      for (const [i, hash] of hashes.entries()) index.add(hash * 1_024, i);
      hashes.forEach((hash, i) => {
        assert.equal(
          index.find(hash * 1_024, value => value === i),
          i,
        );
        const before = hashes.slice(0, i + 1).filter(other => other === hash).length;
        assert.equal(counts.increment(hash), before);
      });
      assert.equal(
        index.find(41 * 1_024, () => true),
        undefined,
      );
    }),
  );
  const many = new HashIndex();
  const hashes = Array.from({ length: 100_000 }, (_, i) => hashOf(`img/${i}.png`, 1));
  for (const [i, hash] of hashes.entries()) many.add(hash, i);
  for (const [i, hash] of hashes.entries()) {
    const found = many.find(hash, value => value === i);
    assert.equal(found, i);
  }
  assert.equal(new Set(hashes).size, 100_000, 'two texts of a hundred thousand have one hash');
  assert.notEqual(hashOf('a', 1), hashOf('a', 2));
});
