import { atomicLoad, atomicStore } from '../call/intrinsics.ts';
import type { Memory, Room, Sink } from '../call/memory.ts';
import type { CodecPlatform } from '../call/platform.ts';

/**
 * Results on their way back: a ring of bytes, written by one lane and read by the host.
 *
 *     ┌ header ┬ payload ┬ fill ┐┌ header ┬ …
 *     word 0: slot | flags << 24        word 1: bytes of payload
 *
 * Records begin at multiples of 8 and never wrap: where the end of the ring is too near, a record with the flag
 * SKIP leads back to its start. HEAD and TAIL count bytes, mod 2³². The host decodes a record before it moves
 * TAIL past it, so no result is copied on the way. A lane never waits for room: what does not fit goes by
 * its port, which keeps two sides that send large values at once from blocking each other.
 */
export const HEADER_BYTES = 8;
export const SLOT_MASK = 0xffffff;

/** The function threw; the payload is what it threw. */
export const FAILED = 1 << 24;
/** Nothing here: go on at the start of the ring. */
export const SKIP = 2 << 24;

/** The lane's end. */
export class ReplyWriter implements Sink {
  /** The ring had no room for this record: it is in heap memory and must go by the port. */
  outgrown = false;
  readonly #memory: Memory;
  readonly #words: Int32Array;
  readonly #base: number;
  readonly #mask: number;
  readonly #control: Int32Array;
  readonly #headAt: number;
  readonly #tailAt: number;
  readonly #heap: Sink;
  #head = 0;
  /** TAIL as last read; the true one is this or further on. */
  #tail = 0;

  /**
   * @param memory the lane's reply memory
   * @param base where the ring begins in it, in bytes; the ring is the rest and a power of two long
   * @param heap where records go that the ring cannot take
   */
  constructor(memory: Memory, base: number, control: Int32Array, headAt: number, tailAt: number, heap: Sink) {
    this.#memory = memory;
    this.#words = new Int32Array(memory.bytes.buffer, memory.bytes.byteOffset + base);
    this.#base = base;
    this.#mask = memory.bytes.length - base - 1;
    this.#control = control;
    this.#headAt = headAt;
    this.#tailAt = tailAt;
    this.#heap = heap;
  }

  /** Where the next record's payload may be written; `grow` finds more room for it. */
  open(): Room {
    this.outgrown = false;
    const size = this.#mask + 1;
    const free = size - ((this.#head - this.#tail) | 0);
    return this.#roomAt(free < size / 2 ? this.#refresh() : free);
  }

  /**
   * A payload does not fit between here and the end of the ring (or what the host has not read yet): tries the
   * ring's start, then heap memory.
   */
  grow(room: Room, used: number, need: number): Room {
    const atStart = this.outgrown ? null : this.#atStart(room, used, need);
    if (atStart !== null) return atStart;
    this.outgrown = true;
    return this.#heap.grow(room, used, need);
  }

  /** Room at the ring's start, with what was written already; null when there is not enough. */
  #atStart(room: Room, used: number, need: number): Room | null {
    const at = this.#head & this.#mask;
    const rest = this.#mask + 1 - at;
    const free = this.#refresh();
    if (rest >= free || free - rest < HEADER_BYTES + used + need) return null;
    // Records are multiples of 8 bytes long, so a header always fits in the rest.
    this.#words[at >> 2] = SKIP;
    this.#words[(at >> 2) + 1] = rest - HEADER_BYTES;
    this.#head = (this.#head + rest) | 0;
    room.memory.bytes.copyWithin(this.#base + HEADER_BYTES, room.start, room.start + used);
    return this.#roomAt(free - rest);
  }

  /**
   * Takes in a payload that lies elsewhere, as if it had been written here; `commit` then shows it.
   *
   * @returns whether there is room for it
   */
  take(memory: Memory, start: number, length: number, platform: Pick<CodecPlatform, 'copy'>): boolean {
    let room = this.open();
    if (room.end - room.start < length) room = this.#atStart(room, 0, length) ?? room;
    this.outgrown = room.end - room.start < length;
    if (this.outgrown) return false;
    platform.copy(room.memory.bytes, room.start, memory.bytes, start, start + length);
    return true;
  }

  /** Looks how far the host has read. Orders its reads of old records before our writes over them. */
  #refresh(): number {
    this.#tail = atomicLoad(this.#control, this.#tailAt);
    return this.#mask + 1 - ((this.#head - this.#tail) | 0);
  }

  #roomAt(free: number): Room {
    const at = this.#head & this.#mask;
    const start = this.#base + at + HEADER_BYTES;
    const end = this.#base + at + Math.min(free, this.#mask + 1 - at);
    // With no room for a header either, this is an empty room: any value has a byte, so it is outgrown at once.
    return { memory: this.#memory, start, end: Math.max(start, end) };
  }

  /** Closes the record that was written where `open` said, and shows it to the host. */
  commit(slot: number, flags: number, length: number): void {
    const at = (this.#head & this.#mask) >> 2;
    this.#words[at] = slot | flags;
    this.#words[at + 1] = length;
    this.#head = (this.#head + HEADER_BYTES + ((length + 7) & ~7)) | 0;
    // Orders record (and the slot's DONE) before HEAD: a host that sees HEAD sees them whole.
    atomicStore(this.#control, this.#headAt, this.#head);
  }
}

/** The host's end. After `next()` the fields say what came. */
export class ReplyReader {
  slot = 0;
  flags = 0;
  start = 0;
  end = 0;
  readonly memory: Memory;
  readonly #words: Int32Array;
  readonly #base: number;
  readonly #mask: number;
  readonly #control: Int32Array;
  readonly #headAt: number;
  readonly #tailAt: number;
  #tail = 0;
  #head = 0;

  constructor(memory: Memory, base: number, control: Int32Array, headAt: number, tailAt: number) {
    this.memory = memory;
    this.#words = new Int32Array(memory.bytes.buffer, memory.bytes.byteOffset + base);
    this.#base = base;
    this.#mask = memory.bytes.length - base - 1;
    this.#control = control;
    this.#headAt = headAt;
    this.#tailAt = tailAt;
  }

  /** Looks for news. Orders HEAD before the records that it covers. */
  arrived(): boolean {
    this.#head = atomicLoad(this.#control, this.#headAt);
    return this.#head !== this.#tail;
  }

  /**
   * Goes to the next record; false when there is none.
   *
   * @throws RangeError when the lane wrote what cannot be: the caller ends such a lane
   */
  next(): boolean {
    for (;;) {
      const left = (this.#head - this.#tail) | 0;
      if (left === 0) return false;
      const at = this.#tail & this.#mask;
      const word = this.#words[at >> 2];
      const length = this.#words[(at >> 2) + 1];
      // Judged before it is rounded up, which would overflow for a length near 2³¹.
      const whole = length > left ? Number.POSITIVE_INFINITY : HEADER_BYTES + ((length + 7) & ~7);
      if (length < 0 || left < 0 || left > this.#mask + 1 || whole > left || at + whole > this.#mask + 1) {
        throw new RangeError(`a reply of ${length} bytes at ${at}, with ${left} bytes written`);
      }
      this.#tail = (this.#tail + whole) | 0;
      if (word & SKIP) continue;
      this.slot = word & SLOT_MASK;
      this.flags = word & ~SLOT_MASK;
      this.start = this.#base + at + HEADER_BYTES;
      this.end = this.start + length;
      return true;
    }
  }

  /** Gives the ring back up to the record that `next` last showed. Orders our reads before the lane's next writes. */
  release(): void {
    atomicStore(this.#control, this.#tailAt, this.#tail);
  }
}
