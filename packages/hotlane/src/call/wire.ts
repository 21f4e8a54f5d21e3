/**
 * The frame format, in one place for the encoder and the decoder. Little endian throughout.
 *
 * ```
 * frame of arguments   head, value × count, continuation × deferred
 * frame of one value   head, value,         continuation × deferred
 *
 * head           bit 0   REFERENCES: the frame has REF tags, so the decoder must number what it builds before it
 *                        reads what is in it; or properties that are HOLEs
 *                bit 1–7 count of arguments, 127 = a varint follows (0 for one value)
 *
 * value          one tag byte and what the tag says:
 *   0x80–0xff    the integers 0–127
 *   0x40–0x7f    a Latin-1 string of 0–63 bytes, which follow
 *   0x01–0x3f    the tags below
 * ```
 *
 * Every object that may be met again takes the next number, in the order in which the encoder meets
 * them; REF names such a number. A container that is nested deeper than `DEFER_DEPTH` leaves only its
 * kind in place (`DEFER_…`); its contents come as a continuation after the values, so neither side's
 * recursion grows with the depth of the data.
 */

export const REFERENCES = 1;
/** Counts below this are in the head itself. */
export const MANY_ARGUMENTS = 127;

export const UNDEFINED = 0x01;
export const NULL = 0x02;
export const TRUE = 0x03;
export const FALSE = 0x04;
/** No value here: a hole of an array, or a property that a getter removed while its object was read. */
export const HOLE = 0x05;
export const INT8 = 0x06;
export const INT16 = 0x07;
export const INT32 = 0x08;
export const DOUBLE = 0x09;
/** A bigint of 64 bits, signed. */
export const BIGINT64 = 0x0a;
/** varint (bytes × 2 + negative), magnitude. */
export const BIGINT = 0x0b;
/** varint bytes, text. */
export const LATIN1 = 0x0c;
/** varint bytes, text in UTF-16 (lone surrogates survive). */
export const UTF16 = 0x0d;
/** varint number of an object met before. */
export const REF = 0x0e;
/** varint index in the side channel. */
export const SIDE = 0x0f;
/** varint length, then that many values. */
export const ARRAY = 0x10;
/** In a LOOSE_ARRAY, behind any of its values: the rest of it, as (int or string key, value), up to END. */
export const REST = 0x11;
/** u16 shape, then one value per key of the shape. */
export const SHAPED = 0x12;
/** varint count, then (string key, value). */
export const INLINE = 0x13;
/** f64 milliseconds. */
export const DATE = 0x14;
/** string source, string flags. */
export const REGEXP = 0x15;
/** (key, value) up to END. */
export const MAP = 0x16;
/** values up to END. */
export const SET = 0x17;
/** a primitive value: Object(primitive). */
export const BOXED = 0x18;
/** head: u8 class; body: u8 fields, the fields, (string key, value) up to END. */
export const ERROR = 0x19;
/** varint bytes, bytes. */
export const BUFFER = 0x1a;
/** varint bytes, varint maximum, bytes. */
export const RESIZABLE = 0x1b;
/** u8 kind, varint bytes, bytes: a view with a buffer of its own. */
export const VIEW = 0x1c;
/** u8 kind, varint offset, varint length (elements; bytes of a DataView), varint side index of its buffer. */
export const VIEW_OF = 0x1d;
/** string. */
export const URL_TAG = 0x1e;
export const END = 0x1f;
export const DEFER_OBJECT = 0x20;
export const DEFER_ARRAY = 0x21;
export const DEFER_MAP = 0x22;
export const DEFER_SET = 0x23;
/** As ARRAY, but with a REST: an array that is sparse or has named properties. */
export const LOOSE_ARRAY = 0x25;
/** followed by the head of an error. */
export const DEFER_ERROR = 0x24;

/** u8 kind, varint id: what stays on the sending side, and is spoken to from here (talk.ts). */
export const REFERRED = 0x26;

export const SMALL_STRING = 0x40;
export const SMALL_STRING_MAX = 63;
export const SMALL_INT = 0x80;

/** Fields of an error, in this order; those that are absent are not written. */
export const HAS_NAME = 1;
export const HAS_MESSAGE = 2;
export const HAS_STACK = 4;
export const HAS_CAUSE = 8;
/** values up to END. */
export const HAS_ERRORS = 16;

/** Indices are on the wire: append only. */
export const ERROR_CLASSES = [
  'Error',
  'EvalError',
  'RangeError',
  'ReferenceError',
  'SyntaxError',
  'TypeError',
  'URIError',
  'AggregateError',
  /** head continues: string name, string message (both are fixed once it exists). */
  'DOMException',
  /** head continues: string code. */
  'HotlaneError',
] as const;
export const DOM_EXCEPTION = 8;
export const HOTLANE_ERROR = 9;
/** string name of a registered class, then the head of the built-in class that it extends. */
export const REGISTERED_ERROR = 0x80;

/** Kinds of views, by index on the wire: append only. */
export const VIEW_KINDS = [
  'Uint8Array',
  'Int8Array',
  'Uint8ClampedArray',
  'Int16Array',
  'Uint16Array',
  'Int32Array',
  'Uint32Array',
  'Float32Array',
  'Float64Array',
  'BigInt64Array',
  'BigUint64Array',
  'DataView',
  'Float16Array',
  /** Node's Buffer. */
  'Buffer',
] as const;
export const UINT8_KIND = 0;
export const DATA_VIEW_KIND = 11;
export const BUFFER_KIND = 13;

/** Containers nested deeper than this are written after the values, not inside them. */
export const DEFER_DEPTH = 200;
/**
 * How deep either side ever recurses. Plain data may nest without limit (see `DEFER_DEPTH`); what an
 * error carries in its properties cannot be put off, so a property nested deeper than this is left out.
 */
export const MAX_DEPTH = 1_000;
