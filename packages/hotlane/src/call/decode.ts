/**
 * Reads frames (see wire.ts) and believes nothing: each length, index and tag is checked against the
 * frame before it is used, nothing is allocated on the word of a length alone, and nothing read here
 * runs code or sets a prototype, that of a registered class of errors apart. What is damaged ends in `PROTOCOL`.
 *
 * Frames may lie in memory that other threads reuse later, so everything is copied out.
 */
import { type ErrorCode, HotlaneError, isHotlaneError } from '../errors.ts';
import { registeredPrototype } from './error-classes.ts';
import { emptyRoom, MAX_VALUE_BYTES, type Memory } from './memory.ts';
import type { BufferClass, CodecPlatform } from './platform.ts';
import type { ReadShape, ShapeReader } from './shapes.ts';
import * as wire from './wire.ts';

const NO_SIDE: readonly unknown[] = Object.freeze([]);
/**
 * Short strings are cut out of a longer text that is read in one go: a call into the platform costs as
 * much as seven cuts. V8 keeps the text alive as long as a cut of 13 characters or more, hence not longer.
 */
const WINDOW_BYTES = 512;
/** With no more than this much of the frame left, there is too little to cut from one text. */
const LITTLE_LEFT = 24;
/** From so many bytes on it pays not to zero memory that is written over. */
const LARGE_BYTES = 4_096;
/** A longer array is not laid out in full before its elements were seen. */
const DENSE_GAP = 2_048;

const global = globalThis as Record<string, any>;
const fromCode = String.fromCharCode;

type ViewClass = new (buffer: ArrayBufferLike, byteOffset: number, length: number) => ArrayBufferView;
const VIEW_CLASSES: readonly (ViewClass | undefined)[] = wire.VIEW_KINDS.map(name =>
  name === 'Buffer' ? Uint8Array : global[name],
);
/** Bytes per element, by kind. */
const ELEMENT_BYTES: readonly number[] = VIEW_CLASSES.map(view => (view as any)?.BYTES_PER_ELEMENT ?? 1);

/** Contents that come after the values: what they belong to, and how they are read. */
interface Deferred {
  readonly target: any;
  readonly tag: number;
}

export class Decoder {
  /** Makes what stands for a value of the other side: see `Encoder.refer`. Null: there are none. */
  resolve: ((kind: number, id: number) => object) | null = null;

  readonly #platform: CodecPlatform;
  readonly #shapes: ShapeReader;
  #bytes: Uint8Array = emptyRoom().memory.bytes;
  #view: DataView = emptyRoom().memory.view;
  #at = 0;
  #end = 0;
  #side: readonly unknown[] = NO_SIDE;
  #depth = 0;
  /** Objects by number; undefined when the frame refers to none. */
  #met: object[] | undefined = undefined;
  #deferred: Deferred[] | undefined = undefined;

  #text = '';
  #textStart = 0;
  #textEnd = 0;

  constructor(platform: CodecPlatform, shapes: ShapeReader) {
    this.#platform = platform;
    this.#shapes = shapes;
  }

  /**
   * Decodes the arguments of a call.
   *
   * @param memory where the frame is: exactly its bytes [start, end)
   * @param side the values that came by the side channel
   * @returns a fresh array
   * @throws HotlaneError `PROTOCOL` when the bytes are not a frame of arguments
   */
  decodeArguments(memory: Memory, start: number, end: number, side?: readonly unknown[]): unknown[] {
    try {
      let count = this.#begin(memory, start, end, side) >> 1;
      if (count === wire.MANY_ARGUMENTS) count = this.#varint();
      if (count > this.#end - this.#at) this.#fail(`it claims ${count} arguments`);
      const args: unknown[] = [];
      for (let i = 0; i < count; i++) args[i] = this.read();
      this.#finish();
      return args;
    } catch (error) {
      throw this.#explain(error);
    }
  }

  /** Decodes one value: a result, an error. As `decodeArguments` otherwise. */
  decodeValue(memory: Memory, start: number, end: number, side?: readonly unknown[]): unknown {
    try {
      if (this.#begin(memory, start, end, side) >> 1 !== 0)
        this.#fail('it has arguments where one value was expected');
      const value = this.read();
      this.#finish();
      return value;
    } catch (error) {
      throw this.#explain(error);
    }
  }

  /** Lets go of the last frame, so that a large one does not live until the next. */
  release(): void {
    const { memory } = emptyRoom();
    this.#bytes = memory.bytes;
    this.#view = memory.view;
    this.#side = NO_SIDE;
  }

  // ── One frame ───────────────────────────────────────────────────────────────────────────────────

  #begin(memory: Memory, start: number, end: number, side: readonly unknown[] | undefined): number {
    this.#bytes = memory.bytes;
    this.#view = memory.view;
    this.#side = side ?? NO_SIDE;
    this.#end = end;
    this.#textEnd = 0;
    this.#depth = 0;
    if (!(start >= 0 && start < end && end <= memory.bytes.length)) {
      this.#fail(`its range ${start}–${end} is not within ${memory.bytes.length} bytes`);
    }
    const head = this.#bytes[start]!;
    this.#met = (head & wire.REFERENCES) !== 0 ? [] : undefined;
    this.#at = start + 1;
    return head;
  }

  #finish(): void {
    if (this.#deferred !== undefined) this.#readDeferred();
    if (this.#at !== this.#end) this.#fail(`${this.#end - this.#at} bytes are left over`);
    this.#release();
  }

  /** Keeps nothing of the frame's alive. */
  #release(): void {
    this.#met = undefined;
    this.#deferred = undefined;
    this.#side = NO_SIDE;
  }

  #explain(error: unknown): unknown {
    this.#release();
    if (isHotlaneError(error)) return error;
    if (error instanceof Error && /call stack|too much recursion/.test(error.message)) {
      return new HotlaneError(
        'TOO_LARGE',
        `A value nests deeper than can be read here: up to ${wire.MAX_DEPTH} levels (MAX_DEPTH) are read at a time, and the call stack had no room for them.`,
        { cause: error },
      );
    }
    // A text or a buffer that the engine refuses, a URL or a pattern that is none.
    return new HotlaneError('PROTOCOL', `A frame cannot be read: ${(error as Error)?.message}.`, {
      cause: error,
    });
  }

  #fail(what: string): never {
    throw new HotlaneError('PROTOCOL', `A frame cannot be read: ${what}.`);
  }

  /** Moves past `length` bytes, if the frame has them; gives where they start. */
  #take(length: number): number {
    const at = this.#at;
    if (length > this.#end - at) this.#fail(`it ends ${length - (this.#end - at)} bytes early`);
    this.#at = at + length;
    return at;
  }

  #referred(): object {
    const kind = this.#byte();
    const id = this.#varint();
    if (this.resolve === null) this.#fail('it refers to a value of the other side, where there can be none');
    return this.resolve(kind, id);
  }

  #byte(): number {
    const at = this.#at;
    if (at >= this.#end) this.#fail('it ends early');
    this.#at = at + 1;
    return this.#bytes[at]!;
  }

  /** An unsigned number of 32 bits. */
  #varint(): number {
    let value = 0;
    for (let factor = 1; factor <= 2 ** 28; factor *= 128) {
      const byte = this.#byte();
      value += (byte & 127) * factor;
      if (byte < 128) {
        if (value > 0xffffffff) break;
        return value;
      }
    }
    return this.#fail('a number has too many digits');
  }

  // ── Values ──────────────────────────────────────────────────────────────────────────────────────

  /** The next value. Public for `shape-reading.ts` only. */
  read(): unknown {
    const at = this.#at;
    if (at >= this.#end) this.#fail('it ends early');
    const tag = this.#bytes[at]!;
    this.#at = at + 1;
    if (tag >= wire.SMALL_INT) return tag & 127;
    if (tag >= wire.SMALL_STRING) return this.#shortText(tag & wire.SMALL_STRING_MAX);
    return this.#readTagged(tag);
  }

  #readTagged(tag: number): unknown {
    switch (tag) {
      case wire.UNDEFINED:
        return undefined;
      case wire.NULL:
        return null;
      case wire.TRUE:
        return true;
      case wire.FALSE:
        return false;
      case wire.INT8:
        return (this.#byte() << 24) >> 24;
      case wire.INT16:
        return this.#view.getInt16(this.#take(2), true);
      case wire.INT32:
        return this.#view.getInt32(this.#take(4), true);
      case wire.DOUBLE:
        return this.#view.getFloat64(this.#take(8), true);
      case wire.BIGINT64:
        return this.#view.getBigInt64(this.#take(8), true);
      case wire.BIGINT:
        return this.#readBigInt();
      case wire.LATIN1: {
        const length = this.#varint();
        const at = this.#take(length);
        return this.#platform.readLatin1(this.#bytes, at, at + length);
      }
      case wire.UTF16:
        return this.#readUtf16();
      case wire.SHAPED:
        return this.#readShaped();
      case wire.ARRAY:
        return this.#readArray(false);
      case wire.LOOSE_ARRAY:
        return this.#readArray(true);
      case wire.INLINE:
        return this.#nest(() => this.#fillInline(this.#add({})));
      case wire.REF: {
        const index = this.#varint();
        const object = this.#met?.[index];
        if (object === undefined) this.#fail(`it refers to object ${index}, which it does not have`);
        return object;
      }
      case wire.SIDE:
        return this.#sideValue();
      case wire.REFERRED:
        return this.#add(this.#referred());
      case wire.DATE:
        return this.#add(new Date(this.#view.getFloat64(this.#take(8), true)));
      case wire.REGEXP:
        return this.#add(new RegExp(this.#string(), this.#string()));
      case wire.MAP:
        return this.#nest(() => this.#fillMap(this.#add(new Map())));
      case wire.SET:
        return this.#nest(() => this.#fillSet(this.#add(new Set())));
      case wire.BOXED:
        return this.#readBoxed();
      case wire.ERROR:
        return this.#nest(() => this.#fillError(this.#readErrorHead()));
      case wire.BUFFER:
        return this.#add(this.#ownBuffer(this.#varint()));
      case wire.RESIZABLE:
        return this.#readResizable();
      case wire.VIEW:
        return this.#readView();
      case wire.VIEW_OF:
        return this.#readViewOf();
      case wire.URL_TAG:
        return this.#readUrl();
      case wire.DEFER_OBJECT:
        return this.#defer(tag, this.#add({}));
      case wire.DEFER_ARRAY:
        return this.#defer(tag, this.#add([]));
      case wire.DEFER_MAP:
        return this.#defer(tag, this.#add(new Map()));
      case wire.DEFER_SET:
        return this.#defer(tag, this.#add(new Set()));
      case wire.DEFER_ERROR:
        return this.#defer(tag, this.#readErrorHead());
      default:
        return this.#fail(`there is no value with tag ${tag}`);
    }
  }

  #shortText(length: number): string {
    const at = this.#at;
    const end = at + length;
    if (end > this.#end) this.#fail('it ends within a text');
    this.#at = end;
    if (at >= this.#textStart && end <= this.#textEnd)
      return this.#text.slice(at - this.#textStart, end - this.#textStart);
    if (length <= 8 && this.#end - end <= LITTLE_LEFT) return fewCharacters(this.#bytes, at, length);
    const windowEnd = Math.min(this.#end, at + WINDOW_BYTES);
    const text = this.#platform.readLatin1(this.#bytes, at, windowEnd);
    this.#text = text;
    this.#textStart = at;
    this.#textEnd = windowEnd;
    return text.slice(0, length);
  }

  #readUtf16(): string {
    const length = this.#varint();
    if (length % 2 !== 0) this.#fail('a text in UTF-16 has half a unit');
    const at = this.#take(length);
    return this.#platform.readUtf16(this.#bytes, at, at + length);
  }

  /** A value that must be a string: a key, a message. */
  #string(): string {
    const tag = this.#byte();
    if (tag >= wire.SMALL_STRING && tag < wire.SMALL_INT) return this.#shortText(tag & wire.SMALL_STRING_MAX);
    if (tag !== wire.LATIN1 && tag !== wire.UTF16) this.#fail(`tag ${tag} is not a text's`);
    return this.#readTagged(tag) as string;
  }

  #readBigInt(): bigint {
    const size = this.#varint();
    const length = Math.floor(size / 2);
    const at = this.#take(length);
    let hex = '0x0';
    for (let i = at; i < at + length; i++) hex += (this.#bytes[i]! | 256).toString(16).slice(1);
    const magnitude = BigInt(hex);
    return size % 2 === 1 ? -magnitude : magnitude;
  }

  #readBoxed(): object {
    const tag = this.#at < this.#end ? this.#bytes[this.#at]! : 0;
    const primitive =
      tag >= wire.SMALL_STRING || (tag >= wire.TRUE && tag <= wire.UTF16 && tag !== wire.HOLE);
    if (!primitive) this.#fail('a box has no primitive in it');
    return this.#add(Object(this.read()));
  }

  #readUrl(): unknown {
    const href = this.#string();
    return this.#add(global.URL === undefined ? Object(href) : new global.URL(href));
  }

  // ── Objects ─────────────────────────────────────────────────────────────────────────────────────

  /** Numbers an object. */
  #add<T extends object>(object: T): T {
    this.#number(object);
    return object;
  }

  #number(object: object): void {
    const met = this.#met;
    if (met !== undefined) met[met.length] = object;
  }

  #sideValue(): any {
    const index = this.#varint();
    if (index >= this.#side.length)
      this.#fail(`it names value ${index} of the side channel, which has ${this.#side.length}`);
    return this.#side[index];
  }

  #readArray(loose: boolean): unknown[] {
    const array: unknown[] = [];
    this.#number(array);
    this.#enter();
    this.#fillArray(array, loose);
    this.#depth--;
    return array;
  }

  #nest<T>(read: () => T): T {
    this.#enter();
    const value = read();
    this.#depth--;
    return value;
  }

  #enter(): void {
    // What is put off and what an error carries both stay below this, plus a container or two.
    if (++this.#depth > wire.MAX_DEPTH + 8) this.#fail('it nests too deep');
  }

  #readShaped(): object {
    const shape = this.#shapes.shape(this.#view.getUint16(this.#take(2), true));
    this.#enter();
    let object: object;
    if (this.#met === undefined && shape.reading !== null) {
      object = shape.reading(this);
    } else {
      object = { ...shape.template };
      this.#number(object);
      this.#fillShaped(object, shape);
      shape.count();
    }
    this.#depth--;
    return object;
  }

  #fillShaped(target: any, { keys }: ReadShape): void {
    for (let i = 0; i < keys.length; i++) {
      const at = this.#at;
      if (at < this.#end && this.#bytes[at] === wire.HOLE) {
        this.#at = at + 1;
        delete target[keys[i]!];
      } else {
        target[keys[i]!] = this.read();
      }
    }
  }

  #fillInline(target: any): object {
    const count = this.#varint();
    if (count > this.#end - this.#at) this.#fail(`an object claims ${count} properties`);
    for (let i = 0; i < count; i++) {
      const key = this.#string();
      if (this.#skip(wire.HOLE)) continue;
      setData(target, key, this.read());
    }
    return target;
  }

  #skip(tag: number): boolean {
    if (this.#at >= this.#end || this.#bytes[this.#at] !== tag) return false;
    this.#at++;
    return true;
  }

  #fillArray(array: unknown[], loose: boolean): unknown[] {
    const length = this.#varint();
    for (let i = 0; i < length; i++) {
      const tag = this.#at < this.#end ? this.#bytes[this.#at]! : 0;
      if (tag === wire.DOUBLE) {
        // Straight into the array: numbers that pass through a variable of any type are boxed.
        this.#at++;
        array[i] = this.#view.getFloat64(this.#take(8), true);
      } else if (tag === wire.HOLE) {
        this.#at++;
        array.length = i + 1;
      } else if (tag === wire.REST && loose) {
        return this.#fillRest(array, length);
      } else {
        array[i] = this.read();
      }
    }
    if (!loose) return array;
    if (this.#at >= this.#end || this.#bytes[this.#at] !== wire.REST) this.#fail('an array lacks its rest');
    return this.#fillRest(array, length);
  }

  #fillRest(array: unknown[], length: number): unknown[] {
    this.#at++;
    if (length > array.length + DENSE_GAP) {
      // To set only the length would make V8 lay it out in full; an element far away makes it sparse.
      array[length - 1] = undefined;
      delete array[length - 1];
    } else {
      array.length = length;
    }
    while (!this.#skip(wire.END)) {
      const key = this.read();
      if (typeof key === 'number') {
        if (!(Number.isInteger(key) && key >= 0 && key < length)) this.#fail(`an array has no index ${key}`);
        array[key] = this.read();
      } else if (typeof key === 'string' && key !== 'length') {
        const before = array.length;
        setData(array, key, this.read());
        if (array.length !== before) this.#fail('a named property of an array is an index');
      } else {
        this.#fail('an array has a property that is neither index nor name');
      }
    }
    return array;
  }

  #fillMap(map: Map<unknown, unknown>): Map<unknown, unknown> {
    while (!this.#skip(wire.END)) {
      const key = this.read();
      map.set(key, this.read());
    }
    return map;
  }

  #fillSet(set: Set<unknown>): Set<unknown> {
    while (!this.#skip(wire.END)) set.add(this.read());
    return set;
  }

  // ── Bytes ───────────────────────────────────────────────────────────────────────────────────────

  #ownBuffer(length: number): ArrayBuffer {
    const at = this.#take(length);
    const bytes = length < LARGE_BYTES ? new Uint8Array(length) : this.#allocate(length);
    this.#platform.copy(bytes, 0, this.#bytes, at, at + length);
    return bytes.buffer as ArrayBuffer;
  }

  /** Made as a Buffer: one of few bytes lies in the heap, where an ArrayBuffer to lay it over would take ten times as long. */
  #readBuffer(Buffer: BufferClass, length: number): Uint8Array {
    const at = this.#take(length);
    const bytes = Buffer.allocUnsafeSlow(length);
    this.#platform.copy(bytes, 0, this.#bytes, at, at + length);
    return bytes;
  }

  #allocate(length: number): Uint8Array {
    return this.#platform.allocate?.(length) ?? new Uint8Array(length);
  }

  #readResizable(): ArrayBuffer {
    const length = this.#varint();
    const maxByteLength = this.#varint();
    // The maximum reserves addresses only, but no writer sends one past the limit.
    if (length > maxByteLength || maxByteLength > MAX_VALUE_BYTES)
      this.#fail(`a buffer claims a maximum of ${maxByteLength} bytes`);
    const at = this.#take(length);
    const buffer = new ArrayBuffer(length, { maxByteLength });
    this.#platform.copy(new Uint8Array(buffer), 0, this.#bytes, at, at + length);
    return this.#add(buffer);
  }

  #viewClass(kind: number): ViewClass {
    const view = VIEW_CLASSES[kind];
    if (view === undefined) this.#fail(`there is no ${wire.VIEW_KINDS[kind] ?? `view of kind ${kind}`} here`);
    return view;
  }

  #readView(): ArrayBufferView {
    const kind = this.#byte();
    const View = this.#viewClass(kind);
    const byteLength = this.#varint();
    const size = ELEMENT_BYTES[kind]!;
    if (byteLength % size !== 0) this.#fail(`a ${View.name} has ${byteLength} bytes`);
    if (kind === wire.BUFFER_KIND && this.#platform.Buffer !== undefined) {
      return this.#add(this.#readBuffer(this.#platform.Buffer, byteLength));
    }
    return this.#add(this.#makeView(kind, View, this.#ownBuffer(byteLength), 0, byteLength / size));
  }

  #readViewOf(): ArrayBufferView {
    const kind = this.#byte();
    const View = this.#viewClass(kind);
    const offset = this.#varint();
    const length = this.#varint();
    const buffer = this.#sideValue();
    const total = typeof buffer === 'object' && buffer !== null ? buffer.byteLength : undefined;
    const size = ELEMENT_BYTES[kind]!;
    if (
      typeof total !== 'number' ||
      ArrayBuffer.isView(buffer) ||
      offset % size !== 0 ||
      offset + length * size > total
    ) {
      this.#fail(`a ${View.name} does not fit its buffer`);
    }
    return this.#add(this.#makeView(kind, View, buffer, offset, length));
  }

  #makeView(
    kind: number,
    View: ViewClass,
    buffer: ArrayBufferLike,
    offset: number,
    length: number,
  ): ArrayBufferView {
    if (kind === wire.BUFFER_KIND && this.#platform.Buffer !== undefined) {
      return this.#platform.Buffer.from(buffer as ArrayBuffer, offset, length);
    }
    return new View(buffer, offset, length);
  }

  // ── Errors ──────────────────────────────────────────────────────────────────────────────────────

  #readErrorHead(): Error {
    const index = this.#byte();
    if (index !== wire.REGISTERED_ERROR) return this.#readBuiltInError(index);
    const prototype = registeredPrototype(this.#string());
    const error = this.#readBuiltInError(this.#byte());
    // No constructor runs; where nobody registered the class, the built-in one has to do.
    return prototype === undefined ? error : Object.setPrototypeOf(error, prototype);
  }

  #readBuiltInError(index: number): Error {
    const name = wire.ERROR_CLASSES[index];
    if (name === undefined) this.#fail(`there is no class of errors ${index}`);
    if (index === wire.HOTLANE_ERROR) {
      const code = this.#string();
      if (!/^ERR_HOTLANE_[A-Z_]{1,64}$/.test(code)) this.#fail('a HotlaneError has no code');
      return this.#add(
        withoutStack(() => new HotlaneError(code.slice('ERR_HOTLANE_'.length) as ErrorCode, '')),
      );
    }
    if (index === wire.DOM_EXCEPTION) {
      const ownName = this.#string();
      const message = this.#string();
      if (global.DOMException !== undefined) {
        return this.#add(withoutStack(() => new global.DOMException(message, ownName)));
      }
      const stand = withoutStack(() => new Error(message));
      setHidden(stand, 'name', ownName);
      return this.#add(stand);
    }
    if (name === 'AggregateError') return this.#add(withoutStack(() => new AggregateError([])));
    return this.#add(withoutStack(() => new global[name]()));
  }

  #fillError(error: Error): Error {
    const fields = this.#byte();
    if (fields > 31) this.#fail('an error has unknown fields');
    if ((fields & wire.HAS_NAME) !== 0) setHidden(error, 'name', this.#string());
    if ((fields & wire.HAS_MESSAGE) !== 0) setHidden(error, 'message', this.#string());
    if ((fields & wire.HAS_STACK) !== 0) setHidden(error, 'stack', this.#string());
    if ((fields & wire.HAS_CAUSE) !== 0) setHidden(error, 'cause', this.read());
    if ((fields & wire.HAS_ERRORS) !== 0) {
      const errors: unknown[] = [];
      while (!this.#skip(wire.END)) errors[errors.length] = this.read();
      setHidden(error, 'errors', errors);
    }
    while (!this.#skip(wire.END)) {
      const key = this.#string();
      Object.defineProperty(error, key, {
        value: this.read(),
        writable: true,
        enumerable: true,
        configurable: true,
      });
    }
    return error;
  }

  // ── Depth ───────────────────────────────────────────────────────────────────────────────────────

  #defer<T extends object>(tag: number, target: T): T {
    this.#deferred ??= [];
    this.#deferred[this.#deferred.length] = { target, tag };
    return target;
  }

  /** In the order in which they were put off; they may put off more. */
  #readDeferred(): void {
    const deferred = this.#deferred!;
    for (let i = 0; i < deferred.length; i++) {
      const { target, tag } = deferred[i]!;
      this.#depth = 0;
      if (tag === wire.DEFER_MAP) this.#fillMap(target);
      else if (tag === wire.DEFER_SET) this.#fillSet(target);
      else if (tag === wire.DEFER_ERROR) this.#fillError(target);
      else if (tag === wire.DEFER_ARRAY && this.#skip(wire.ARRAY)) this.#fillArray(target, false);
      else if (tag === wire.DEFER_ARRAY && this.#skip(wire.LOOSE_ARRAY)) this.#fillArray(target, true);
      else if (tag === wire.DEFER_OBJECT && this.#skip(wire.INLINE)) this.#fillInline(target);
      else if (tag === wire.DEFER_OBJECT && this.#skip(wire.SHAPED)) {
        this.#fillShaped(target, this.#shapes.shape(this.#view.getUint16(this.#take(2), true)));
      } else this.#fail('contents that were put off are missing');
    }
  }
}

/** Up to eight characters, without a call into the platform and without joining strings. */
function fewCharacters(b: Uint8Array, at: number, length: number): string {
  switch (length) {
    case 0:
      return '';
    case 1:
      return fromCode(b[at]!);
    case 2:
      return fromCode(b[at]!, b[at + 1]!);
    case 3:
      return fromCode(b[at]!, b[at + 1]!, b[at + 2]!);
    case 4:
      return fromCode(b[at]!, b[at + 1]!, b[at + 2]!, b[at + 3]!);
    case 5:
      return fromCode(b[at]!, b[at + 1]!, b[at + 2]!, b[at + 3]!, b[at + 4]!);
    case 6:
      return fromCode(b[at]!, b[at + 1]!, b[at + 2]!, b[at + 3]!, b[at + 4]!, b[at + 5]!);
    case 7:
      return fromCode(b[at]!, b[at + 1]!, b[at + 2]!, b[at + 3]!, b[at + 4]!, b[at + 5]!, b[at + 6]!);
    default:
      return fromCode(
        b[at]!,
        b[at + 1]!,
        b[at + 2]!,
        b[at + 3]!,
        b[at + 4]!,
        b[at + 5]!,
        b[at + 6]!,
        b[at + 7]!,
      );
  }
}

/** Sets a property as data, whatever its name: `__proto__` too. */
function setData(target: any, key: string, value: unknown): void {
  if (key === '__proto__') {
    Object.defineProperty(target, key, { value, writable: true, enumerable: true, configurable: true });
  } else {
    target[key] = value;
  }
}

function setHidden(error: Error, key: string, value: unknown): void {
  Object.defineProperty(error, key, { value, writable: true, enumerable: false, configurable: true });
}

/** Makes an error without the cost of a stack that would be this one, not its own. */
function withoutStack<T extends Error>(make: () => T): T {
  const limit = (Error as { stackTraceLimit?: number }).stackTraceLimit;
  const settable = typeof limit === 'number' && Reflect.set(Error, 'stackTraceLimit', 0);
  try {
    return make();
  } finally {
    if (settable) Reflect.set(Error, 'stackTraceLimit', limit);
  }
}
