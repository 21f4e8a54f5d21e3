import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { test } from 'node:test';
import { createContext, runInContext } from 'node:vm';
import { Worker } from 'node:worker_threads';
import { Decoder } from '../src/call/decode.ts';
import { DefinitionLog } from '../src/call/definitions.ts';
import { Encoder } from '../src/call/encode.ts';
import { HeapSink, MAX_VALUE_BYTES, memoryOver, type Room } from '../src/call/memory.ts';
import { portablePlatform } from '../src/call/platform.ts';
import { MAX_SHAPE_KEYS, MAX_SHAPE_NODES } from '../src/call/shapes.ts';
import { DEFER_DEPTH, MAX_DEPTH } from '../src/call/wire.ts';
import { HotlaneError, isHotlaneError } from '../src/errors.ts';
import { nodeCodec } from '../src/place/node-codec.ts';
import { bytesOf, frameOf, Pair } from './codec-kit.ts';

/** Equal as `deepStrictEqual` sees it, which tells −0 from 0, holes from undefined, and prototypes. */
function assertSame(actual: unknown, expected: unknown, what?: string): void {
  assert.deepStrictEqual(actual, expected, what);
}

function record(i: number) {
  return {
    id: 123_456 + i,
    name: 'Jane Doe',
    email: 'jane.doe@example.com',
    active: true,
    score: 0.87,
    tags: ['a', 'b', 'c'],
    address: { street: '12 Long Road', city: 'Springfield', zip: '12345' },
  };
}

const PRIMITIVES: [string, unknown][] = [
  ['undefined', undefined],
  ['null', null],
  ['true', true],
  ['false', false],
  ['zero', 0],
  ['minus zero', -0],
  ['NaN', Number.NaN],
  ['infinity', Number.POSITIVE_INFINITY],
  ['minus infinity', Number.NEGATIVE_INFINITY],
  ...[
    1,
    127,
    128,
    -1,
    -128,
    -129,
    255,
    256,
    32_767,
    32_768,
    -32_768,
    -32_769,
    2 ** 31 - 1,
    2 ** 31,
    -(2 ** 31),
    -(2 ** 31) - 1,
    2 ** 53,
    0.1,
    5e-324,
    1.7e308,
  ].map(n => [`the number ${n}`, n] as [string, unknown]),
  ...[
    0n,
    1n,
    -1n,
    2n ** 63n - 1n,
    2n ** 63n,
    -(2n ** 63n),
    -(2n ** 63n) - 1n,
    2n ** 64n,
    10n ** 400n,
    -(10n ** 401n),
  ].map(n => [`the bigint ${String(n).slice(0, 24)}`, n] as [string, unknown]),
  ['the empty string', ''],
  ...[1, 8, 9, 27, 28, 29, 62, 63, 64, 65, 127, 128, 511, 512, 513, 5_000, 70_000].flatMap(
    n =>
      [
        [`a Latin-1 string of ${n}`, 'é'.repeat(n - 1).concat('x')],
        [`a wide string of ${n}`, 'x'.repeat(n - 1).concat('语')],
      ] as [string, unknown][],
  ),
  ['lone surrogates', '\ud800 and \udc00'],
  ['an emoji', '👩‍👩‍👧'],
  ['NUL characters', '\0a\0'],
];

const holes: unknown[] = [1];
holes[2] = undefined;
holes[3] = 4;
const named = Object.assign(['a', 'b'], { total: 2, nested: { x: 1 } });
const longNamed = Object.assign(
  Array.from({ length: 1_000 }, (_, i) => i),
  { total: 1_000 },
);
const sparse: unknown[] = [];
sparse[4_294_967_294] = 'last';
sparse[7] = 'seven';

/** Values that structured clone carries, and that must come out of the codec as they come out of it. */
const CLONED: [string, unknown][] = [
  ...PRIMITIVES,
  ['an empty array', []],
  ['an array of everything', PRIMITIVES.map(([, value]) => value)],
  ['an array with holes', holes],
  ['an array of holes', new Array(50)],
  ['an array that ends in holes', Object.assign([1], { length: 5 })],
  ['an array with named properties', named],
  ['a long array with named properties', longNamed],
  ['an array with named properties whose last element is an array', Object.assign([[], [1]], { x: [] })],
  ['a match of a regular expression', /(?<year>\d+)-(\d+)/.exec('on 2024-05')],
  ['a sparse array of the greatest length', sparse],
  ['a sparse array of a few elements', Object.assign(new Array(100_000), { 99999: 1, 5: 2, x: 3 })],
  [
    'an array with keys that look like indices',
    Object.assign([1], { '01': 1, '-1': 2, '1.5': 3, '4294967295': 4 }),
  ],
  ['an array of 1,000 numbers', Array.from({ length: 1_000 }, (_, i) => i / 3)],
  ['an empty object', {}],
  ['an object', record(0)],
  ['an object with keys that sort first', { b: 1, 2: 'two', a: 2, 1: 'one' }],
  [
    'an object with odd keys',
    { '': 0, 'a b': 1, 语言: 2, é: 3, ['k'.repeat(300)]: 4, constructor: 5, toString: 6, then: 7 },
  ],
  ['an object of 3,000 keys', Object.fromEntries(Array.from({ length: 3_000 }, (_, i) => [`key-${i}`, i]))],
  ['an object with undefined values', { a: undefined, b: null }],
  ['a date', new Date(1_700_000_000_123)],
  ['an invalid date', new Date(Number.NaN)],
  ['a regular expression', /a[/]\n"\u{1F600}é语/giu],
  [
    'a map',
    new Map<unknown, unknown>([
      ['a', 1],
      [{ k: 1 }, [2]],
      [Number.NaN, new Map()],
    ]),
  ],
  ['a set', new Set<unknown>([1, 'x', { a: 1 }, new Set([2]), undefined])],
  ['a boxed number', Object(-0)],
  ['a boxed string', Object('abc')],
  ['a boxed boolean', Object(false)],
  ['a boxed bigint', Object(2n ** 70n)],
  ['an empty buffer', new ArrayBuffer(0)],
  ['a buffer', new Uint8Array([1, 2, 3]).buffer],
  [
    'a class instance',
    new (class Point {
      x = 1;
      get norm() {
        return 2;
      }
    })(),
  ],
  [
    'an object with a getter',
    {
      get a() {
        return [1];
      },
    },
  ],
  ['an object with symbols', { a: 1, [Symbol('s')]: 2 }],
  ['an object made on a builtin prototype', Object.assign(Object.create(Map.prototype), { a: 1 })],
  [
    'properties on a map and a date, which are not carried',
    [Object.assign(new Map([[1, 2]]), { x: 1 }), Object.assign(new Date(5), { x: 1 })],
  ],
  ['2,000 objects', Array.from({ length: 2_000 }, (_, i) => record(i))],
  ...[
    Uint8Array,
    Int8Array,
    Uint8ClampedArray,
    Int16Array,
    Uint16Array,
    Int32Array,
    Uint32Array,
    Float32Array,
    Float64Array,
  ].map(View => [`a ${View.name}`, new View([0, 1, 2, 200])] as [string, unknown]),
  ['a BigInt64Array', new BigInt64Array([1n, -1n])],
  ['a BigUint64Array', new BigUint64Array([1n, 2n ** 63n])],
  ['a DataView', new DataView(new Uint8Array([1, 2, 3]).buffer)],
];

for (const [what, value] of CLONED) {
  test(`${what} arrives as a structured clone of it would`, () => {
    const pair = new Pair();
    const expected = structuredClone(value);
    // Three times: the first without shapes, the last with them.
    for (let i = 0; i < 3; i++) assertSame(pair.trip(value), expected);
    assertSame(
      pair.decodeArguments(pair.encodeArguments([value, 'after', value])),
      structuredClone([value, 'after', value]),
    );
  });

  test(`${what} makes the same bytes and the same value with the portable platform`, () => {
    const node = new Pair();
    const portable = new Pair({ platform: portablePlatform });
    assertSame(bytesOf(portable.encode(value)), bytesOf(node.encode(value)));
    assertSame(portable.trip(value), structuredClone(value));
  });
}

test('a Float16Array survives where there is one', t => {
  const Float16 = (globalThis as any).Float16Array;
  if (Float16 === undefined) return t.skip('no Float16Array here');
  const copy = new Pair().trip(new Float16([1, 0.5, 65_504]));
  assert.equal(copy.constructor, Float16);
  assertSame([...copy], [1, 0.5, 65_504]);
});

test('any number of arguments arrives, in order', () => {
  const pair = new Pair();
  for (const count of [0, 1, 2, 126, 127, 128, 5_000]) {
    const args = Array.from({ length: count }, (_, i) => i);
    assertSame(pair.decodeArguments(pair.encodeArguments(args)), args);
  }
});

test('null-prototype objects, proxies and module namespaces become plain objects', async () => {
  const pair = new Pair();
  assertSame(pair.trip(Object.assign(Object.create(null), { a: 1 })), { a: 1 });
  assertSame(pair.trip(new Proxy({ a: 1, b: [2] }, {})), { a: 1, b: [2] });
  assertSame(pair.trip(new Proxy([1, 2], {})), [1, 2]);
  const namespace = await import('../src/call/wire.ts');
  assert.equal(pair.trip(namespace).DOUBLE, namespace.DOUBLE);
  const argumentsObject = (function (..._: unknown[]) {
    // biome-ignore lint/complexity/noArguments: an arguments object is what is tested
    return arguments;
  })(1, 2);
  assertSame(pair.trip(argumentsObject), { 0: 1, 1: 2 } as any);
});

test('values of another realm arrive as ours', () => {
  const foreign = runInContext(
    '({ a: [1], m: new Map([[1, 2]]), s: new Set([1]), d: new Date(3), r: /x/g, e: new TypeError("bad"), u: new Uint8Array([7]), b: Object(1n) })',
    createContext({}),
  );
  const copy = new Pair().trip(foreign);
  assertSame(
    { ...copy, e: 0 },
    {
      a: [1],
      m: new Map([[1, 2]]),
      s: new Set([1]),
      d: new Date(3),
      r: /x/g,
      e: 0,
      u: new Uint8Array([7]),
      b: Object(1n),
    },
  );
  assert.ok(copy.e instanceof TypeError);
  assert.equal(copy.e.message, 'bad');
});

test('__proto__ is data like any other key and never sets a prototype', () => {
  const pair = new Pair();
  const value = JSON.parse('{"__proto__":{"polluted":true},"a":1}');
  const list = Object.assign([1], {});
  Object.defineProperty(list, '__proto__', { value: 5, enumerable: true });
  for (let i = 0; i < 4; i++) {
    const copy = pair.trip(value);
    assert.equal(Object.getPrototypeOf(copy), Object.prototype);
    assertSame(Object.keys(copy), ['__proto__', 'a']);
    assert.equal(copy.polluted, undefined);
    const array = pair.trip(list);
    assert.equal(Object.getPrototypeOf(array), Array.prototype);
    assertSame(Object.keys(array), ['0', '__proto__']);
  }
});

test('enumerable properties of Object.prototype are not sent', () => {
  const pair = new Pair();
  Object.defineProperty(Object.prototype, 'inherited', {
    value: 1,
    enumerable: true,
    configurable: true,
    writable: true,
  });
  try {
    for (let i = 0; i < 4; i++) assertSame(Object.keys(pair.trip({ a: 1, b: 2 })), ['a', 'b']);
  } finally {
    delete (Object.prototype as any).inherited;
  }
});

test('an object met twice in one frame is one object on the other side', () => {
  const pair = new Pair();
  const shared = { a: 1 };
  const buffer = new ArrayBuffer(4);
  for (const many of [0, 5, 40]) {
    const filler = Array.from({ length: many }, (_, i) => ({ i }));
    const copy = pair.trip({
      filler,
      list: [shared, shared],
      map: new Map([[shared, shared]]),
      buffer,
      again: buffer,
      first: filler[0],
    });
    assert.equal(copy.list[0], copy.list[1]);
    assertSame([...copy.map], [[copy.list[0], copy.list[0]]]);
    assert.equal(copy.buffer, copy.again);
    assert.equal(copy.first, copy.filler[0]);
  }
  const [one, two] = pair.decodeArguments(pair.encodeArguments([shared, shared]));
  assert.equal(one, two);
});

test('an object met in two frames is two objects', () => {
  const pair = new Pair();
  const shared = { a: 1 };
  assert.notEqual(pair.trip(shared), pair.trip(shared));
});

test('cycles through objects, arrays, maps, sets and errors are kept', () => {
  const pair = new Pair();
  const root: any = { list: [], map: new Map(), set: new Set(), error: new Error('e') };
  root.self = root;
  root.list.push(root.list, root);
  root.map.set(root.map, root);
  root.set.add(root.set);
  root.error.cause = root.error;
  const copy = pair.trip(root);
  assert.equal(copy.self, copy);
  assert.equal(copy.list[0], copy.list);
  assert.equal(copy.list[1], copy);
  assert.equal(copy.map.get(copy.map), copy);
  assert.ok(copy.set.has(copy.set));
  assert.equal(copy.error.cause, copy.error);
});

test('after an encode the encoder keeps no object alive and decodes nothing of an earlier frame', () => {
  const pair = new Pair();
  const shared = {};
  pair.encode([shared, shared]);
  // The first object of this frame is a new one: it must be written, not referred to.
  assertSame(pair.trip([{ a: 1 }, {}]), [{ a: 1 }, {}]);
});

test('a view brings only its own range, in a buffer of its own', () => {
  const pair = new Pair();
  const big = new Uint8Array(10_000).fill(9);
  for (const view of [
    big.subarray(5_000, 5_010),
    new Uint16Array(big.buffer, 2, 3),
    new DataView(big.buffer, 1, 5),
  ]) {
    const frame = pair.encode(view);
    assert.ok(frame.end - frame.start < 30);
    const copy = pair.decode(frame);
    assert.equal(copy.constructor, view.constructor);
    assert.equal(copy.byteOffset, 0);
    assert.equal(copy.byteLength, view.byteLength);
    assert.equal(copy.buffer.byteLength, view.byteLength);
  }
});

test('a Buffer stays a Buffer, without the pool it came from', () => {
  const pair = new Pair();
  const copy = pair.trip(Buffer.from('hello'));
  assert.ok(Buffer.isBuffer(copy));
  assert.equal(copy.toString(), 'hello');
  assert.equal(copy.buffer.byteLength, 5);
  const portable = new Pair({ readPlatform: portablePlatform }).trip(Buffer.from('hello'));
  assert.equal(Object.getPrototypeOf(portable), Uint8Array.prototype);
});

test('bytes of any size arrive unchanged, from and to shared memory', () => {
  const pair = new Pair();
  for (const size of [0, 1, 1_023, 1_024, 1_025, 100_000]) {
    const bytes = Uint8Array.from({ length: size }, (_, i) => (i * 7) & 255);
    assertSame(pair.trip(bytes), bytes);
    assertSame(pair.trip(bytes.buffer), bytes.buffer);
  }
});

test('a resizable buffer keeps its maximum', () => {
  const buffer = new ArrayBuffer(4, { maxByteLength: 16 });
  new Uint8Array(buffer).set([1, 2, 3, 4]);
  const copy = new Pair().trip(buffer);
  assert.equal(copy.resizable, true);
  assert.equal(copy.maxByteLength, 16);
  assertSame([...new Uint8Array(copy)], [1, 2, 3, 4]);
});

test('a URL arrives as a URL', () => {
  const copy = new Pair().trip(new URL('https://example.com/a?b=c#d'));
  assert.ok(copy instanceof URL);
  assert.equal(copy.href, 'https://example.com/a?b=c#d');
});

// ── Errors ────────────────────────────────────────────────────────────────────────────────────────

for (const Class of [Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError]) {
  test(`a ${Class.name} keeps its class, message, stack, cause and own properties`, () => {
    const error = Object.assign(new Class('bad', { cause: { why: [1] } }), { code: 'E_BAD', errno: -2 });
    const copy = new Pair().trip(error);
    assert.equal(Object.getPrototypeOf(copy), Class.prototype);
    assert.equal(copy.name, Class.name);
    assert.equal(copy.message, 'bad');
    assert.equal(copy.stack, error.stack);
    assertSame(copy.cause, { why: [1] });
    assertSame(Object.entries(copy), [
      ['code', 'E_BAD'],
      ['errno', -2],
    ]);
    assert.equal(Object.hasOwn(copy, 'name'), false);
    for (const key of ['message', 'stack', 'cause']) {
      assert.equal(Object.getOwnPropertyDescriptor(copy, key)?.enumerable, false);
    }
  });
}

test('an error keeps a name of its own, and a cause that is undefined', () => {
  const pair = new Pair();
  class ParseError extends SyntaxError {
    override get name() {
      return 'ParseError';
    }
  }
  const parse = pair.trip(new ParseError('x'));
  assert.ok(parse instanceof SyntaxError);
  assert.equal(parse.name, 'ParseError');
  const assigned = pair.trip(Object.assign(new Error('x'), { name: 'Mine' }));
  assert.equal(assigned.name, 'Mine');
  assertSame(Object.keys(assigned), ['name']);
  assert.equal(Object.hasOwn(pair.trip(new Error('x', { cause: undefined })), 'cause'), true);
  assert.equal(Object.hasOwn(pair.trip(new Error('x')), 'cause'), false);
  assert.equal(Object.hasOwn(pair.trip(new Error()), 'message'), false);
});

test('an AggregateError keeps its errors', () => {
  const error = new AggregateError([new TypeError('a'), 5, { x: 1 }], 'many');
  const copy = new Pair().trip(error);
  assert.ok(copy instanceof AggregateError);
  assert.equal(copy.message, 'many');
  assert.ok(copy.errors[0] instanceof TypeError);
  assertSame(copy.errors.slice(1), [5, { x: 1 }]);
});

test('a DOMException keeps its name, message and code', () => {
  const copy = new Pair().trip(new DOMException('stop', 'AbortError'));
  assert.ok(copy instanceof DOMException);
  assert.equal(copy.name, 'AbortError');
  assert.equal(copy.message, 'stop');
  assert.equal(copy.code, 20);
});

test('a HotlaneError keeps its code', () => {
  const copy = new Pair().trip(new HotlaneError('DEADLINE', 'late', { cause: new Error('slow') }));
  assert.ok(isHotlaneError(copy, 'DEADLINE'));
  assert.equal(copy.message, 'late');
  assert.equal((copy.cause as Error).message, 'slow');
  assert.equal(copy.name, 'HotlaneError');
});

test('what cannot be cloned in an error is left out, and the rest arrives with its references intact', () => {
  const pair = new Pair();
  const shared = { s: 1 };
  const port = new MessageChannel();
  const error: any = Object.assign(new AggregateError([shared, () => {}, 2], 'm'), {
    before: shared,
    response: { request: [shared, {}, { fn() {} }], port: port.port1 },
    after: [shared, { own: 1 }],
  });
  Object.defineProperty(error, 'broken', {
    enumerable: true,
    get() {
      throw new Error('no');
    },
  });
  error.cause = Promise.resolve();
  const frame = pair.encode({ error, shared });
  assertSame(frame.side, []);
  const copy = pair.decode(frame);
  assertSame(Object.keys(copy.error), ['before', 'after']);
  assertSame(copy.error.errors, [{ s: 1 }, 2]);
  assert.equal(copy.error.before, copy.shared);
  assert.equal(copy.error.after[0], copy.shared);
  assert.equal(copy.error.errors[0], copy.shared);
  assertSame(copy.error.after[1], { own: 1 });
  assert.equal(Object.hasOwn(copy.error, 'cause'), false);
  port.port1.close();
});

test('leaving out a large part of an error also takes back the numbers of its objects', () => {
  const pair = new Pair();
  const before = Array.from({ length: 10 }, () => ({}));
  const bad = Array.from({ length: 50 }, () => ({}) as any);
  bad.push(Symbol('x'));
  const after = Array.from({ length: 30 }, (_, i) => ({ i }));
  const copy: any = pair.trip([
    before,
    Object.assign(new Error('x'), { bad }),
    after,
    [...after].reverse(),
    before,
  ]);
  assert.equal(copy[2][0], copy[3][29]);
  assert.equal(copy[0], copy[4]);
  assert.equal('bad' in copy[1], false);
});

// ── The side channel ──────────────────────────────────────────────────────────────────────────────

test('ports, keys, blobs, streams and modules go by the side channel, once each', () => {
  const pair = new Pair();
  const { port1, port2 } = new MessageChannel();
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const wasm = new (globalThis as any).WebAssembly.Module(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]));
  const memory = new (globalThis as any).WebAssembly.Memory({ initial: 1, maximum: 1, shared: true });
  const values = [port1, publicKey, new Blob(['x']), new ReadableStream(), wasm, memory];
  const frame = pair.encode({ values, again: port1 });
  assertSame(frame.side.length, values.length);
  for (const [i, value] of values.entries()) assert.equal(frame.side[i], value);
  const copy = pair.decode(frame);
  assert.equal(copy.again, port1);
  assert.equal(copy.values[1], publicKey);
  port1.close();
  port2.close();
});

test('the side is a fresh array when there is one, and one frozen empty array otherwise', () => {
  const pair = new Pair();
  const shared = new SharedArrayBuffer(4);
  const first = pair.encode([shared]).side;
  const second = pair.encode([shared]).side;
  assert.notEqual(first, second);
  assert.equal(pair.encode(1).side, pair.encode(2).side);
  assert.ok(Object.isFrozen(pair.encode(1).side));
});

test('shared memory is shared, also through views and Buffers', () => {
  const pair = new Pair();
  const shared = new SharedArrayBuffer(64);
  const frame = pair.encode({
    shared,
    ints: new Int32Array(shared, 8, 4),
    data: new DataView(shared, 3, 5),
    buffer: Buffer.from(shared, 1, 2),
  });
  assertSame(frame.side, [shared]);
  const copy = pair.decode(frame);
  assert.equal(copy.shared, shared);
  for (const key of ['ints', 'data', 'buffer']) assert.equal(copy[key].buffer, shared);
  assert.equal(copy.ints.byteOffset, 8);
  assert.equal(copy.ints.length, 4);
  assert.equal(copy.data.byteLength, 5);
  assert.ok(Buffer.isBuffer(copy.buffer));
});

test('what is transferred goes by the side channel, and views over it come with it', () => {
  const pair = new Pair();
  const buffer = new Uint8Array([1, 2, 3, 4, 5, 6, 7, 8]).buffer;
  const view = new Uint16Array(buffer, 2, 2);
  const frame = pair.encodeArguments([view, { buffer, view }], [buffer]);
  assertSame(frame.side, [buffer]);
  const moved = structuredClone(buffer, { transfer: [buffer] });
  const [first, second] = pair.decodeArguments({ ...frame, side: [moved] });
  assert.equal(first, second.view);
  assert.equal(first.buffer, moved);
  assert.equal(second.buffer, moved);
  assertSame([...first], [0x0403, 0x0605]);
  assert.equal(pair.encode(new ArrayBuffer(8)).side.length, 0);
});

test('an index or a view that does not fit what came by the side is refused', () => {
  const pair = new Pair();
  const frame = pair.encode(new Int32Array(new SharedArrayBuffer(64), 8, 4));
  for (const side of [[], [new SharedArrayBuffer(8)], [5], [null], ['text'], [new Uint8Array(64)]]) {
    assert.throws(() => pair.decode({ ...frame, side }), { code: 'ERR_HOTLANE_PROTOCOL' });
  }
});

// ── What cannot be cloned ─────────────────────────────────────────────────────────────────────────

function detached(): ArrayBuffer {
  const buffer = new ArrayBuffer(8);
  structuredClone(buffer, { transfer: [buffer] });
  return buffer;
}

const fn = () => 1;
const mixed = Object.assign([1], { go: fn });
const gone = new Uint8Array(8);
structuredClone(gone.buffer, { transfer: [gone.buffer] });

const REFUSED: [what: string, args: unknown[], message: RegExp][] = [
  ['a function', [fn], /^args\[0\] is function fn, .*pass data, or `callback/],
  ['a method', [{ onClick() {} }], /^args\[0\]\.onClick is function onClick/],
  ['a function in an array', [1, { rows: [0, { fn }] }], /^args\[1\]\.rows\[1\]\.fn /],
  ['a function under an odd key', [{ 'a b': { 0: fn } }], /^args\[0\]\["a b"\]\["0"\] /],
  ['a function in a map', [new Map([['k', fn]])], /^args\[0\]\.get\("k"\) /],
  ['a function as the key of a map', [new Map([[fn, 1]])], /^args\[0\]\.key\(function fn\) /],
  ['a function in a set', [new Set([1, fn])], /^args\[0\]\.values\(\)\[1\] /],
  ['a function among named properties', [mixed], /^args\[0\]\.go /],
  ['a symbol', [[Symbol('s')]], /^args\[0\]\[0\] is the symbol Symbol\(s\)/],
  ['a boxed symbol', [Object(Symbol('s'))], /^args\[0\] is an instance of Symbol/],
  ['a promise', [{ p: Promise.resolve(1) }], /^args\[0\]\.p is an instance of Promise.*await it first/],
  ['a weak map', [new WeakMap()], /WeakMap/],
  ['a weak set', [new WeakSet()], /WeakSet/],
  ['a weak reference', [new WeakRef({})], /WeakRef/],
  ['a generator', [(function* () {})()], /a Generator.*array/],
  ['an async generator', [(async function* () {})()], /AsyncGenerator.*pool\.stream/],
  ['an iterator', [[1].values()], /Array Iterator.*array/],
  ['a proxy of a function', [new Proxy(fn, {})], /function/],
  ['search parameters', [new URLSearchParams('a=1')], /URLSearchParams.*toString/],
  ['an abort signal', [AbortSignal.abort()], /AbortSignal.*signal/],
  ['a number format', [new Intl.NumberFormat()], /NumberFormat/],
  ['a detached buffer', [{ b: detached() }], /^args\[0\]\.b is an instance of ArrayBuffer.*transferred/],
  ['a view of a detached buffer', [gone], /^args\[0\] is an instance of Uint8Array.*transferred/],
];

for (const [what, args, message] of REFUSED) {
  test(`${what} is refused with its path and what to do`, () => {
    const pair = new Pair();
    assert.throws(() => pair.encodeArguments(args), { code: 'ERR_HOTLANE_NOT_CLONEABLE', message });
    assertSame(pair.trip({ still: 'works' }), { still: 'works' });
  });
}

test('a path of a result begins with result, and one in a cyclic value is found', () => {
  const rows: any[] = [0, 1, 2, { fn }];
  const value: any = { rows };
  value.self = value;
  assert.throws(() => new Pair().encode(value), { message: /^result\.rows\[3\]\.fn / });
});

test('the shortest way to a value deep in a long list is found without recursion', () => {
  let list: any = { fn };
  for (let i = 0; i < 20_000; i++) list = { next: list };
  assert.throws(() => new Pair().encode(list), {
    code: 'ERR_HOTLANE_NOT_CLONEABLE',
    message: /^result\.next\.next/,
  });
});

// ── The user's code in the middle of it ───────────────────────────────────────────────────────────

test('what a getter throws is thrown as it is, and the encoder stays usable', () => {
  const pair = new Pair();
  const mine = new Error('mine');
  const value = {
    a: { shared: 1 },
    get b() {
      throw mine;
    },
  };
  for (let i = 0; i < 4; i++) {
    assert.throws(
      () => pair.encode([value]),
      error => error === mine,
    );
    assertSame(pair.trip([{ x: [i] }]), [{ x: [i] }]);
  }
});

test('a getter that makes a call of its own disturbs neither', () => {
  const pair = new Pair();
  const shared = { s: 1 };
  let inner: unknown;
  const value = {
    shared,
    get nested() {
      inner = pair.trip([shared, { deep: [shared] }, new SharedArrayBuffer(1).byteLength]);
      assert.throws(() => pair.encode(() => {}), { code: 'ERR_HOTLANE_NOT_CLONEABLE' });
      return [shared, 'after'];
    },
    last: shared,
  };
  for (let i = 0; i < 3; i++) {
    const copy: any = pair.trip(value);
    assertSame(inner, [{ s: 1 }, { deep: [{ s: 1 }] }, 1]);
    assertSame(copy, { shared: { s: 1 }, nested: [{ s: 1 }, 'after'], last: { s: 1 } });
    assert.equal(copy.nested[0], copy.shared);
    assert.equal(copy.last, copy.shared);
  }
});

test('a getter that removes or adds properties of its object changes it as in structured clone', () => {
  const pair = new Pair();
  const make = () => ({
    get a() {
      delete (this as any).b;
      (this as any).d = 4;
      return 1;
    },
    b: 2,
    c: 3,
  });
  for (let i = 0; i < 4; i++) {
    assertSame(pair.trip(make()), structuredClone(make()));
    // With the shape known, too.
    pair.trip({ a: 1, b: 2, c: 3 });
  }
});

test('a getter that adds to the map or set being read does not make it endless', () => {
  const map = new Map<unknown, unknown>();
  map.set('grow', {
    get x() {
      map.set(Symbol.for('never').description! + map.size, 1);
      return 1;
    },
  });
  assert.equal(new Pair().trip(map).size, 1);
});

// ── Depth ─────────────────────────────────────────────────────────────────────────────────────────

test('a linked list of 100,000 arrives, as objects, arrays, maps or sets', () => {
  const pair = new Pair();
  const wrap: [string, (inner: unknown) => unknown, (outer: any) => unknown][] = [
    ['objects', next => ({ v: 1, next }), outer => outer.next],
    ['arrays', inner => [inner], outer => outer[0]],
    ['maps', inner => new Map([['k', inner]]), outer => outer.get('k')],
    ['sets', inner => new Set([inner]), outer => outer.values().next().value],
    ['errors', cause => Object.assign(new Error('x', { cause }), { stack: '' }), outer => outer.cause],
  ];
  for (const [what, put, get] of wrap) {
    const length = what === 'errors' ? 3_000 : 100_000;
    let value: unknown = 'end';
    for (let i = 0; i < length; i++) value = put(value);
    let copy = pair.trip(value);
    for (let i = 0; i < length; i++) copy = get(copy);
    assert.equal(copy, 'end', what);
  }
});

test('depth keeps order, identity and what follows', () => {
  const pair = new Pair();
  const shared = { shared: true };
  let deep: any = { end: shared };
  for (let i = 0; i < DEFER_DEPTH * 3; i++) deep = i % 2 ? [i, deep, shared] : { a: i, deep, z: 'after' };
  const copy = pair.trip({ deep, deepAgain: deep, shared });
  assert.equal(copy.deep, copy.deepAgain);
  assertSame(copy.deep, deep);
  let at: any = copy.deep;
  while (at.end === undefined) at = Array.isArray(at) ? at[1] : at.deep;
  assert.equal(at.end, copy.shared);
});

test('a property of an error nests up to MAX_DEPTH and is left out beyond', () => {
  const pair = new Pair();
  const nest = (levels: number) => {
    let value: any = 'end';
    for (let i = 0; i < levels; i++) value = [value];
    return value;
  };
  const error = Object.assign(new Error('x'), { fits: nest(MAX_DEPTH - 10), deeper: nest(MAX_DEPTH * 2) });
  assertSame(Object.keys(pair.trip(error)), ['fits']);
});

test('in a caller that is already deep, a stack overflow is TOO_LARGE and names the limit', () => {
  const pair = new Pair();
  let value: any = 1;
  for (let i = 0; i < DEFER_DEPTH; i++) value = [value];
  const room = { memory: memoryOver(new ArrayBuffer(4_096)), start: 0, end: 4_096 };
  let caught: any;
  const dive = (): void => {
    try {
      dive();
    } catch {
      if (caught !== undefined) return;
      try {
        pair.encoder.encodeValue(value, room, pair.sink);
        caught = 'none';
      } catch (error) {
        if (!isHotlaneError(error)) throw error;
        caught = error;
      }
    }
  };
  dive();
  assert.equal(caught.code, 'ERR_HOTLANE_TOO_LARGE');
  assert.match(caught.message, /MAX_DEPTH/);
  assertSame(pair.trip([1]), [1]);
});

// ── Room ──────────────────────────────────────────────────────────────────────────────────────────

test('a frame is the same wherever its room ends and growth sets in', () => {
  const samples: unknown[] = [
    record(1),
    [1.5, -1, 300, 70_000, 2n ** 80n, 'x'.repeat(100), '语'.repeat(30), /a/g, new Date(1), Object(1n)],
    [new Map([[1, new Set([2])]]), new Uint8Array(40).subarray(3, 33), new ArrayBuffer(9), holes, named],
    Object.assign(new TypeError('bad', { cause: [1] }), { stack: 'at x', code: 'C', fn, list: [fn] }),
    Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`k${i}`, i])),
  ];
  for (const sample of samples) {
    const expected = bytesOf(new Pair().encode([sample, sample]));
    for (let size = 0; size <= expected.length; size++) {
      const pair = new Pair();
      // As small as the interface allows, so that the next write grows again.
      const sink = {
        grow(room: Room, used: number, need: number): Room {
          const memory = memoryOver(new ArrayBuffer(used + need + 3));
          memory.bytes.set(room.memory.bytes.subarray(room.start, room.start + used), 3);
          return { memory, start: 3, end: 3 + used + need };
        },
      };
      const memory = memoryOver(new SharedArrayBuffer(size + 20));
      memory.bytes.fill(0xaa);
      const length = pair.encoder.encodeValue([sample, sample], { memory, start: 10, end: 10 + size }, sink);
      const { room } = pair.encoder;
      assertSame(new Uint8Array(room.memory.bytes.slice(room.start, room.start + length)), expected);
      assert.ok(
        memory.bytes.subarray(0, 10).every(byte => byte === 0xaa),
        'wrote before its room',
      );
      assert.ok(
        memory.bytes.subarray(10 + size).every(byte => byte === 0xaa),
        'wrote behind its room',
      );
    }
  }
});

test('a long string or array of bytes is asked room for once', () => {
  const asked: number[] = [];
  const heap = new HeapSink(1 << 28);
  const sink = {
    grow(room: Room, used: number, need: number): Room {
      asked.push(need);
      return heap.grow(room, used, need);
    },
  };
  const pair = new Pair();
  const room = { memory: memoryOver(new ArrayBuffer(64)), start: 0, end: 64 };
  pair.encoder.encodeValue('x'.repeat(1_000_000), room, sink);
  pair.encoder.encodeValue(new Uint8Array(1_000_000), room, sink);
  pair.encoder.encodeValue('语'.repeat(1_000_000), room, sink);
  assert.equal(asked.length, 3);
});

test('past the limit of its sink a value is TOO_LARGE, which names the limit', () => {
  const pair = new Pair({ maxBytes: 1_000 });
  for (const value of ['x'.repeat(1_000), new Uint8Array(1_000), Array.from({ length: 1_001 }, () => 1)]) {
    assert.throws(() => pair.encode(value), {
      code: 'ERR_HOTLANE_TOO_LARGE',
      message: /at most 1000 bytes \(maxBytes\)/,
    });
    assertSame(pair.trip(['fits']), ['fits']);
  }
});

test('past MAX_VALUE_BYTES a value is TOO_LARGE whatever its sink allows', () => {
  const pair = new Pair({ maxBytes: Number.POSITIVE_INFINITY });
  const huge = new ArrayBuffer(MAX_VALUE_BYTES, { maxByteLength: MAX_VALUE_BYTES });
  assert.throws(() => pair.encode(new Uint8Array(huge)), {
    code: 'ERR_HOTLANE_TOO_LARGE',
    message: /MAX_VALUE_BYTES/,
  });
  const growing = new ArrayBuffer(1, { maxByteLength: MAX_VALUE_BYTES + 1 });
  assert.throws(() => pair.encode(growing), { code: 'ERR_HOTLANE_TOO_LARGE', message: /maxByteLength/ });
});

// ── Definitions ───────────────────────────────────────────────────────────────────────────────────

test('a shape is defined when it comes again, once, and then sent by number', () => {
  const pair = new Pair();
  const first = pair.encode({ someKey: 1, otherKey: 2 });
  assert.equal(pair.writer.shapes, 0);
  const second = pair.encode({ someKey: 3, otherKey: 4 });
  assert.equal(pair.writer.shapes, 1);
  const { length } = pair.writer;
  const third = pair.encode({ someKey: 5, otherKey: 6 });
  assert.equal(pair.writer.length, length);
  assert.ok(bytesOf(second).length < bytesOf(first).length - 12);
  assert.equal(bytesOf(third).length, bytesOf(second).length);
  assertSame(
    [first, second, third].map(frame => pair.decode(frame)),
    [
      { someKey: 1, otherKey: 2 },
      { someKey: 3, otherKey: 4 },
      { someKey: 5, otherKey: 6 },
    ],
  );
});

test('shapes differ by the order of their keys, and share what they have in common', () => {
  const pair = new Pair();
  const values = [{ a: 1, b: 2 }, { b: 1, a: 2 }, { a: 1 }, { a: 1, b: 2, c: 3 }];
  for (let i = 0; i < 4; i++) {
    for (const value of values) assertSame(Object.entries(pair.trip(value)), Object.entries(value));
  }
  assert.equal(pair.writer.shapes, 4);
});

test('a shape that comes often is read by a function of its own, whatever its keys are', () => {
  const keys = [
    'plain',
    'two words',
    '"',
    '\\',
    '\n',
    '\u2028',
    '\ud800',
    '💡',
    'constructor',
    'toString',
    'hasOwnProperty',
    '',
    ']:0,[(globalThis.broken=1)]:1,["',
    '"};globalThis.broken=1;({"',
    '`,$',
  ];
  const pair = new Pair();
  for (let i = 0; i < 4; i++) {
    const value = Object.fromEntries(keys.map((key, k) => [key, k === i ? { nested: [i] } : `${key}${i}`]));
    const copy = pair.trip(value);
    assertSame(copy, value);
    assert.deepEqual(Object.keys(copy), keys);
  }
  assert.ok(pair.reader.shape(0).reading !== null, 'the loop read all of them');
  assert.equal((globalThis as any).broken, undefined);
});

test('objects that refer to each other are built before their contents, also where a function reads their shape', () => {
  const pair = new Pair();
  for (let i = 0; i < 4; i++) {
    const value: any = { name: 'a', self: null };
    value.self = value;
    const copy: any = pair.trip(value);
    assert.equal(copy.self, copy);
    assertSame(pair.trip({ name: 'b', self: i }), { name: 'b', self: i });
  }
});

test('a function for a shape fails as the loop does when the frame ends early or nests too deep', () => {
  const pair = new Pair();
  for (let i = 0; i < 4; i++) pair.trip({ in: { in: i } });
  const whole = pair.encode({ in: { in: { in: 'text' } } });
  for (let cut = 1; cut < whole.end - whole.start; cut++) {
    const damaged = frameOf(bytesOf(whole).subarray(0, cut));
    assert.throws(() => pair.decode(damaged), { code: 'ERR_HOTLANE_PROTOCOL' });
  }
  assertSame(pair.trip({ in: { in: 1 } }), { in: { in: 1 } });
});

test('objects built from one shape do not share values', () => {
  const pair = new Pair();
  pair.trip({ a: 1, b: [1] });
  pair.trip({ a: 1, b: [1] });
  const [one, two] = [pair.trip({ a: 1, b: [1] }), pair.trip({ a: 2, b: [2] })];
  one.a = 9;
  one.b.push(9);
  assertSame(two, { a: 2, b: [2] });
  assertSame(pair.trip({ a: 3, b: [3] }), { a: 3, b: [3] });
});

test('readers of one log in any order, each in a place of its own, agree', () => {
  const pair = new Pair();
  const values = [{ a: 1 }, { b: 1, c: 2 }, { d: 1, e: { f: 1 } }];
  for (const value of values) pair.encode(value);
  const frames = values.map(value => pair.encode(value));
  const forward = new Decoder(nodeCodec, pair.log.reader(nodeCodec));
  const backward = new Decoder(portablePlatform, pair.log.reader(portablePlatform));
  assertSame(
    frames.map(frame => pair.decode(frame, forward)),
    values,
  );
  assertSame(
    [...frames].reverse().map(frame => pair.decode(frame, backward)),
    [...values].reverse(),
  );
  // A reader that has read all there was reads on.
  pair.encode({ late: 1 });
  const late = pair.encode({ late: 1 });
  assertSame(pair.decode(late, forward), { late: 1 });
  assertSame(pair.decode(late, backward), { late: 1 });
});

test('another thread reads the log and the frames in shared memory', async () => {
  const pair = new Pair();
  pair.encode(record(0));
  const frame = pair.encode(record(1));
  const name = pair.writer.defineFunction('tâche 语');
  const from = (path: string) => JSON.stringify(new URL(path, import.meta.url).href);
  const worker = new Worker(
    `import { parentPort, workerData } from 'node:worker_threads';
    import { Decoder } from ${from('../src/call/decode.ts')};
    import { DefinitionLog } from ${from('../src/call/definitions.ts')};
    import { memoryOver } from ${from('../src/call/memory.ts')};
    import { nodeCodec } from ${from('../src/place/node-codec.ts')};
    const reader = new DefinitionLog(workerData.log).reader(nodeCodec);
    const value = new Decoder(nodeCodec, reader).decodeValue(memoryOver(workerData.buffer), workerData.start, workerData.end);
    parentPort.postMessage([value, reader.functionName(workerData.name)]);`,
    {
      eval: true,
      execArgv: ['--input-type=module'],
      workerData: {
        log: pair.log.buffer,
        buffer: frame.memory.bytes.buffer,
        start: frame.start,
        end: frame.end,
        name,
      },
    },
  );
  const answer = await new Promise((resolve, reject) => {
    worker.once('message', resolve);
    worker.once('error', reject);
  });
  await worker.terminate();
  assertSame(answer, [record(1), 'tâche 语']);
});

test('functions are numbered from 0, by name, and read back', () => {
  const pair = new Pair();
  assert.equal(pair.writer.defineFunction('fib'), 0);
  pair.encode({ a: 1 });
  pair.encode({ a: 1 });
  assert.equal(pair.writer.defineFunction('größe 语'), 1);
  assert.equal(pair.writer.defineFunction('fib'), 0);
  assert.equal(pair.reader.functionName(1), 'größe 语');
  assert.equal(pair.reader.functionName(0), 'fib');
  assert.equal(pair.reader.functionName(2), undefined);
});

test('a full log is no error: shapes go with their keys, and functions keep their reserve', () => {
  const pair = new Pair({ logBytes: 200, options: { functionBytes: 60 } });
  for (let i = 0; i < 100; i++) {
    const value = { [`property_${i}`]: i, other: 1 };
    for (let k = 0; k < 4; k++) assertSame(pair.trip(value), value);
  }
  assert.ok(pair.writer.shapes > 0 && pair.writer.shapes < 100);
  let functions = 0;
  while (pair.writer.defineFunction(`fn${functions}`) >= 0) functions++;
  assert.ok(functions >= 4);
  assert.equal(pair.writer.defineFunction('one more'), -1);
  assert.equal(pair.writer.defineFunction('fn0'), 0);
  assert.equal(pair.reader.functionName(functions - 1), `fn${functions - 1}`);
});

test('a log with no room at all still lets everything through', () => {
  const pair = new Pair({ logBytes: 0 });
  for (let i = 0; i < 5; i++) assertSame(pair.trip(record(i)), record(i));
  assert.equal(pair.writer.defineFunction('f'), -1);
});

test('dictionaries whose keys keep changing fill neither the log nor memory', () => {
  const pair = new Pair({ logBytes: 65_536 });
  for (let i = 0; i < 20_000; i++) {
    const value = { [`user-${i}`]: 1, [`user-${i + 1}`]: 2, [`user-${i * 7}-x`]: 3 };
    if (i % 500 === 0) assertSame(pair.trip(value), value);
    else pair.encode(value);
  }
  assert.equal(pair.writer.length, 0);
  assert.ok(pair.writer.nodes <= MAX_SHAPE_NODES);
  // And a true shape is still found among them.
  for (let i = 0; i < 20_000 && pair.writer.shapes === 0; i++) pair.encode({ id: i, kind: 'x' });
  assert.equal(pair.writer.shapes, 1);
});

test('objects with many, long or index-like keys never become shapes', () => {
  const pair = new Pair();
  const many = Object.fromEntries(Array.from({ length: MAX_SHAPE_KEYS + 1 }, (_, i) => [`k${i}`, i]));
  for (const value of [many, { ['x'.repeat(65)]: 1 }, { 0: 'a', b: 1 }, {}, { '1x': 1 }]) {
    for (let i = 0; i < 30; i++) assertSame(pair.trip(value), value);
  }
  assert.equal(pair.writer.shapes, 0);
});

test('a number that no shape has is PROTOCOL, and so is a damaged log', () => {
  const pair = new Pair();
  assert.throws(() => pair.decode(frameOf(new Uint8Array([0, 0x12, 5, 0]))), {
    code: 'ERR_HOTLANE_PROTOCOL',
    message: /shape 5/,
  });
  const entries: number[][] = [
    [9],
    [2, 1, 0x80, 0x80, 0x80, 0x80, 0x80, 1],
    [2, 65],
    [2, 2, 2, 97],
    [1, 200, 1, 97],
    [2, 1, 18, ...Buffer.from('__proto__')],
  ];
  for (const entry of entries) {
    const log = new DefinitionLog(64);
    log.memory.bytes.set(entry, 8);
    Atomics.store(log.lengthWord, 0, entry.length);
    assert.throws(() => log.reader(nodeCodec).functionName(0), { code: 'ERR_HOTLANE_PROTOCOL' });
  }
  for (const length of [-1, 65, 2 ** 31 - 1]) {
    const log = new DefinitionLog(64);
    Atomics.store(log.lengthWord, 0, length);
    assert.throws(() => log.reader(nodeCodec).functionName(0), { code: 'ERR_HOTLANE_PROTOCOL' });
  }
});

test('a frame of arguments is not one of a value, nor a range outside its memory one of either', () => {
  const pair = new Pair();
  const frame = pair.encodeArguments([1, 2]);
  assert.throws(() => pair.decode(frame), { code: 'ERR_HOTLANE_PROTOCOL' });
  const { memory } = frame;
  for (const [start, end] of [
    [0, 0],
    [-1, 4],
    [4, 2],
    [0, memory.bytes.length + 1],
    [Number.NaN, 4],
  ] as const) {
    assert.throws(() => pair.decoder.decodeValue(memory, start, end), { code: 'ERR_HOTLANE_PROTOCOL' });
  }
});

test('an encoder of its own for each direction works over the same shapes', () => {
  const log = new DefinitionLog(1_024);
  const writer = log.writer(nodeCodec);
  const [one, two] = [new Encoder(nodeCodec, writer), new Encoder(nodeCodec, writer)];
  const sink = new HeapSink(1_000);
  for (const encoder of [one, two, one]) {
    const length = encoder.encodeValue({ a: 1, b: 2 }, encoder.room, sink);
    const decoder = new Decoder(nodeCodec, log.reader(nodeCodec));
    const { memory, start } = encoder.room;
    assertSame(decoder.decodeValue(memory, start, start + length), { a: 1, b: 2 });
  }
  assert.equal(writer.shapes, 1);
});
