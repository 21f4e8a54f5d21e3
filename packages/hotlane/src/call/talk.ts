/**
 * What the two sides of a call say to each other while it runs: items of streams, calls of callbacks. It goes by the
 * lane's port, in batches: a message costs as much as some hundred small items. The call's answer comes after it by the
 * same way, so that nothing said before is late.
 *
 *   message   heads: 7 words for each entry │ bytes: their values' frames, one behind the other │ values beside the bytes
 *   entry     slot, serial of the call │ op │ id: what of the call it is about │ number │ end of its frame │ its side values
 *
 * Id 0 is the stream of results; streams and callbacks among the arguments are counted from 1. Callbacks that are kept
 * are counted by the pool, and go with slot `NO_CALL`.
 */

import { notCloneable } from '../errors.ts';
import type { Encoder } from './encode.ts';
import type { PumpPlatform } from './flow.ts';
import { soon } from './intrinsics.ts';
import { HeapSink, MAX_VALUE_BYTES, type Memory, memoryOver } from './memory.ts';

/** Lane to host: runs a callback with the arguments in the value; `number` is 0 when nobody waits for it. */
export const CALL = 1;
/** Host to lane: the callback that was called with this `number` returned the value, or threw it. */
export const RETURNED = 2;
export const THREW = 3;
/** The next item of a stream, its end, what it failed with. */
export const ITEM = 4;
export const END = 5;
export const FAILED = 6;
/** To who sends items: so many, `number`, were taken; more may be sent. */
export const CREDIT = 7;
/** From who sends items: it waits for credit. */
export const PAUSED = 8;
/** To who sends items: no more of them are wanted. */
export const STOP = 9;
/** Lane to host: it has no more use for a kept callback, which was given to it `number` times. */
export const DROP = 10;

/** Kinds of references in frames. */
export const KIND_CALLBACK = 0;
export const KIND_ONE_WAY = 1;
export const KIND_KEPT = 2;
export const KIND_KEPT_ONE_WAY = 3;
export const KIND_STREAM = 4;
/** As KIND_STREAM, and the other side makes a ReadableStream of it. */
export const KIND_READABLE = 5;

export const NO_CALL = -1;

/** What an entry tells whose value could not be read: that it failed. */
export function opOfUnreadable(op: number): number {
  if (op === RETURNED) return THREW;
  return op === ITEM ? FAILED : op;
}

export interface TalkMessage {
  readonly kind: 'talk';
  readonly heads: Int32Array;
  readonly bytes: ArrayBuffer;
  readonly values: readonly (readonly unknown[])[];
}

const HEAD_WORDS = 7;
const NO_VALUES = -1;
const MOST_ENTRIES = 256;
const MOST_BYTES = 64 * 1024;
/** What is said goes out at once if nothing was sent for so long, in milliseconds. */
const QUIET_MS = 1;
const NO_MEMORY: Memory = memoryOver(new ArrayBuffer(0));

/** What a writer needs from where it runs. */
export interface TalkPlatform extends PumpPlatform {
  /** Structured clone that moves what is in `transfer`. @throws when a value can be neither cloned nor moved */
  clone<T>(value: T, transfer: readonly object[]): T;
}

/** Collects entries for one port, and sends them: at once after a pause, else together. */
export class TalkWriter {
  readonly #encoder: Encoder;
  readonly #platform: TalkPlatform;
  readonly #post: (message: TalkMessage, transfer: readonly object[]) => void;
  readonly #sink = new HeapSink(MAX_VALUE_BYTES);
  readonly #flush = () => {
    this.#planned = false;
    this.flush();
  };
  #heads = new Int32Array(HEAD_WORDS * MOST_ENTRIES);
  #entries = 0;
  #memory = NO_MEMORY;
  #used = 0;
  #values: (readonly unknown[])[] = [];
  #transfer: object[] = [];
  #planned = false;
  #sentAt = 0;

  constructor(
    encoder: Encoder,
    platform: TalkPlatform,
    post: (message: TalkMessage, transfer: readonly object[]) => void,
  ) {
    this.#encoder = encoder;
    this.#platform = platform;
    this.#post = post;
  }

  /**
   * @param value read now
   * @returns how many bytes it takes
   * @throws HotlaneError NOT_CLONEABLE, TOO_LARGE; then nothing is sent
   */
  say(slot: number, serial: number, op: number, id: number, number: number, value: unknown): number {
    const encoder = this.#encoder;
    const room = { memory: this.#memory, start: this.#used, end: this.#memory.bytes.length };
    const length = encoder.encodeValue(value, room, this.#sink);
    const written = encoder.room;
    const { moved } = encoder;
    let bytes = length;
    for (const buffer of moved) bytes += buffer.byteLength;
    const mixed = encoder.side.length > moved.length;
    const side = mixed ? this.#cloneNow(encoder.side, moved) : encoder.side;
    if (written.memory !== this.#memory) this.#moveTo(written.memory, written.start, length);
    else this.#used += length;
    let values = NO_VALUES;
    if (side.length > 0) values = this.#values.push(side) - 1;
    if (!mixed) this.#transfer.push(...moved);
    const at = this.#entries++ * HEAD_WORDS;
    const heads = this.#heads;
    heads[at] = slot;
    heads[at + 1] = serial;
    heads[at + 2] = op;
    heads[at + 3] = id;
    heads[at + 4] = number;
    heads[at + 5] = this.#used;
    heads[at + 6] = values;
    if (this.#entries === MOST_ENTRIES || this.#used > MOST_BYTES) this.flush();
    else this.#plan(op);
    return bytes;
  }

  /**
   * What only the platform can carry is cloned when it is said: so it is read then, and one that cannot be cloned (a port,
   * which could only move) fails who says it, and not the message with all that others have said.
   */
  #cloneNow(side: readonly unknown[], moved: readonly ArrayBuffer[]): readonly unknown[] {
    try {
      return this.#platform.clone(side, moved);
    } catch (error) {
      throw notCloneable(error);
    }
  }

  /** Sends what was collected. */
  flush(): void {
    if (this.#entries === 0) return;
    const heads = this.#heads.slice(0, this.#entries * HEAD_WORDS);
    const bytes = this.#memory.bytes.slice(0, this.#used).buffer as ArrayBuffer;
    const [values, transfer] = [this.#values, this.#transfer];
    this.#entries = 0;
    this.#used = 0;
    if (this.#memory.bytes.length > 4 * MOST_BYTES) this.#memory = NO_MEMORY;
    if (values.length > 0) this.#values = [];
    if (transfer.length > 0) this.#transfer = [];
    this.#encoder.release();
    this.#sentAt = this.#platform.now();
    this.#post({ kind: 'talk', heads, bytes, values }, [...transfer, bytes]);
  }

  /**
   * What is said after a pause goes at once: whoever says it may go on for long without letting a turn end. Items
   * that follow each other, one in each turn of promises, are collected over such turns.
   */
  #plan(op: number): void {
    if (this.#platform.now() - this.#sentAt >= QUIET_MS) this.flush();
    else if (!this.#planned) {
      this.#planned = true;
      if (op === ITEM) this.#platform.turn(this.#flush);
      else soon(this.#flush);
    }
  }

  /** The frame outgrew the memory and lies in another: that becomes the batch's, with all that was before. */
  #moveTo(memory: Memory, start: number, length: number): void {
    const grown = memoryOver(new ArrayBuffer(Math.max(2 * (this.#used + length), 4_096)));
    grown.bytes.set(this.#memory.bytes.subarray(0, this.#used));
    grown.bytes.set(memory.bytes.subarray(start, start + length), this.#used);
    this.#memory = grown;
    this.#used += length;
  }
}

/** One entry, as `readTalk` shows it: the same object for all, good until the next. */
export interface TalkEntry {
  slot: number;
  serial: number;
  op: number;
  id: number;
  number: number;
  /** Where the value's frame is in the message's bytes. */
  start: number;
  end: number;
  values: readonly unknown[];
}

const NOTHING: readonly unknown[] = [];

/**
 * Goes through a message, which is checked first: lanes are not believed.
 *
 * @returns false for what is no such message
 */
export function readTalk(message: TalkMessage, onEntry: (entry: TalkEntry) => void): boolean {
  const { heads, bytes, values } = message;
  if (!(heads instanceof Int32Array) || !(bytes instanceof ArrayBuffer) || !Array.isArray(values))
    return false;
  if (heads.length % HEAD_WORDS !== 0) return false;
  const entry: TalkEntry = { slot: 0, serial: 0, op: 0, id: 0, number: 0, start: 0, end: 0, values: NOTHING };
  for (let at = 0; at < heads.length; at += HEAD_WORDS) {
    entry.slot = heads[at];
    entry.serial = heads[at + 1];
    entry.op = heads[at + 2];
    entry.id = heads[at + 3];
    entry.number = heads[at + 4];
    entry.start = entry.end;
    entry.end = heads[at + 5];
    if (entry.end < entry.start || entry.end > bytes.byteLength) return false;
    const side = heads[at + 6];
    entry.values = side === NO_VALUES ? NOTHING : (values[side] as readonly unknown[]);
    if (!Array.isArray(entry.values)) return false;
    onEntry(entry);
  }
  return true;
}
