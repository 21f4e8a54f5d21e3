import { HotlaneError } from '../errors.ts';
import { Decoder } from './decode.ts';
import { DefinitionLog } from './definitions.ts';
import { Encoder } from './encode.ts';
import { emptyRoom, HeapSink, MAX_VALUE_BYTES, memoryOver } from './memory.ts';
import type { CodecPlatform } from './platform.ts';

/** A log without room: what is encoded with it refers to nothing outside of its own bytes. */
const NO_LOG = new DefinitionLog(0);
const sink = new HeapSink(MAX_VALUE_BYTES);

/**
 * Encodes a value that travels by itself, apart from calls: why a lane failed, why a call was cancelled.
 * What cannot be encoded is told by its message; this never throws.
 */
export function encodeAlone(value: unknown, platform: CodecPlatform): Uint8Array {
  const encoder = new Encoder(platform, NO_LOG.writer(platform));
  let length: number;
  try {
    length = encoder.encodeValue(value, emptyRoom(), sink);
    if (encoder.side.length > 0) throw new TypeError('it needs the side channel');
  } catch {
    length = encoder.encodeValue(new Error(describe(value)), emptyRoom(), sink);
  }
  const { memory, start } = encoder.room;
  return memory.bytes.slice(start, start + length);
}

/** @throws HotlaneError PROTOCOL for bytes that `encodeAlone` did not write */
export function decodeAlone(bytes: unknown, platform: CodecPlatform): unknown {
  if (!(bytes instanceof Uint8Array)) {
    throw new HotlaneError(
      'PROTOCOL',
      'A message should carry an encoded value, and carries something else.',
    );
  }
  const decoder = new Decoder(platform, NO_LOG.reader(platform));
  return decoder.decodeValue(
    memoryOver(bytes.buffer, bytes.byteOffset, bytes.byteLength),
    0,
    bytes.byteLength,
  );
}

/** Whatever can be said of a value that may be hostile to being looked at. */
function describe(value: unknown): string {
  try {
    const { message } = value as { message?: unknown };
    return typeof message === 'string' ? message : String(value);
  } catch {
    return 'a value that cannot be shown';
  }
}
