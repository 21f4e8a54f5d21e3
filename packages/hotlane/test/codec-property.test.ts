import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Decoder } from '../src/call/decode.ts';
import { DefinitionLog } from '../src/call/definitions.ts';
import { portablePlatform } from '../src/call/platform.ts';
import { isHotlaneError } from '../src/errors.ts';
import { nodeCodec } from '../src/place/node-codec.ts';
import { bytesOf, type Frame, frameOf, Pair } from './codec-kit.ts';

/** Parts of it are rounded: fast-check never ends on a number of runs that is not whole. */
const RUNS = 1_500;

// ── Arbitrary values ──────────────────────────────────────────────────────────────────────────────

const text = fc.oneof(
  fc.string(),
  fc.string({ unit: 'binary' }),
  // Any code units, lone surrogates too.
  fc
    .array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 80 })
    .map(units => String.fromCharCode(...units)),
  fc.string({ minLength: 20, maxLength: 140 }),
);

const key = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom('id', 'name', 'a', 'b', 'c', 'items', 'next') },
  { weight: 2, arbitrary: text },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      '__proto__',
      'constructor',
      'toString',
      'length',
      '0',
      '7',
      '01',
      '4294967295',
    ),
  },
);

const primitive = fc.oneof(
  fc.constantFrom(undefined, null, true, false, 0, -0, Number.NaN, Infinity, -Infinity),
  fc.integer(),
  fc.integer({ min: -300, max: 300 }),
  fc.double(),
  fc.bigInt(),
  fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }),
  text,
);

const VIEWS = [
  Uint8Array,
  Int8Array,
  Uint8ClampedArray,
  Int16Array,
  Uint32Array,
  Float32Array,
  Float64Array,
  BigInt64Array,
  DataView,
];

/** A view over the middle of a larger buffer, whose other bytes must not travel. */
const view = fc
  .tuple(fc.constantFrom(...VIEWS), fc.uint8Array({ minLength: 24, maxLength: 64 }), fc.nat(1))
  .map(([View, bytes, skip]) => {
    const size = (View as any).BYTES_PER_ELEMENT ?? 1;
    return new (View as any)(bytes.buffer.slice(0), skip * 8, Math.floor(8 / size));
  });

const leaf = fc.oneof(
  { weight: 10, arbitrary: primitive },
  { weight: 1, arbitrary: fc.date({ noInvalidDate: false }) },
  { weight: 1, arbitrary: fc.uint8Array().map(bytes => bytes.slice().buffer) },
  { weight: 1, arbitrary: view },
  { weight: 1, arbitrary: fc.constantFrom(/a/g, /[/]\n/iu, /(?:)/, /语/) },
  { weight: 1, arbitrary: fc.oneof(fc.integer(), text, fc.boolean(), fc.bigInt()).map(Object) },
);

/** Sets a property as data, as a literal would. */
function put(target: object, name: string, value: unknown): void {
  Object.defineProperty(target, name, { value, writable: true, enumerable: true, configurable: true });
}

type Build = (pool: unknown[]) => unknown;

/**
 * A value is a recipe that builds it with a pool of the containers made so far: so any part may be a
 * container that was met before, an ancestor included.
 */
const { recipe } = fc.letrec<{ recipe: Build }>(tie => {
  const child = tie('recipe');
  const container =
    <T extends object>(make: () => T, fill: (target: T, pool: unknown[]) => void): Build =>
    pool => {
      const made = make();
      pool.push(made);
      fill(made, pool);
      return made;
    };
  return {
    recipe: fc.oneof(
      { maxDepth: 6, depthSize: 'small', withCrossShrink: true },
      {
        weight: 6,
        arbitrary: leaf.map(
          (value): Build =>
            () =>
              value,
        ),
      },
      {
        weight: 2,
        arbitrary: fc.nat(30).map(
          (n): Build =>
            pool =>
              pool.length === 0 ? n : pool[n % pool.length],
        ),
      },
      {
        weight: 3,
        arbitrary: fc.array(fc.tuple(key, child), { maxLength: 8 }).map(entries =>
          container(
            () => ({}),
            (target, pool) => {
              for (const [name, build] of entries) put(target, name, build(pool));
            },
          ),
        ),
      },
      {
        weight: 3,
        arbitrary: fc
          .tuple(
            fc.array(fc.tuple(fc.nat(9), child), { maxLength: 8 }),
            fc.array(fc.tuple(fc.constantFrom('x', 'total', '-1'), child), { maxLength: 1 }),
          )
          .map(([items, names]) =>
            container(
              () => [] as unknown[],
              (target, pool) => {
                // One in ten leaves a hole.
                for (const [chance, build] of items) {
                  if (chance === 0) target.length++;
                  else target.push(build(pool));
                }
                for (const [name, build] of names) put(target, name, build(pool));
              },
            ),
          ),
      },
      {
        weight: 1,
        arbitrary: fc.array(fc.tuple(child, child), { maxLength: 4 }).map(entries =>
          container(
            () => new Map(),
            (target, pool) => {
              for (const [k, v] of entries) target.set(k(pool), v(pool));
            },
          ),
        ),
      },
      {
        weight: 1,
        arbitrary: fc.array(child, { maxLength: 4 }).map(items =>
          container(
            () => new Set(),
            (target, pool) => {
              for (const item of items) target.add(item(pool));
            },
          ),
        ),
      },
      {
        weight: 1,
        arbitrary: fc
          .tuple(fc.constantFrom(Error, TypeError, RangeError), text, child)
          .map(([Class, message, cause]) =>
            container(
              () => new Class(message),
              (target, pool) => {
                target.stack = 'stack';
                Object.defineProperty(target, 'cause', {
                  value: cause(pool),
                  configurable: true,
                  writable: true,
                });
              },
            ),
          ),
      },
    ),
  };
});
const value = recipe.map(build => build([]));

// ── Equality, stricter than assert's: identities and the layout of views too ──────────────────────

function assertTwins(actual: any, expected: any, twins = new Map<object, object>(), path = 'value'): void {
  if (typeof expected !== 'object' || expected === null) {
    assert.ok(Object.is(actual, expected), `${path}: ${String(actual)} is not ${String(expected)}`);
    return;
  }
  const known = twins.get(expected);
  if (known !== undefined) {
    assert.equal(actual, known, `${path}: is not the object that it should be`);
    return;
  }
  twins.set(expected, actual);
  assert.equal(Object.getPrototypeOf(actual), Object.getPrototypeOf(expected), `${path}: prototype`);
  if (ArrayBuffer.isView(expected)) {
    // A view arrives over a buffer of its own, so only its range can be the same.
    const bytes = (view: ArrayBufferView) => [
      ...new Uint8Array(view.buffer, view.byteOffset, view.byteLength),
    ];
    assert.deepEqual(bytes(actual), bytes(expected), path);
    assert.equal(actual.buffer.byteLength, actual.byteLength, `${path}: buffer`);
    return;
  }
  if (expected instanceof ArrayBuffer)
    assert.deepEqual(new Uint8Array(actual), new Uint8Array(expected), path);
  if (expected instanceof Date) assert.ok(Object.is(actual.getTime(), expected.getTime()), path);
  if (expected instanceof RegExp) assert.equal(String(actual), String(expected), path);
  if (['Number', 'String', 'Boolean', 'BigInt'].includes(expected.constructor?.name)) {
    // The characters of a boxed string are properties too, and read-only.
    assert.ok(Object.is(actual.valueOf(), expected.valueOf()), path);
    return;
  }
  if (expected instanceof Map || expected instanceof Set) {
    const items = [...(expected as Iterable<unknown>)];
    const copies = [...actual];
    assert.equal(copies.length, items.length, path);
    for (const [i, item] of items.entries()) {
      if (expected instanceof Set) assertTwins(copies[i], item, twins, `${path}.values()[${i}]`);
      else
        for (const part of [0, 1])
          assertTwins(copies[i][part], (item as unknown[])[part], twins, `${path}.entries()[${i}][${part}]`);
    }
  }
  if (expected instanceof Error) {
    for (const name of ['message', 'stack', 'cause']) {
      assertTwins(actual[name], (expected as any)[name], twins, `${path}.${name}`);
    }
  }
  if (Array.isArray(expected)) assert.equal(actual.length, expected.length, path);
  assert.deepEqual(Object.keys(actual), Object.keys(expected), `${path}: keys`);
  for (const name of Object.keys(expected)) {
    const copy = Object.getOwnPropertyDescriptor(actual, name)!;
    assert.ok(copy.writable && copy.configurable, `${path}.${name}: attributes`);
    assertTwins(copy.value, Object.getOwnPropertyDescriptor(expected, name)!.value, twins, `${path}.${name}`);
  }
}

// ── Round trips ───────────────────────────────────────────────────────────────────────────────────

test('any value arrives as a structured clone of it, with every identity', () => {
  // One pair for all runs: shapes, and whatever else is remembered, must not matter.
  const pair = new Pair({ logBytes: 32_768 });
  fc.assert(
    fc.property(value, original => {
      const copy = pair.trip(original);
      // Errors keep more than structured clone keeps of them; the original says what.
      assertTwins(copy, original);
    }),
    { numRuns: RUNS },
  );
});

test('what has no errors in it is deep-equal to what structuredClone makes', () => {
  const pair = new Pair();
  const plain = fc.anything({
    withBigInt: true,
    withDate: true,
    withMap: true,
    withSet: true,
    withTypedArray: true,
    withSparseArray: true,
    withBoxedValues: true,
    withNullPrototype: true,
    withUnicodeString: true,
    withObjectString: true,
    key,
  });
  fc.assert(
    fc.property(plain, original => {
      assert.deepStrictEqual(pair.trip(original), structuredClone(original));
    }),
    { numRuns: RUNS },
  );
});

test('arguments arrive as one value of them would, on every platform', () => {
  const pairs = [
    new Pair(),
    new Pair({ platform: nodeCodec }),
    new Pair({ platform: portablePlatform }),
    new Pair({ readPlatform: portablePlatform }),
    new Pair({ logBytes: 64 }),
  ];
  fc.assert(
    fc.property(fc.array(recipe, { maxLength: 5 }), builds => {
      const pool: unknown[] = [];
      const args = builds.map(build => build(pool));
      for (const pair of pairs) assertTwins(pair.decodeArguments(pair.encodeArguments(args)), args);
    }),
    { numRuns: Math.floor(RUNS / 3) },
  );
});

// ── Damage ────────────────────────────────────────────────────────────────────────────────────────

/** Sees every byte that is read through it: a decoder must stay within its frame. */
function decodeWithin(decoder: Decoder, { memory, start, end }: Frame, side: readonly unknown[] = []): void {
  const before = process.memoryUsage().arrayBuffers;
  for (const decode of [
    () => decoder.decodeValue(memory, start, end, side),
    () => decoder.decodeArguments(memory, start, end, side),
  ]) {
    try {
      decode();
    } catch (error) {
      if (!isHotlaneError(error, 'PROTOCOL')) throw error;
    }
  }
  assert.ok(process.memoryUsage().arrayBuffers - before < 1 << 20, 'allocated on the word of a length');
}

/** A frame's twin, followed by other bytes: what is decoded must not depend on what is behind the frame. */
function outcome(decoder: Decoder, bytes: Uint8Array, around: number): string {
  const frame = frameOf(bytes);
  frame.memory.bytes.fill(around, 0, frame.start);
  frame.memory.bytes.fill(around, frame.end);
  try {
    const value = decoder.decodeValue(frame.memory, frame.start, frame.end);
    return new Pair({ logBytes: 0 }).encode(value).memory.bytes.join();
  } catch (error) {
    if (isHotlaneError(error)) return error.message;
    throw error;
  }
}

function trained(): Pair {
  const pair = new Pair();
  for (let i = 0; i < 3; i++) pair.encode([{ id: 1, name: 'x' }, { a: 1 }, { a: 1, b: { c: 1 } }]);
  return pair;
}

test('random bytes are some value or PROTOCOL', () => {
  const pair = trained();
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 60 }), bytes => {
      decodeWithin(pair.decoder, frameOf(bytes));
    }),
    { numRuns: RUNS * 6 },
  );
});

test('random tags with small numbers behind them are some value or PROTOCOL', () => {
  const pair = trained();
  // Mostly tags: this reaches containers, errors, views and what is put off far more often.
  const byte = fc.oneof(
    fc.integer({ min: 0, max: 0x26 }),
    fc.constantFrom(0x1f, 0x40, 0x41, 0x80, 0x81, 0xff),
  );
  fc.assert(
    fc.property(fc.array(byte, { maxLength: 80 }), bytes => {
      decodeWithin(pair.decoder, frameOf(Uint8Array.from([bytes.length % 2, ...bytes])), [
        new SharedArrayBuffer(16),
        1,
      ]);
    }),
    { numRuns: RUNS * 6 },
  );
});

test('frames with bytes changed, cut off, left out or put in are some value or PROTOCOL', () => {
  const pair = trained();
  const damage = fc.array(
    fc.record({
      kind: fc.constantFrom('flip', 'cut', 'drop', 'insert', 'copy'),
      at: fc.nat(),
      with: fc.integer({ min: 0, max: 255 }),
    }),
    {
      minLength: 1,
      maxLength: 4,
    },
  );
  fc.assert(
    fc.property(value, damage, (original, steps) => {
      let bytes: number[] = [...bytesOf(pair.encode(original))];
      for (const step of steps) {
        const at = step.at % (bytes.length + 1);
        if (step.kind === 'flip' && at < bytes.length) bytes[at] = step.with;
        if (step.kind === 'cut') bytes = bytes.slice(0, at);
        if (step.kind === 'drop') bytes.splice(at, 1 + (step.with % 5));
        if (step.kind === 'insert') bytes.splice(at, 0, step.with);
        if (step.kind === 'copy') bytes.splice(at, 0, ...bytes.slice(step.with % bytes.length).slice(0, 20));
      }
      decodeWithin(pair.decoder, frameOf(Uint8Array.from(bytes)));
    }),
    { numRuns: RUNS * 2 },
  );
});

test('a frame of plain data cut short at any byte is PROTOCOL', () => {
  const pair = trained();
  fc.assert(
    fc.property(fc.jsonValue(), original => {
      const bytes = bytesOf(pair.encode(original));
      for (let length = 0; length < bytes.length; length += Math.max(1, bytes.length >> 6)) {
        const frame = frameOf(bytes.subarray(0, length));
        assert.throws(() => pair.decode(frame), { code: 'ERR_HOTLANE_PROTOCOL' });
      }
    }),
    { numRuns: Math.floor(RUNS / 10) },
  );
});

test('what lies around a frame changes nothing', () => {
  const pair = trained();
  fc.assert(
    fc.property(value, fc.nat(), fc.integer({ min: 0, max: 255 }), (original, at, byte) => {
      const bytes = bytesOf(pair.encode(original));
      bytes[at % bytes.length] = byte;
      assert.equal(outcome(pair.decoder, bytes, 0x00), outcome(pair.decoder, bytes, 0x41));
    }),
    { numRuns: Math.floor(RUNS / 3) },
  );
});

test('claims of great size cost nothing', () => {
  const pair = trained();
  const most = [0xff, 0xff, 0xff, 0xff, 0x0f];
  for (let tag = 0; tag < 0x40; tag++) {
    for (const bytes of [
      [0, tag, ...most],
      [0, tag, 0, ...most],
      [0, tag, ...most, ...most, 1],
      [0, tag, 0, ...most, ...most],
      [0, 0x10, ...most, 0x11, 0x1f],
      [0, 0x25, ...most, 0x11, 0x1f],
    ]) {
      decodeWithin(pair.decoder, frameOf(Uint8Array.from(bytes)));
    }
  }
});

test('nesting without end is PROTOCOL, not a crash', () => {
  const pair = trained();
  for (const level of [
    [0x10, 1],
    [0x13, 1, 0x41, 97],
    [0x16],
    [0x17],
    [0x19, 0, 8],
    [0x19, 7, 16],
    [0x18],
    [0x16, 0x80],
  ]) {
    const bytes = Uint8Array.from([0, ...Array.from({ length: 20_000 }, () => level).flat()]);
    assert.throws(() => pair.decode(frameOf(bytes)), { code: 'ERR_HOTLANE_PROTOCOL' });
  }
});

test('a damaged definitions log makes some value or PROTOCOL', () => {
  const pair = trained();
  const frame = pair.encode([
    { id: 1, name: 'x' },
    { a: 1, b: { c: 2 } },
  ]);
  const intact = pair.log.memory.bytes.slice(8, 8 + pair.writer.length);
  fc.assert(
    fc.property(
      fc.nat(),
      fc.integer({ min: 0, max: 255 }),
      fc.integer({ min: -1, max: 80 }),
      fc.boolean(),
      (at, byte, length, wild) => {
        const log = new DefinitionLog(64);
        const bytes = intact.slice(0, 64);
        bytes[at % bytes.length] = byte;
        log.memory.bytes.set(bytes, 8);
        Atomics.store(log.lengthWord, 0, wild ? length : Math.min(64, bytes.length));
        const decoder = new Decoder(nodeCodec, log.reader(nodeCodec));
        for (let i = 0; i < 2; i++) decodeWithin(decoder, frame);
      },
    ),
    { numRuns: RUNS },
  );
});
