/** Node's own text routines and classes, for the codec: native ones are several times the speed of loops. */
import { Buffer } from 'node:buffer';
import { inspect } from 'node:util';
import type { CodecPlatform } from '../call/platform.ts';

/** Buffer's methods work on any Uint8Array, shared memory included; @types/node does not list them all. */
interface TextRoutines {
  latin1Write(this: Uint8Array, text: string, at: number, length: number): number;
  latin1Slice(this: Uint8Array, start: number, end: number): string;
  ucs2Write(this: Uint8Array, text: string, at: number, length: number): number;
  ucs2Slice(this: Uint8Array, start: number, end: number): string;
  copy(this: Uint8Array, target: Uint8Array, targetStart: number, start: number, end: number): number;
}
const { latin1Write, latin1Slice, ucs2Write, ucs2Slice, copy } = Buffer.prototype as unknown as TextRoutines;

/**
 * Classes that Node clones or transfers natively, by name: to touch the classes themselves would load
 * crypto and the streams. A user's class of the same name is carried by structured clone: slower, not wrong.
 */
const PLATFORM_CLASSES = new Set([
  'MessagePort',
  'Blob',
  'KeyObject',
  'CryptoKey',
  'X509Certificate',
  'FileHandle',
  'ReadableStream',
  'WritableStream',
  'TransformStream',
  'BlockList',
  'SocketAddress',
  'Histogram',
  'RecordableHistogram',
  'ELDHistogram',
]);

/** Up to so many bytes a loop beats both copies. */
const LOOPED_BYTES = 32;
/** From this many bytes on, Node's native copy beats the engine's. */
const NATIVE_COPY_BYTES = 1_024;

const BARE = { maxArrayLength: 0, depth: 0, customInspect: false, colors: false, showProxy: false } as const;

export const nodeCodec: CodecPlatform = {
  writeLatin1(bytes, text, at) {
    latin1Write.call(bytes, text, at, text.length);
  },
  readLatin1: (bytes, start, end) => latin1Slice.call(bytes, start, end),
  writeUtf16(bytes, text, at) {
    ucs2Write.call(bytes, text, at, text.length * 2);
  },
  readUtf16: (bytes, start, end) => ucs2Slice.call(bytes, start, end),
  allocate: length => Buffer.allocUnsafeSlow(length),
  /**
   * Where either side is shared, V8 copies a word at a time, Node with memmove: a seventh of the time.
   * Node does that only for a part of a source, so the first byte goes by itself.
   */
  copy(target, at, source, start, end) {
    if (end - start <= LOOPED_BYTES) {
      for (let i = start; i < end; i++) target[at++] = source[i]!;
    } else if (end - start < NATIVE_COPY_BYTES) {
      target.set(source.subarray(start, end), at);
    } else {
      target[at] = source[start]!;
      copy.call(source, target, at + 1, start + 1, end);
    }
  },
  isPlatformObject(value) {
    if (/^\[object WebAssembly\.(Module|Memory)\]$/.test(Object.prototype.toString.call(value))) return true;
    for (let proto = Object.getPrototypeOf(value); proto !== null; proto = Object.getPrototypeOf(proto)) {
      const maker = Object.getOwnPropertyDescriptor(proto, 'constructor')?.value;
      if (typeof maker === 'function' && PLATFORM_CLASSES.has(maker.name)) return true;
    }
    return false;
  },
  /**
   * JavaScript has no way to list an array's named properties without listing its indices, but Node's
   * inspector has: with no elements to show, it takes constant time, and says more than this only if
   * there are named properties (or a class), when the answer is a safe "look yourself".
   */
  isBareArray: array => inspect(array, BARE) === `[ ... ${array.length} more items ]`,
  readingAfter: 100,
  Buffer,
};
