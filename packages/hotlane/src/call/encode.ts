/**
 * Writes arguments and results as frames (see wire.ts), straight into the room it is given.
 *
 * Positions are passed along and returned, not kept in a field: that keeps them in a register. Each
 * `#write…(value, at)` returns the position behind what it wrote. `#grow` may move the frame to other
 * memory, so after anything that can grow only offsets from the frame's start stay true.
 *
 * A getter of the user's may run in the middle of it and make a call of its own: that one is handed to
 * another encoder. Whatever is thrown, the next encode starts from a clean state.
 */
import { HotlaneError, isHotlaneError } from '../errors.ts';
import { isCallback } from './callback.ts';
import {
  boxedValue,
  Classifier,
  KIND_BOXED,
  KIND_BUFFER,
  KIND_DATE,
  KIND_ERROR,
  KIND_MAP,
  KIND_PLATFORM,
  KIND_REGEXP,
  KIND_SET,
  KIND_SHARED,
  KIND_TALKS,
  KIND_UNCLONEABLE,
  KIND_URL,
  KIND_VIEW,
} from './classify.ts';
import { registeredName } from './error-classes.ts';
import { emptyRoom, MAX_VALUE_BYTES, type Memory, type Room, type Sink } from './memory.ts';
import { notCloneable, Uncloneable } from './not-cloneable.ts';
import type { BufferClass, CodecPlatform } from './platform.ts';
import type { ShapeNode, ShapeWriter } from './shapes.ts';
import * as wire from './wire.ts';

const NO_SIDE: readonly unknown[] = Object.freeze([]);
const NO_BUFFERS: readonly ArrayBuffer[] = Object.freeze([]);
const NOTHING: Room = emptyRoom();
/** Objects of a frame are looked up by scanning a list up to this many, in a Map beyond. */
const SCAN = 16;
/** Below this length a loop writes text faster than a call into the platform. */
const LOOP_TEXT = 28;
/** From this length on, the platform is asked whether an array has named properties. */
const LONG_ARRAY = 128;
/** After this many holes in a row an array is taken to be sparse. */
const MANY_HOLES = 64;

/** Constant time in V8 for strings that it keeps in one byte per character. */
const NOT_LATIN1 = /[^\0-\xff]/;

const { isArray } = Array;
const hasOwn = Object.prototype.hasOwnProperty;
const hasInstance = Object.prototype.isPrototypeOf;
const getTime = Date.prototype.getTime;
const mapEntries = Map.prototype.entries;
const setValues = Set.prototype.values;
const typedArrayName = Object.getOwnPropertyDescriptor(
  Object.getPrototypeOf(Uint8Array.prototype),
  Symbol.toStringTag,
)!.get!;
const VIEW_KIND_OF = new Map<string | undefined, number>(wire.VIEW_KINDS.map((name, kind) => [name, kind]));

/** Kept to tell a container's DEFER tag by when its contents come. */
type Writer = (value: any, at: number) => number;

export class Encoder {
  /** After an encode: where the frame is. */
  room: Room = emptyRoom();
  /**
   * After an encode: the values that go by the side channel, in the order of their index on the wire.
   * A fresh array when there are any; else an empty, frozen one.
   */
  side: readonly unknown[] = NO_SIDE;
  /**
   * Views of so many bytes or more are not written: a copy of their bytes goes by the side channel, to be moved, so that
   * the other side takes it over without copying it again.
   */
  moveFromBytes = Number.POSITIVE_INFINITY;
  /** After an encode: those copies. Whoever sends `side` moves them. */
  moved: readonly ArrayBuffer[] = NO_BUFFERS;

  /**
   * Asked about values that do not travel, but may be spoken to: callbacks, streams. It gives what the other side is told
   * (`kind | id << 3`), or −1 for those that are none. Null: there are none here.
   */
  refer: ((value: object) => number) | null = null;

  readonly #platform: CodecPlatform;
  readonly #shapes: ShapeWriter;
  readonly #root: ShapeNode;
  readonly #classifier: Classifier;

  #busy = false;
  #sink!: Sink;
  #frame: Room = this.room;
  #bytes: Uint8Array = this.room.memory.bytes;
  #view: DataView = this.room.memory.view;
  #end = 0;
  #transfer: readonly object[] | undefined = undefined;
  #sideValues: unknown[] | undefined = undefined;
  #moved: ArrayBuffer[] | undefined = undefined;
  #movedBytes = 0;

  /** Objects in the order of their numbers. */
  readonly #met: object[] = [];
  #metCount = 0;
  /** The same by object, once there are more than `SCAN`. */
  #numbers: Map<object, number> | undefined = undefined;
  #usesReferences = false;

  #depth = 0;
  /** Above 0: inside something that is left out when it fails, so nothing in it may be put off. */
  #trying = 0;
  readonly #deferred: object[] = [];
  readonly #deferredWriters: Writer[] = [];

  constructor(platform: CodecPlatform, shapes: ShapeWriter) {
    this.#platform = platform;
    this.#shapes = shapes;
    this.#root = shapes.root;
    this.#classifier = new Classifier(platform);
  }

  /**
   * Encodes the arguments of a call.
   *
   * @param room where to write; it is written from its start on
   * @param sink asked for more room when that one is too small
   * @param transfer objects that are to move, not to be copied: they go to `side`
   * @returns how many bytes were written, from `this.room.start` on
   * @throws HotlaneError `NOT_CLONEABLE` with the path of the value, `TOO_LARGE`; whatever a getter throws
   */
  encodeArguments(args: readonly unknown[], room: Room, sink: Sink, transfer?: readonly object[]): number {
    if (this.#busy) return this.#nested(args, true, room, sink, transfer);
    this.#begin(room, sink, transfer);
    try {
      const count = args.length;
      let at = room.start;
      if (at >= this.#end) at = this.#grow(at, 1);
      if (count < wire.MANY_ARGUMENTS) {
        this.#bytes[at++] = count << 1;
      } else {
        this.#bytes[at++] = wire.MANY_ARGUMENTS << 1;
        at = this.#writeVarint(count, at);
      }
      for (let i = 0; i < count; i++) at = this.#write(args[i], at);
      return this.#finish(at);
    } catch (error) {
      throw this.#explain(error, args, true);
    } finally {
      this.#reset();
    }
  }

  /** Encodes one value: a result, an error. As `encodeArguments` otherwise. */
  encodeValue(value: unknown, room: Room, sink: Sink, transfer?: readonly object[]): number {
    if (this.#busy) return this.#nested(value, false, room, sink, transfer);
    this.#begin(room, sink, transfer);
    try {
      let at = room.start;
      if (at >= this.#end) at = this.#grow(at, 1);
      this.#bytes[at++] = 0;
      return this.#finish(this.#write(value, at));
    } catch (error) {
      throw this.#explain(error, [value], false);
    } finally {
      this.#reset();
    }
  }

  /** Lets go of the last frame, so that a large one does not live until the next. */
  release(): void {
    if (this.#busy) return; // a getter's call ends inside another's encoding
    this.side = NO_SIDE;
    this.moved = NO_BUFFERS;
    this.room = NOTHING;
    this.#enter(NOTHING);
  }

  // ── One frame ───────────────────────────────────────────────────────────────────────────────────

  #nested(
    value: unknown,
    isArguments: boolean,
    room: Room,
    sink: Sink,
    transfer?: readonly object[],
  ): number {
    const inner = new Encoder(this.#platform, this.#shapes);
    inner.refer = this.refer;
    const length = isArguments
      ? inner.encodeArguments(value as readonly unknown[], room, sink, transfer)
      : inner.encodeValue(value, room, sink, transfer);
    this.room = inner.room;
    this.side = inner.side;
    this.moved = inner.moved;
    return length;
  }

  #begin(room: Room, sink: Sink, transfer: readonly object[] | undefined): void {
    this.#busy = true;
    this.#sink = sink;
    this.#transfer = transfer;
    this.#enter(room);
  }

  #enter(room: Room): void {
    this.#frame = room;
    const memory: Memory = room.memory;
    this.#bytes = memory.bytes;
    this.#view = memory.view;
    const { start, end } = room;
    this.#end = end - start > MAX_VALUE_BYTES ? start + MAX_VALUE_BYTES : end;
  }

  /** Writes what was put off, completes the head, and hands out the results. */
  #finish(at: number): number {
    if (this.#deferred.length > 0) at = this.#writeDeferred(at);
    const room = this.#frame;
    if (this.#usesReferences) this.#bytes[room.start]! |= wire.REFERENCES;
    this.room = room;
    this.side = this.#sideValues ?? NO_SIDE;
    this.moved = this.#moved ?? NO_BUFFERS;
    return at - room.start;
  }

  /** Leaves nothing of this frame behind: no object of the user's is kept alive. */
  #reset(): void {
    this.#busy = false;
    if (this.#metCount > 0) this.#forget(0);
    this.#transfer = undefined;
    this.#sideValues = undefined;
    this.#moved = undefined;
    this.#movedBytes = 0;
    this.#usesReferences = false;
    this.#depth = 0;
    this.#trying = 0;
    if (this.#deferred.length > 0) {
      this.#deferred.length = 0;
      this.#deferredWriters.length = 0;
    }
  }

  #explain(error: unknown, values: readonly unknown[], isArguments: boolean): unknown {
    if (error instanceof Uncloneable) return notCloneable(error, values, isArguments);
    return isStackOverflow(error) ? tooDeep(error) : error;
  }

  /** Makes room for `need` bytes at a position; gives the position in the new memory. */
  #grow(at: number, need: number): number {
    const used = at - this.#frame.start;
    if (used + need > MAX_VALUE_BYTES) {
      throw new HotlaneError(
        'TOO_LARGE',
        `A value takes at least ${used + need} bytes; at most ${MAX_VALUE_BYTES} bytes (MAX_VALUE_BYTES) can be sent at once. Send it in parts, or transfer it.`,
      );
    }
    this.#enter(this.#sink.grow(this.#frame, used, need));
    return this.#frame.start + used;
  }

  // ── Values ──────────────────────────────────────────────────────────────────────────────────────

  #write(value: unknown, at: number): number {
    if (typeof value === 'string') return this.#writeString(value, at);
    if (typeof value === 'number') return this.#writeNumber(value, at);
    if (typeof value === 'object' && value !== null) return this.#writeObject(value, at);
    if (at >= this.#end) at = this.#grow(at, 1);
    if (value === undefined) this.#bytes[at] = wire.UNDEFINED;
    else if (value === null) this.#bytes[at] = wire.NULL;
    else if (value === true) this.#bytes[at] = wire.TRUE;
    else if (value === false) this.#bytes[at] = wire.FALSE;
    else if (typeof value === 'bigint') return this.#writeBigInt(value, at);
    else throw new Uncloneable(value);
    return at + 1;
  }

  #writeNumber(value: number, at: number): number {
    if (at + 9 > this.#end) at = this.#grow(at, 9);
    const whole = value | 0;
    // −0 equals its whole part too, and is no integer.
    if (whole !== value || (whole === 0 && 1 / value < 0)) {
      this.#bytes[at] = wire.DOUBLE;
      this.#view.setFloat64(at + 1, value, true);
      return at + 9;
    }
    const bytes = this.#bytes;
    if (whole >= 0 && whole < 128) {
      bytes[at] = wire.SMALL_INT | whole;
      return at + 1;
    }
    if (whole >= -128 && whole < 128) {
      bytes[at] = wire.INT8;
      bytes[at + 1] = whole;
      return at + 2;
    }
    if (whole >= -32768 && whole < 32768) {
      bytes[at] = wire.INT16;
      bytes[at + 1] = whole;
      bytes[at + 2] = whole >> 8;
      return at + 3;
    }
    bytes[at] = wire.INT32;
    this.#view.setInt32(at + 1, whole, true);
    return at + 5;
  }

  #writeString(value: string, at: number): number {
    const length = value.length;
    if (length > LOOP_TEXT) return this.#writeLongString(value, at);
    if (at + 1 + length > this.#end) at = this.#grow(at, 1 + length);
    const bytes = this.#bytes;
    bytes[at++] = wire.SMALL_STRING | length;
    for (let i = 0; i < length; i++) {
      const unit = value.charCodeAt(i);
      if (unit > 0xff) return this.#writeUtf16(value, at - 1);
      bytes[at + i] = unit;
    }
    return at + length;
  }

  #writeLongString(value: string, at: number): number {
    if (NOT_LATIN1.test(value)) return this.#writeUtf16(value, at);
    const length = value.length;
    if (at + 6 + length > this.#end) at = this.#grow(at, 6 + length);
    if (length <= wire.SMALL_STRING_MAX) {
      this.#bytes[at++] = wire.SMALL_STRING | length;
    } else {
      this.#bytes[at++] = wire.LATIN1;
      at = this.#writeVarint(length, at);
    }
    this.#platform.writeLatin1(this.#bytes, value, at);
    return at + length;
  }

  #writeUtf16(value: string, at: number): number {
    const length = value.length * 2;
    if (at + 6 + length > this.#end) at = this.#grow(at, 6 + length);
    this.#bytes[at++] = wire.UTF16;
    at = this.#writeVarint(length, at);
    this.#platform.writeUtf16(this.#bytes, value, at);
    return at + length;
  }

  #writeBigInt(value: bigint, at: number): number {
    if (BigInt.asIntN(64, value) === value) {
      if (at + 9 > this.#end) at = this.#grow(at, 9);
      this.#bytes[at] = wire.BIGINT64;
      this.#view.setBigInt64(at + 1, value, true);
      return at + 9;
    }
    const negative = value < 0n;
    let hex = (negative ? -value : value).toString(16);
    if (hex.length % 2 === 1) hex = `0${hex}`;
    const length = hex.length / 2;
    if (at + 6 + length > this.#end) at = this.#grow(at, 6 + length);
    this.#bytes[at++] = wire.BIGINT;
    at = this.#writeVarint(length * 2 + (negative ? 1 : 0), at);
    // The most significant byte first, as the text has them.
    for (let i = 0; i < length; i++) this.#bytes[at + i] = Number.parseInt(hex.slice(2 * i, 2 * i + 2), 16);
    return at + length;
  }

  #writeVarint(value: number, at: number): number {
    if (at + 5 > this.#end) at = this.#grow(at, 5);
    const bytes = this.#bytes;
    while (value > 127) {
      bytes[at++] = (value & 127) | 128;
      value >>>= 7;
    }
    bytes[at++] = value;
    return at;
  }

  #writeTag(tag: number, at: number): number {
    if (at >= this.#end) at = this.#grow(at, 1);
    this.#bytes[at] = tag;
    return at + 1;
  }

  // ── Objects ─────────────────────────────────────────────────────────────────────────────────────

  #writeObject(value: object, at: number): number {
    if (this.#transfer?.includes(value)) return this.#writeSide(value, at);
    if (isArray(value)) {
      const number = this.#meet(value);
      return number < 0 ? this.#writeArray(value, at) : this.#writeReference(number, at);
    }
    const prototype = Object.getPrototypeOf(value);
    if (prototype !== Object.prototype && prototype !== null) return this.#writeSpecial(value, at);
    const number = this.#meet(value);
    return number < 0 ? this.#writePlain(value, at) : this.#writeReference(number, at);
  }

  /** Numbers an object. Gives the number it already has, −1 when it is new. */
  #meet(value: object): number {
    const met = this.#met;
    const count = this.#metCount;
    if (count <= SCAN) {
      for (let i = 0; i < count; i++) if (met[i] === value) return i;
      if (count === SCAN) {
        this.#numbers = new Map();
        for (let i = 0; i < count; i++) this.#numbers.set(met[i]!, i);
        this.#numbers.set(value, count);
      }
    } else {
      const known = this.#numbers!.get(value);
      if (known !== undefined) return known;
      this.#numbers!.set(value, count);
    }
    if (count < met.length) met[count] = value;
    else met[met.length] = value;
    this.#metCount = count + 1;
    return -1;
  }

  /** Takes back the numbers from `count` on. */
  #forget(count: number): void {
    const met = this.#met;
    const before = this.#metCount;
    this.#metCount = count;
    if (before <= SCAN) {
      for (let i = count; i < before; i++) met[i] = NO_SIDE;
      return;
    }
    if (count > SCAN) for (let i = count; i < before; i++) this.#numbers!.delete(met[i]!);
    else this.#numbers = undefined;
    met.length = count;
  }

  #writeReference(number: number, at: number): number {
    this.#usesReferences = true;
    return this.#writeVarint(number, this.#writeTag(wire.REF, at));
  }

  #sideIndex(value: unknown): number {
    this.#sideValues ??= [];
    const known = this.#sideValues.indexOf(value);
    if (known >= 0) return known;
    this.#sideValues[this.#sideValues.length] = value;
    return this.#sideValues.length - 1;
  }

  #writeSide(value: object, at: number): number {
    const index = this.#sideIndex(value);
    return this.#writeVarint(index, this.#writeTag(wire.SIDE, at));
  }

  #writePlain(value: object, at: number): number {
    if (this.#depth >= wire.DEFER_DEPTH && this.#putOff())
      return this.#defer(wire.DEFER_OBJECT, value, this.#writeProperties, at);
    this.#depth++;
    at = this.#writeProperties(value, at);
    this.#depth--;
    return at;
  }

  /**
   * Two passes over the keys, one to find the shape, one to write the values: for…in is what V8 does
   * best, also where many layouts come by, if the property is read right there with the loop's own key.
   */
  #writeProperties(value: object, at: number): number {
    let node = this.#root;
    for (const key in value) {
      if (hasOwn.call(value, key))
        node = key === node.lastKey ? node.lastChild : this.#shapes.step(node, key);
    }
    if (node === this.#root && this.refer !== null && Symbol.asyncIterator in value) {
      // An object that was written for its items: it has nothing else.
      const reference = this.refer(value);
      at = this.#writeTag(reference & 7, this.#writeTag(wire.REFERRED, at));
      return this.#writeVarint(reference >> 3, at);
    }
    let id = node.id;
    if (id < 0) {
      id = node.seen < 0 ? -1 : this.#shapes.sighted(node);
      if (id < 0) return this.#writeInline(value, at);
    }
    if (at + 3 > this.#end) at = this.#grow(at, 3);
    this.#bytes[at] = wire.SHAPED;
    this.#bytes[at + 1] = id;
    this.#bytes[at + 2] = id >> 8;
    at += 3;
    const { keys } = node;
    let i = 0;
    for (const key in value) {
      if (key !== keys[i]) {
        if (!hasOwn.call(value, key)) continue;
        break;
      }
      i++;
      at = this.#write((value as any)[key], at);
    }
    return i === keys.length ? at : this.#writeRemaining(value, keys, i, at);
  }

  /** A getter added or removed properties meanwhile: as in structured clone, the keys of before count. */
  #writeRemaining(value: object, keys: readonly string[], from: number, at: number): number {
    for (let i = from; i < keys.length; i++) at = this.#writeProperty(value, keys[i]!, at);
    return at;
  }

  #writeProperty(value: object, key: string, at: number): number {
    if (hasOwn.call(value, key)) return this.#write((value as any)[key], at);
    this.#usesReferences = true; // so that the decoder builds objects in steps, in which a property may be left out
    return this.#writeTag(wire.HOLE, at);
  }

  #writeInline(value: object, at: number): number {
    const keys = Object.keys(value);
    at = this.#writeVarint(keys.length, this.#writeTag(wire.INLINE, at));
    for (let i = 0; i < keys.length; i++) {
      const key = keys[i]!;
      at = this.#writeString(key, at);
      at = this.#writeProperty(value, key, at);
    }
    return at;
  }

  #writeArray(array: readonly unknown[], at: number): number {
    if (this.#depth >= wire.DEFER_DEPTH && this.#putOff())
      return this.#defer(wire.DEFER_ARRAY, array, this.#writeElements, at);
    this.#depth++;
    at = this.#writeElements(array, at);
    this.#depth--;
    return at;
  }

  #writeElements(array: readonly unknown[], at: number): number {
    const { length } = array;
    const offset = at - this.#frame.start;
    at = this.#writeVarint(length, this.#writeTag(wire.ARRAY, at));
    let holes = 0;
    let present = 0;
    for (let i = 0; i < length; i++) {
      const value = array[i];
      if (value === undefined && !hasOwn.call(array, i)) {
        at = this.#writeTag(wire.HOLE, at);
        if (++holes === MANY_HOLES) return this.#writeRest(array, i + 1, offset, at);
        continue;
      }
      holes = 0;
      present++;
      at = this.#write(value, at);
    }
    // Named properties are rare, and JavaScript cannot list them without the indices.
    if (length >= LONG_ARRAY && this.#platform.isBareArray?.(array)) return at;
    return Object.keys(array).length === present ? at : this.#writeRest(array, length, offset, at);
  }

  /** Elements from an index on, and the named properties. Whether there are any shows only at the end, so the tag is changed then. */
  #writeRest(array: readonly unknown[], from: number, offset: number, at: number): number {
    this.#bytes[this.#frame.start + offset] = wire.LOOSE_ARRAY;
    at = this.#writeTag(wire.REST, at);
    for (const key of Object.keys(array)) {
      const index = arrayIndex(key);
      if (index >= 0 && index < from) continue;
      if (!hasOwn.call(array, key)) continue;
      at = index >= 0 ? this.#writeNumber(index, at) : this.#writeString(key, at);
      at = this.#write((array as any)[key], at);
    }
    return this.#writeTag(wire.END, at);
  }

  #writeSpecial(value: object, at: number): number {
    const kind = this.#classifier.kind(value);
    if (kind === KIND_UNCLONEABLE || kind === KIND_TALKS || kind === KIND_PLATFORM) {
      const reference = this.refer?.(value) ?? -1;
      if (reference >= 0) return this.#writeReferred(value, reference, at);
    }
    if (kind === KIND_UNCLONEABLE || (kind === KIND_TALKS && isCallback(value))) throw new Uncloneable(value);
    if (kind === KIND_PLATFORM || kind === KIND_SHARED) return this.#writeSide(value, at);
    const number = this.#meet(value);
    if (number >= 0) return this.#writeReference(number, at);
    switch (kind) {
      case KIND_DATE:
        if (at + 9 > this.#end) at = this.#grow(at, 9);
        this.#bytes[at] = wire.DATE;
        this.#view.setFloat64(at + 1, getTime.call(value as Date), true);
        return at + 9;
      case KIND_REGEXP:
        at = this.#writeString((value as RegExp).source, this.#writeTag(wire.REGEXP, at));
        return this.#writeString((value as RegExp).flags, at);
      case KIND_MAP:
        return this.#writeContainer(wire.MAP, wire.DEFER_MAP, value, this.#writeEntries, at);
      case KIND_SET:
        return this.#writeContainer(wire.SET, wire.DEFER_SET, value, this.#writeMembers, at);
      case KIND_BOXED:
        return this.#write(boxedValue(value), this.#writeTag(wire.BOXED, at));
      case KIND_ERROR:
        return this.#writeError(value as Error, at);
      case KIND_BUFFER:
        return this.#writeBuffer(value as ArrayBuffer, at);
      case KIND_VIEW:
        return this.#writeView(value as ArrayBufferView, at);
      case KIND_URL:
        return this.#writeString((value as URL).href, this.#writeTag(wire.URL_TAG, at));
      default:
        return this.#writePlain(value, at);
    }
  }

  #writeReferred(value: object, reference: number, at: number): number {
    const number = this.#meet(value);
    if (number >= 0) return this.#writeReference(number, at);
    at = this.#writeTag(reference & 7, this.#writeTag(wire.REFERRED, at));
    return this.#writeVarint(reference >> 3, at);
  }

  #writeContainer(tag: number, deferTag: number, value: object, writer: Writer, at: number): number {
    if (this.#depth >= wire.DEFER_DEPTH && this.#putOff()) return this.#defer(deferTag, value, writer, at);
    this.#depth++;
    at = writer.call(this, value, this.#writeTag(tag, at));
    this.#depth--;
    return at;
  }

  /** What a getter adds meanwhile is not written: it could add for ever. */
  #writeEntries(map: Map<unknown, unknown>, at: number): number {
    let left = map.size;
    for (const [key, item] of mapEntries.call(map)) {
      if (left-- === 0) break;
      at = this.#write(key, at);
      at = this.#write(item, at);
    }
    return this.#writeTag(wire.END, at);
  }

  #writeMembers(set: Set<unknown>, at: number): number {
    let left = set.size;
    for (const item of setValues.call(set)) {
      if (left-- === 0) break;
      at = this.#write(item, at);
    }
    return this.#writeTag(wire.END, at);
  }

  // ── Bytes ───────────────────────────────────────────────────────────────────────────────────────

  #writeBuffer(buffer: ArrayBuffer, at: number): number {
    if (isDetached(buffer)) throw new Uncloneable(buffer);
    const length = buffer.byteLength;
    at = this.#writeVarint(length, this.#writeTag(buffer.resizable ? wire.RESIZABLE : wire.BUFFER, at));
    if (buffer.resizable) {
      if (buffer.maxByteLength > MAX_VALUE_BYTES) {
        throw new HotlaneError(
          'TOO_LARGE',
          `An ArrayBuffer may grow to ${buffer.maxByteLength} bytes (maxByteLength); at most ${MAX_VALUE_BYTES} bytes (MAX_VALUE_BYTES) can be sent at once. Transfer it.`,
        );
      }
      at = this.#writeVarint(buffer.maxByteLength, at);
    }
    return this.#writeBytes(new Uint8Array(buffer), at);
  }

  #writeBytes(source: Uint8Array, at: number): number {
    const { length } = source;
    if (at + length > this.#end) at = this.#grow(at, length);
    this.#platform.copy(this.#bytes, at, source, 0, length);
    return at + length;
  }

  /** Only a view's own range travels: a small Buffer must not drag its pool along. */
  #writeView(view: ArrayBufferView, at: number): number {
    const { buffer } = view;
    const name = typedArrayName.call(view) as string | undefined;
    let kind = VIEW_KIND_OF.get(name ?? 'DataView');
    if (kind === undefined || isDetached(buffer)) throw new Uncloneable(view);
    if (kind === wire.UINT8_KIND && isBuffer(this.#platform.Buffer, view)) kind = wire.BUFFER_KIND;
    let byteLength: number;
    try {
      byteLength = view.byteLength;
    } catch {
      // A DataView that its buffer has shrunk away from.
      throw new Uncloneable(view);
    }
    if (!(buffer instanceof ArrayBuffer) || this.#transfer?.includes(buffer)) {
      const length = kind === wire.DATA_VIEW_KIND ? byteLength : (view as Uint8Array).length;
      at = this.#writeTag(kind, this.#writeTag(wire.VIEW_OF, at));
      at = this.#writeVarint(length, this.#writeVarint(view.byteOffset, at));
      return this.#writeVarint(this.#sideIndex(buffer), at);
    }
    const isBytes = kind === wire.UINT8_KIND || kind === wire.BUFFER_KIND;
    const bytes = isBytes ? (view as Uint8Array) : new Uint8Array(buffer, view.byteOffset, byteLength);
    if (byteLength >= this.moveFromBytes && this.#movedBytes + byteLength <= MAX_VALUE_BYTES) {
      this.#movedBytes += byteLength;
      const length = kind === wire.DATA_VIEW_KIND ? byteLength : (view as Uint8Array).length;
      at = this.#writeVarint(0, this.#writeTag(kind, this.#writeTag(wire.VIEW_OF, at)));
      return this.#writeVarint(this.#sideIndex(this.#copyAside(bytes)), this.#writeVarint(length, at));
    }
    at = this.#writeVarint(byteLength, this.#writeTag(kind, this.#writeTag(wire.VIEW, at)));
    return this.#writeBytes(bytes, at);
  }

  #copyAside(bytes: Uint8Array): ArrayBuffer {
    const copy = this.#platform.allocate?.(bytes.length) ?? new Uint8Array(bytes.length);
    this.#platform.copy(copy, 0, bytes, 0, bytes.length);
    const buffer = copy.buffer as ArrayBuffer;
    this.#moved ??= [];
    this.#moved[this.#moved.length] = buffer;
    return buffer;
  }

  // ── Errors ──────────────────────────────────────────────────────────────────────────────────────

  #writeError(error: Error, at: number): number {
    // An error's contents never fail as a whole, so an error can be put off anywhere.
    const tag = this.#depth >= wire.DEFER_DEPTH ? wire.DEFER_ERROR : wire.ERROR;
    const errorClass = errorClassOf(error);
    at = this.#writeTag(tag, at);
    const registered = registeredNameOf(error);
    if (registered !== undefined)
      at = this.#writeString(registered, this.#writeTag(wire.REGISTERED_ERROR, at));
    at = this.#writeTag(errorClass, at);
    if (errorClass === wire.HOTLANE_ERROR) at = this.#writeString(String((error as HotlaneError).code), at);
    if (errorClass === wire.DOM_EXCEPTION) {
      at = this.#writeString(String(error.name), at);
      at = this.#writeString(String(error.message), at);
    }
    if (tag === wire.DEFER_ERROR) {
      this.#putAside(error, this.#writeErrorFields);
      return at;
    }
    this.#depth++;
    at = this.#writeErrorFields(error, at);
    this.#depth--;
    return at;
  }

  #writeErrorFields(error: Error, at: number): number {
    const errorClass = errorClassOf(error);
    const fixed = errorClass === wire.DOM_EXCEPTION;
    const offset = at - this.#frame.start;
    let fields = 0;
    at = this.#writeTag(0, at);

    const name = fixed ? undefined : textOf(error, 'name');
    if (name !== undefined && name !== wire.ERROR_CLASSES[errorClass] && !isEnumerable(error, 'name')) {
      fields |= wire.HAS_NAME;
      at = this.#writeString(name, at);
    }
    const message = fixed ? undefined : textOf(error, 'message');
    if (message !== undefined && (message !== '' || hasOwn.call(error, 'message'))) {
      fields |= wire.HAS_MESSAGE;
      at = this.#writeString(message, at);
    }
    const stack = textOf(error, 'stack');
    if (stack !== undefined) {
      fields |= wire.HAS_STACK;
      at = this.#writeString(stack, at);
    }
    if (hasOwn.call(error, 'cause')) {
      const end = this.#tryProperty(error, 'cause', undefined, at);
      // Left out or not, the frame may have moved.
      at = end < 0 ? -end : end;
      if (end >= 0) fields |= wire.HAS_CAUSE;
    }
    if (isArray((error as AggregateError).errors) && wire.ERROR_CLASSES[errorClass] === 'AggregateError') {
      fields |= wire.HAS_ERRORS;
      const { errors } = error as AggregateError;
      for (let i = 0; i < errors.length; i++) at = Math.abs(this.#tryProperty(errors, i, undefined, at));
      at = this.#writeTag(wire.END, at);
    }
    this.#bytes[this.#frame.start + offset] = fields;

    for (const key of Object.keys(error)) {
      if (key === 'message' || key === 'stack' || key === 'cause') continue;
      if (key === 'errors' && (fields & wire.HAS_ERRORS) !== 0) continue;
      if (key === 'code' && errorClass === wire.HOTLANE_ERROR) continue;
      at = Math.abs(this.#tryProperty(error, key, key, at));
    }
    return this.#writeTag(wire.END, at);
  }

  /**
   * Writes a property, behind its key if one is given; all of it or nothing.
   *
   * @returns the position behind it; negated when it could not be written (a position is never 0:
   * a frame has its head first)
   */
  #tryProperty(holder: object, property: string | number, key: string | undefined, at: number): number {
    const offset = at - this.#frame.start;
    const met = this.#metCount;
    const references = this.#usesReferences;
    const side = this.#sideValues?.length ?? 0;
    const depth = this.#depth;
    const deferred = this.#deferred.length;
    this.#trying++;
    try {
      if (key !== undefined) at = this.#writeString(key, at);
      return this.#write((holder as any)[property], at);
    } catch {
      if (this.#metCount > met) this.#forget(met);
      this.#usesReferences = references;
      if (this.#sideValues !== undefined) {
        this.#sideValues.length = side;
        if (side === 0) this.#sideValues = undefined;
      }
      this.#depth = depth;
      this.#deferred.length = deferred;
      this.#deferredWriters.length = deferred;
      return -(this.#frame.start + offset);
    } finally {
      this.#trying--;
    }
  }

  // ── Depth ───────────────────────────────────────────────────────────────────────────────────────

  /** Whether what is too deep for now may be written later. */
  #putOff(): boolean {
    if (this.#trying === 0) return true;
    if (this.#depth >= wire.MAX_DEPTH) throw tooDeep(undefined);
    return false;
  }

  #defer(tag: number, value: object, writer: Writer, at: number): number {
    this.#putAside(value, writer);
    return this.#writeTag(tag, at);
  }

  #putAside(value: object, writer: Writer): void {
    const { length } = this.#deferred;
    this.#deferred[length] = value;
    this.#deferredWriters[length] = writer;
  }

  /** In the order in which they were put off, which is that of the decoder; they may put off more. */
  #writeDeferred(at: number): number {
    for (let i = 0; i < this.#deferred.length; i++) {
      at = this.#deferredWriters[i]!.call(this, this.#deferred[i], at);
    }
    return at;
  }
}

function isStackOverflow(error: unknown): boolean {
  // Another engine's may be no RangeError, but an InternalError that says "too much recursion".
  return (
    error instanceof Error && !isHotlaneError(error) && /call stack|too much recursion/.test(error.message)
  );
}

function tooDeep(cause: unknown): HotlaneError {
  return new HotlaneError(
    'TOO_LARGE',
    `A value nests deeper than can be written here: up to ${wire.MAX_DEPTH} levels (MAX_DEPTH) are written at a time, and the call stack had no room for them. Call from less deep in the stack, or pass a flatter value.`,
    cause === undefined ? undefined : { cause },
  );
}

/** The index that a property key stands for, −1 when it is a name. */
function arrayIndex(key: string): number {
  const number = Number(key);
  return number >= 0 && number < 4_294_967_295 && String(number >>> 0) === key ? number : -1;
}

function isBuffer(buffer: BufferClass | undefined, view: ArrayBufferView): boolean {
  return buffer !== undefined && hasInstance.call(buffer.prototype, view);
}

function isDetached(buffer: ArrayBufferLike): boolean {
  if (buffer.byteLength > 0 || !(buffer instanceof ArrayBuffer)) return false;
  if (typeof buffer.detached === 'boolean') return buffer.detached;
  try {
    new Uint8Array(buffer);
    return false;
  } catch {
    return true;
  }
}

const errorPrototypes = new Map<object, number>();
for (const [index, name] of wire.ERROR_CLASSES.entries()) {
  const prototype = (globalThis as any)[name]?.prototype;
  if (prototype !== undefined) errorPrototypes.set(prototype, index);
}

/** The nearest class that the other side is sure to have. */
function errorClassOf(error: Error): number {
  if (isHotlaneError(error)) return wire.HOTLANE_ERROR;
  for (let at = Object.getPrototypeOf(error); at !== null; at = Object.getPrototypeOf(at)) {
    const index = errorPrototypes.get(at);
    if (index !== undefined) return index;
  }
  // Of another realm: its name says what it is.
  return Math.max(0, wire.ERROR_CLASSES.indexOf(textOf(error, 'name') as 'Error', 0) % wire.DOM_EXCEPTION);
}

/** The name of the nearest class that was registered; undefined when a built-in one is nearer. */
function registeredNameOf(error: Error): string | undefined {
  for (let at = Object.getPrototypeOf(error); at !== null; at = Object.getPrototypeOf(at)) {
    const name = registeredName(at);
    if (name !== undefined || errorPrototypes.has(at)) return name;
  }
  return undefined;
}

/** A property of an error as text; undefined when it is none, or when reading it throws. */
function textOf(error: Error, key: 'name' | 'message' | 'stack'): string | undefined {
  try {
    const text = error[key];
    return typeof text === 'string' ? text : undefined;
  } catch {
    return undefined;
  }
}

function isEnumerable(value: object, key: string): boolean {
  return Object.prototype.propertyIsEnumerable.call(value, key);
}
