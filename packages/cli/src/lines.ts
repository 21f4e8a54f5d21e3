import { isUtf8 } from 'node:buffer';
import type { Readable } from 'node:stream';
import type { Input, Source } from './inputs.ts';

/** A line that is longer fails, instead of filling the memory. */
const MOST_LINE_BYTES = 64 * 1024 * 1024;
const LF = 10;
const CR = 13;
const BOM = '\ufeff';

/** Lines of a stream as inputs. Reads on only when its lines have been taken. */
export class LineSource implements Source {
  readonly total = undefined;
  readonly #stream: Readable;
  readonly #mostLineBytes: number;
  #stopped = false;

  constructor(stream: Readable, mostLineBytes = MOST_LINE_BYTES) {
    this.#stream = stream;
    this.#mostLineBytes = mostLineBytes;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Input> {
    let number = 1;
    let offset = 0; // of the current line, in bytes from the start
    let parts: Buffer[] = []; // of the current line, from earlier chunks
    let length = 0;
    try {
      for await (const chunk of this.#stream as AsyncIterable<Buffer>) {
        let start = 0;
        for (let end = chunk.indexOf(LF); end >= 0; end = chunk.indexOf(LF, start)) {
          const rest = chunk.subarray(start, end);
          length += rest.length;
          yield this.#input(
            parts.length === 0 ? rest : Buffer.concat([...parts, rest]),
            length,
            number,
            offset,
          );
          number++;
          offset += length + 1;
          parts = [];
          length = 0;
          start = end + 1;
        }
        const rest = chunk.subarray(start);
        length += rest.length;
        // Of a line that is too long the beginning will do, for its error.
        if (length <= this.#mostLineBytes) parts.push(rest);
        else parts = [Buffer.concat([...parts, rest]).subarray(0, 100)];
      }
    } catch (error) {
      if (this.#stopped) return;
      throw new Error(`cannot read stdin: ${(error as Error).message}`, { cause: error });
    }
    if (length > 0) yield this.#input(Buffer.concat(parts), length, number, offset);
  }

  stop(): void {
    this.#stopped = true;
    this.#stream.destroy();
  }

  /** @param length the line's, which `bytes` holds in full unless that is too much */
  #input(bytes: Buffer, length: number, number: number, offset: number): Input {
    if (length > this.#mostLineBytes) {
      const text = bytes.toString('utf8', 0, 100);
      const message = `line ${number} (at byte ${offset}) has ${length} bytes; the most is ${this.#mostLineBytes}`;
      return { text, problem: { name: 'RangeError', message, code: 'EMSGSIZE' }, garbled: true };
    }
    const end = bytes[bytes.length - 1] === CR ? bytes.length - 1 : bytes.length;
    let text = bytes.toString('utf8', 0, end);
    if (offset === 0 && text.startsWith(BOM)) text = text.slice(1);
    if (isUtf8(bytes)) return { text };
    const at = firstInvalid(bytes);
    const byte = bytes[at]!.toString(16).padStart(2, '0');
    const message = `line ${number} is not valid UTF-8: 0x${byte} at byte ${offset + at} of stdin`;
    return { text, problem: { name: 'TypeError', message, code: 'EILSEQ' }, garbled: true };
  }
}

/** Where the first sequence begins that is not UTF-8; −1 when all is well. */
export function firstInvalid(bytes: Uint8Array): number {
  for (let at = 0; at < bytes.length; ) {
    const size = sequenceAt(bytes, at);
    if (size === 0) return at;
    at += size;
  }
  return -1;
}

/** The length of the well-formed sequence at `at`, 0 when it is none: table 3-7 of the Unicode standard. */
function sequenceAt(bytes: Uint8Array, at: number): number {
  const lead = bytes[at]!;
  if (lead < 0x80) return 1;
  if (lead < 0xc2 || lead > 0xf4) return 0;
  const size = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  const least = lead === 0xe0 ? 0xa0 : lead === 0xf0 ? 0x90 : 0x80; // no overlong forms
  const most = lead === 0xed ? 0x9f : lead === 0xf4 ? 0x8f : 0xbf; // no surrogates, nothing past U+10FFFF
  for (let i = 1; i < size; i++) {
    const byte = bytes[at + i];
    if (byte === undefined || byte < (i === 1 ? least : 0x80) || byte > (i === 1 ? most : 0xbf)) return 0;
  }
  return size;
}
