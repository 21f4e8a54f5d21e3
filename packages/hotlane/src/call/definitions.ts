/**
 * The definitions log: names of functions and object shapes, kept apart from the frames that use them,
 * because several lanes read the frames of one host in any order.
 *
 * ```
 *   memory[start … start + length … end)          length: one Int32 word, anywhere, in shared memory
 *           └ entries ─┘└ unused ──┘
 *   entry   1 function   text
 *           2 shape      u8 count, text × count
 *   text    varint (bytes × 2 + (UTF-16 ? 1 : 0)), bytes
 * ```
 *
 * One writer, any number of readers. Entries are never changed, so the length is all there is to
 * agree on. Functions and shapes are numbered apart, each in the order of their entries.
 */

import { HotlaneError } from '../errors.ts';
import { atomicLoad, atomicStore } from './intrinsics.ts';
import { type Memory, memoryOver } from './memory.ts';
import type { CodecPlatform } from './platform.ts';
import {
  MAX_SHAPE_KEYS,
  MAX_SHAPES,
  ReadShape,
  type ShapeNode,
  type ShapeReader,
  ShapeTrie,
  type ShapeWriter,
} from './shapes.ts';

const FUNCTION = 1;
const SHAPE = 2;

const NOT_LATIN1 = /[^\0-\xff]/;

/** Bytes of the longest varint of an unsigned 32-bit number. */
const VARINT = 5;

export interface DefinitionOptions {
  /** Bytes at the end of the log that shapes may not use, so that functions always find room. @default 1/4 of the log */
  readonly functionBytes?: number;
}

/** Appends definitions. There must be one writer only for a log. */
export class DefinitionWriter implements ShapeWriter {
  readonly root: ShapeNode;
  readonly dead: ShapeNode;
  readonly #trie: ShapeTrie;
  readonly #memory: Memory;
  readonly #lengthWord: Int32Array;
  readonly #lengthIndex: number;
  readonly #start: number;
  readonly #end: number;
  readonly #shapesEnd: number;
  readonly #platform: CodecPlatform;
  readonly #functions = new Map<string, number>();
  #at: number;
  #shapes = 0;

  /**
   * @param memory where the log is; its bytes [start, end) belong to it
   * @param lengthWord in the same shared memory, or at least shared as well
   * @param lengthIndex which word; it must be 0 at first
   */
  constructor(
    memory: Memory,
    lengthWord: Int32Array,
    lengthIndex: number,
    start: number,
    end: number,
    platform: CodecPlatform,
    options: DefinitionOptions = {},
  ) {
    this.#memory = memory;
    this.#lengthWord = lengthWord;
    this.#lengthIndex = lengthIndex;
    this.#start = start;
    this.#end = end;
    this.#shapesEnd = end - (options.functionBytes ?? Math.floor((end - start) / 4));
    this.#platform = platform;
    this.#at = start;
    this.#trie = new ShapeTrie(keys => this.#defineShape(keys));
    this.root = this.#trie.root;
    this.dead = this.#trie.dead;
  }

  /** Bytes used so far. */
  get length(): number {
    return this.#at - this.#start;
  }

  /** How many shapes are defined. */
  get shapes(): number {
    return this.#shapes;
  }

  /** How many key sequences the writer keeps in mind; bounded. */
  get nodes(): number {
    return this.#trie.nodes;
  }

  /** @returns the function's number, the same one each time; −1 when the log is full */
  defineFunction(name: string): number {
    const known = this.#functions.get(name);
    if (known !== undefined) return known;
    const end = this.#writeTexts(FUNCTION, [name], this.#end);
    if (end < 0) return -1;
    const index = this.#functions.size;
    this.#functions.set(name, index);
    this.#publish(end);
    return index;
  }

  step(node: ShapeNode, key: string): ShapeNode {
    return this.#trie.step(node, key);
  }

  sighted(node: ShapeNode): number {
    return this.#trie.sighted(node);
  }

  #defineShape(keys: readonly string[]): number {
    if (this.#shapes >= MAX_SHAPES) return -1;
    const end = this.#writeTexts(SHAPE, keys, this.#shapesEnd);
    if (end < 0) return -1;
    this.#publish(end);
    return this.#shapes++;
  }

  #publish(end: number): void {
    this.#at = end;
    // Orders the entry's bytes before the length that covers them: a reader that loads this length
    // sees those bytes. What names the entry (a descriptor, a frame) is published after this.
    atomicStore(this.#lengthWord, this.#lengthIndex, end - this.#start);
  }

  /** Writes an entry behind the published ones; gives its end, −1 when it does not fit. */
  #writeTexts(kind: number, texts: readonly string[], end: number): number {
    const { bytes } = this.#memory;
    let size = 2;
    for (const text of texts) size += VARINT + text.length * (NOT_LATIN1.test(text) ? 2 : 1);
    let at = this.#at;
    if (at + size > end) return -1;
    bytes[at++] = kind;
    if (kind === SHAPE) bytes[at++] = texts.length;
    for (const text of texts) {
      const wide = NOT_LATIN1.test(text);
      const length = wide ? text.length * 2 : text.length;
      let rest = length * 2 + (wide ? 1 : 0);
      while (rest > 127) {
        bytes[at++] = (rest & 127) | 128;
        rest >>>= 7;
      }
      bytes[at++] = rest;
      if (wide) this.#platform.writeUtf16(bytes, text, at);
      else this.#platform.writeLatin1(bytes, text, at);
      at += length;
    }
    return at;
  }
}

/** Reads definitions as they are needed. Any number of readers, each with a place of its own in the log. */
export class DefinitionReader implements ShapeReader {
  readonly #memory: Memory;
  readonly #lengthWord: Int32Array;
  readonly #lengthIndex: number;
  readonly #start: number;
  readonly #end: number;
  readonly #platform: CodecPlatform;
  readonly #functions: string[] = [];
  readonly #shapes: ReadShape[] = [];
  #at: number;

  constructor(
    memory: Memory,
    lengthWord: Int32Array,
    lengthIndex: number,
    start: number,
    end: number,
    platform: CodecPlatform,
  ) {
    this.#memory = memory;
    this.#lengthWord = lengthWord;
    this.#lengthIndex = lengthIndex;
    this.#start = start;
    this.#end = end;
    this.#platform = platform;
    this.#at = start;
  }

  /** @returns undefined when no function has this number, also after reading on */
  functionName(index: number): string | undefined {
    const name = this.#functions[index];
    if (name !== undefined) return name;
    this.#readOn();
    return this.#functions[index];
  }

  shape(id: number): ReadShape {
    const known = this.#shapes[id];
    if (known !== undefined) return known;
    this.#readOn();
    const shape = this.#shapes[id];
    if (shape === undefined) {
      throw new HotlaneError(
        'PROTOCOL',
        `A frame names object shape ${id}, but only ${this.#shapes.length} are defined.`,
      );
    }
    return shape;
  }

  #readOn(): void {
    // Pairs with the writer's store: all bytes below this length are written and never change.
    const length = atomicLoad(this.#lengthWord, this.#lengthIndex);
    const end = this.#start + length;
    if (length < 0 || end > this.#end || end < this.#at) this.#fail(`its length is ${length}`);
    const { bytes } = this.#memory;
    while (this.#at < end) {
      const kind = bytes[this.#at];
      let count = 1;
      let at = this.#at + 1;
      if (kind === SHAPE) count = bytes[at++]!;
      else if (kind !== FUNCTION) this.#fail(`an entry is of kind ${kind}`);
      if (count > MAX_SHAPE_KEYS) this.#fail(`a shape has ${count} keys`);
      const texts: string[] = [];
      for (let i = 0; i < count; i++) {
        let size = 0;
        let shift = 0;
        let byte: number;
        do {
          if (at >= end || shift > 28) this.#fail('an entry is cut off');
          byte = bytes[at++]!;
          size += (byte & 127) * 2 ** shift;
          shift += 7;
        } while (byte > 127);
        const textEnd = at + Math.floor(size / 2);
        if (textEnd > end) this.#fail('an entry is cut off');
        texts[i] =
          size % 2 === 1
            ? this.#platform.readUtf16(bytes, at, textEnd)
            : this.#platform.readLatin1(bytes, at, textEnd);
        at = textEnd;
      }
      if (at > end) this.#fail('an entry is cut off');
      if (kind === FUNCTION) {
        this.#functions[this.#functions.length] = texts[0]!;
      } else {
        // Assigning to it would set a prototype; no writer makes a shape of it.
        if (texts.includes('__proto__')) this.#fail('a shape has the key __proto__');
        const { readingAfter = Number.POSITIVE_INFINITY } = this.#platform;
        this.#shapes[this.#shapes.length] = new ReadShape(texts, readingAfter);
      }
      this.#at = at;
    }
  }

  #fail(what: string): never {
    throw new HotlaneError('PROTOCOL', `The definitions log is damaged: ${what}.`);
  }
}

/** Pages that are not isolated have no shared memory; there a log is for the thread that made it. */
const LogBuffer = (globalThis.SharedArrayBuffer ?? ArrayBuffer) as SharedArrayBufferConstructor;

/** A log in shared memory of its own. Hand it to other threads; each makes its own reader. */
export class DefinitionLog {
  readonly buffer: SharedArrayBuffer;
  readonly memory: Memory;
  readonly lengthWord: Int32Array;

  /** @param source how many bytes, or the `buffer` of another thread's log */
  constructor(source: number | SharedArrayBuffer) {
    this.buffer = typeof source === 'number' ? new LogBuffer(source + 8) : source;
    this.memory = memoryOver(this.buffer);
    this.lengthWord = new Int32Array(this.buffer, 0, 1);
  }

  writer(platform: CodecPlatform, options?: DefinitionOptions): DefinitionWriter {
    return new DefinitionWriter(
      this.memory,
      this.lengthWord,
      0,
      8,
      this.buffer.byteLength,
      platform,
      options,
    );
  }

  reader(platform: CodecPlatform): DefinitionReader {
    return new DefinitionReader(this.memory, this.lengthWord, 0, 8, this.buffer.byteLength, platform);
  }
}
