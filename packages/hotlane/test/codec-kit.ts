/** What the codec's tests share: a pair of coders over one log, and frames cut to their exact size. */
import { Decoder } from '../src/call/decode.ts';
import {
  DefinitionLog,
  type DefinitionOptions,
  type DefinitionReader,
  type DefinitionWriter,
} from '../src/call/definitions.ts';
import { Encoder } from '../src/call/encode.ts';
import { emptyRoom, HeapSink, type Memory, memoryOver, type Room } from '../src/call/memory.ts';
import type { CodecPlatform } from '../src/call/platform.ts';
import { nodeCodec } from '../src/place/node-codec.ts';

/** A frame in shared memory with sentinels on both sides, as it would lie in an arena. */
export interface Frame {
  readonly memory: Memory;
  readonly start: number;
  readonly end: number;
  readonly side: readonly unknown[];
}

/** Node's, except that a function is made for a shape at once: the first object is read by the loop, the next by it. */
export const keenCodec: CodecPlatform = { ...nodeCodec, readingAfter: 1 };

const MARGIN = 8;

/** Copies bytes between sentinels that no decoder should ever take for a part of the frame. */
export function frameOf(bytes: Uint8Array, side: readonly unknown[] = []): Frame {
  const memory = memoryOver(new SharedArrayBuffer(bytes.length + 2 * MARGIN));
  memory.bytes.fill(0xee);
  memory.bytes.set(bytes, MARGIN);
  return { memory, start: MARGIN, end: MARGIN + bytes.length, side };
}

export function bytesOf(frame: Frame): Uint8Array {
  return new Uint8Array(frame.memory.bytes).slice(frame.start, frame.end);
}

export interface PairOptions {
  readonly platform?: CodecPlatform;
  readonly readPlatform?: CodecPlatform;
  readonly logBytes?: number;
  readonly maxBytes?: number;
  readonly options?: DefinitionOptions;
}

/** An encoder and a decoder in one thread, over one definitions log. */
export class Pair {
  readonly log: DefinitionLog;
  readonly writer: DefinitionWriter;
  readonly reader: DefinitionReader;
  readonly encoder: Encoder;
  readonly decoder: Decoder;
  readonly sink: HeapSink;

  constructor(given: PairOptions = {}) {
    const {
      platform = keenCodec,
      readPlatform = platform,
      logBytes = 16_384,
      maxBytes = 1 << 28,
      options,
    } = given;
    this.log = new DefinitionLog(logBytes);
    this.writer = this.log.writer(platform, options);
    this.reader = this.log.reader(readPlatform);
    this.encoder = new Encoder(platform, this.writer);
    this.decoder = new Decoder(readPlatform, this.reader);
    this.sink = new HeapSink(maxBytes);
  }

  encode(value: unknown, transfer?: readonly object[], room: Room = emptyRoom()): Frame {
    const length = this.encoder.encodeValue(value, room, this.sink, transfer);
    return this.#cut(length);
  }

  encodeArguments(args: readonly unknown[], transfer?: readonly object[], room: Room = emptyRoom()): Frame {
    const length = this.encoder.encodeArguments(args, room, this.sink, transfer);
    return this.#cut(length);
  }

  decode(frame: Frame, decoder: Decoder = this.decoder): any {
    return decoder.decodeValue(frame.memory, frame.start, frame.end, frame.side);
  }

  decodeArguments(frame: Frame): any[] {
    return this.decoder.decodeArguments(frame.memory, frame.start, frame.end, frame.side);
  }

  trip<T>(value: T, transfer?: readonly object[]): T {
    return this.decode(this.encode(value, transfer));
  }

  #cut(length: number): Frame {
    const { room, side } = this.encoder;
    return frameOf(room.memory.bytes.slice(room.start, room.start + length), side);
  }
}
