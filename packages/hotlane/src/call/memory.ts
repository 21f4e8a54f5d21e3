/**
 * Memory that frames are written into: who owns it and how it grows is decided by the transport
 * (an arena in shared memory) or by `HeapSink` (private memory, for sockets and tests).
 */
import { HotlaneError } from '../errors.ts';

/** One value may take this many bytes on the wire: 1 GiB. Past it, encoding fails with `TOO_LARGE`. */
export const MAX_VALUE_BYTES = 1_073_741_824;

/** A stretch of bytes, possibly shared; `bytes` and `view` cover exactly the same range. */
export interface Memory {
  readonly bytes: Uint8Array;
  readonly view: DataView;
}

/** A place an encoder may write: memory[start, end), in bytes. */
export interface Room {
  memory: Memory;
  start: number;
  end: number;
}

/** Gives encoders more room. Called only when a frame does not fit. */
export interface Sink {
  /**
   * @param room the room that is too small
   * @param used how many bytes, from `room.start` on, are written and must be kept
   * @param need how many more bytes are wanted at least
   * @returns a room of at least `used + need` bytes whose first `used` bytes are those of the old one
   * @throws HotlaneError `TOO_LARGE` past the sink's limit
   */
  grow(room: Room, used: number, need: number): Room;
}

/** Covers a whole buffer, or a part of one, as `Memory`. */
export function memoryOver(buffer: ArrayBufferLike, byteOffset = 0, byteLength?: number): Memory {
  const bytes = new Uint8Array(buffer, byteOffset, byteLength);
  return { bytes, view: new DataView(buffer, byteOffset, bytes.byteLength) };
}

/** A room with nothing in it: what to start from when the first write should ask the sink. */
export function emptyRoom(): Room {
  return { memory: memoryOver(new ArrayBuffer(0)), start: 0, end: 0 };
}

const FIRST_BYTES = 256;

/** A sink over private heap memory. Each growth at least doubles, so a frame of n bytes copies O(n). */
export class HeapSink implements Sink {
  readonly maxBytes: number;

  /** @param maxBytes the longest frame in bytes; a longer one is `TOO_LARGE` */
  constructor(maxBytes: number) {
    this.maxBytes = maxBytes;
  }

  grow(room: Room, used: number, need: number): Room {
    const least = used + need;
    if (least > this.maxBytes) {
      throw new HotlaneError(
        'TOO_LARGE',
        `A value takes at least ${least} bytes; at most ${this.maxBytes} bytes (maxBytes) were allowed. Send it in parts, or transfer it.`,
      );
    }
    const size = Math.min(this.maxBytes, Math.max(least, FIRST_BYTES, 2 * (room.end - room.start)));
    const memory = memoryOver(new ArrayBuffer(size));
    memory.bytes.set(room.memory.bytes.subarray(room.start, room.start + used));
    return { memory, start: 0, end: size };
  }
}
