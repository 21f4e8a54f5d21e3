import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { memoryOver } from '../src/call/memory.ts';
import { Arena, PAGE_BYTES } from '../src/transport/arena.ts';

const MIB = 1024 * 1024;

describe('the arena', () => {
  it('never gives out the same bytes twice, and takes all back', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.oneof(
            fc.record({ kind: fc.constant('small' as const), bytes: fc.integer({ min: 1, max: 3_000 }) }),
            fc.record({
              kind: fc.constant('run' as const),
              bytes: fc.integer({ min: 1, max: 200_000 }),
              keep: fc.double({ min: 0, max: 1, noNaN: true }),
            }),
            fc.record({ kind: fc.constant('free' as const), which: fc.nat() }),
          ),
          { maxLength: 300 },
        ),
        steps => {
          const arena = new Arena(2 * MIB, memoryOver, () => {});
          const live: { segment: number; start: number; bytes: number }[] = [];
          const take = (segment: number, start: number, bytes: number) => {
            assert.equal(start % 8, 0);
            assert.ok(start + bytes <= arena.memory(segment).bytes.length);
            for (const other of live) {
              const apart =
                other.segment !== segment ||
                other.start + other.bytes <= start ||
                start + bytes <= other.start;
              assert.ok(apart, `${start}+${bytes} overlaps ${other.start}+${other.bytes}`);
            }
            live.push({ segment, start, bytes });
          };
          for (const step of steps) {
            if (step.kind === 'small') {
              const end = arena.open();
              if (end < 0 || end - arena.start < step.bytes) continue;
              const { segment, start } = arena;
              arena.commit(start, step.bytes);
              take(segment, start, step.bytes);
            } else if (step.kind === 'run') {
              if (!arena.allocateRun(step.bytes)) continue;
              const { segment, start } = arena;
              const bytes = Math.max(1, Math.floor(step.bytes * step.keep));
              arena.trimRun(segment, start, bytes);
              take(segment, start, bytes);
            } else if (live.length > 0) {
              const [{ segment, start }] = live.splice(step.which % live.length, 1);
              arena.free(segment, start);
            }
          }
          for (const { segment, start } of live) arena.free(segment, start);
          // All pages but the current one are free: everything but one page can be had in each segment.
          const most = arena.memory(0).bytes.length - PAGE_BYTES;
          assert.ok(arena.allocateRun(most / 2));
        },
      ),
      { numRuns: 300 },
    );
  });

  it('grows by segments up to its limit, tells of each before using it, and then says no', () => {
    const told: number[] = [];
    const arena = new Arena(4 * MIB, memoryOver, (index, buffer) => {
      assert.equal(index, told.length);
      told.push(buffer.byteLength);
    });
    assert.deepEqual(told, [MIB / 2]);
    let runs = 0;
    while (arena.allocateRun(300_000)) {
      assert.ok(arena.segment < told.length);
      runs++;
    }
    assert.ok(runs >= 8);
    assert.ok(told.reduce((sum, bytes) => sum + bytes) <= 4 * MIB);
    assert.equal(arena.allocateRun(5 * MIB), false);
  });

  it('uses the same warm page again when nothing on it lives', () => {
    const arena = new Arena(MIB, memoryOver, () => {});
    arena.open();
    const { segment, start } = arena;
    for (let i = 0; i < 10_000; i++) {
      arena.open();
      assert.equal(arena.start, start);
      arena.commit(arena.start, 100);
      arena.free(segment, start);
    }
    assert.equal(arena.bytes, MIB / 2);
  });
});
