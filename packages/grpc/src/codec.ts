import type { MethodCodec } from './find.ts';
import { INTERNAL, messageOf } from './status.ts';
import type { Ending } from './wire.ts';

/** A message as bytes. grpc-js writes them with `copy`, which only Buffers have. */
export function encode(codec: MethodCodec, message: unknown): Buffer {
  const bytes = codec.responseSerialize(message);
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

export function failure(code: number, details: string): Ending {
  return { code, details, trailers: null };
}

export function unreadable(error: unknown): Ending {
  return failure(INTERNAL, `Error deserializing request: ${messageOf(error)}`);
}

export function unwritable(error: unknown): Ending {
  return failure(INTERNAL, `Error serializing response: ${messageOf(error)}`);
}
