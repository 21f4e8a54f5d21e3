import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { HeapSink, memoryOver } from '../src/call/memory.ts';
import { FAILED, ReplyReader, ReplyWriter } from '../src/transport/reply-ring.ts';

function ring(bytes: number) {
  const control = new Int32Array(new SharedArrayBuffer(8));
  const memory = memoryOver(new SharedArrayBuffer(bytes));
  const writer = new ReplyWriter(memory, 0, control, 0, 1, new HeapSink(1 << 20));
  const reader = new ReplyReader(memory, 0, control, 0, 1);
  /** Writes a record of so many bytes, each with the value `mark`; false when the ring is too full for it. */
  const write = (slot: number, length: number, mark: number): boolean => {
    let room = writer.open();
    if (room.end - room.start < length) room = writer.grow(room, 0, length);
    if (writer.outgrown) return false;
    memory.bytes.fill(mark, room.start, room.start + length);
    writer.commit(slot, mark & 1 ? FAILED : 0, length);
    return true;
  };
  return { write, writer, reader, memory, control };
}

describe('the reply ring', () => {
  it('gives back whole and in order whatever fits, for any sizes and any rhythm of reading', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.oneof(fc.record({ length: fc.integer({ min: 1, max: 700 }) }), fc.constant('read' as const)),
          { maxLength: 200 },
        ),
        steps => {
          const { write, reader, memory } = ring(1024);
          const written: { slot: number; length: number; mark: number }[] = [];
          const read = () => {
            if (!reader.arrived()) return;
            while (reader.next()) {
              const expected = written.shift()!;
              assert.equal(reader.slot, expected.slot);
              assert.equal(reader.flags, expected.mark & 1 ? FAILED : 0);
              assert.equal(reader.end - reader.start, expected.length);
              for (let i = reader.start; i < reader.end; i++) assert.equal(memory.bytes[i], expected.mark);
            }
            reader.release();
          };
          steps.forEach((step, i) => {
            if (step === 'read') read();
            else if (write(i, step.length, i & 255))
              written.push({ slot: i, length: step.length, mark: i & 255 });
          });
          read();
          assert.equal(written.length, 0);
        },
      ),
      { numRuns: 500 },
    );
  });

  it('has room for every record again once all are read', () => {
    const { write, reader } = ring(1024);
    for (let i = 0; i < 5_000; i++) {
      assert.ok(write(i & 255, 1 + (i % 496), i & 255), `record ${i}`);
      assert.ok(reader.arrived() && reader.next());
      assert.equal(reader.next(), false);
      reader.release();
    }
  });

  it('sends what does not fit elsewhere, and says so, instead of waiting', () => {
    const { write, writer } = ring(1024);
    let fitted = 0;
    while (write(1, 100, 0)) fitted++;
    assert.ok(fitted >= 8 && fitted <= 9);
    assert.equal(writer.outgrown, true);
    const room = writer.open();
    assert.equal(writer.outgrown, false, 'each record is judged anew');
    assert.ok(room.end >= room.start);
  });

  it('believes no record that reaches beyond what was written', () => {
    fc.assert(
      fc.property(fc.array(fc.integer(), { minLength: 2, maxLength: 16 }), fc.integer(), (words, head) => {
        const { reader, memory, control } = ring(1024);
        new Int32Array(memory.bytes.buffer).set(words);
        control[0] = head;
        try {
          if (!reader.arrived()) return;
          let records = 0;
          while (reader.next()) {
            assert.ok(reader.start >= 8 && reader.end <= 1024 && reader.start <= reader.end);
            assert.ok(++records <= 128);
          }
        } catch (error) {
          assert.ok(error instanceof RangeError);
        }
      }),
      { numRuns: 2_000, examples: [[[0, 2_147_483_641, 0, 0], 1]] },
    );
  });
});
