import {
  closeSync,
  fdatasync,
  fstatSync,
  ftruncateSync,
  openSync,
  readSync,
  type Stats,
  writeSync,
} from 'node:fs';

const CHUNK_BYTES = 256 * 1024;
const WINDOW_BYTES = 64 * 1024;
const LF = 10;

export interface Line {
  /** Without the line end. */
  readonly bytes: Buffer;
  /** Where it begins in the file. */
  readonly offset: number;
  /** From 1. */
  readonly number: number;
  /** Whether it has a line end: the last one has none when its writer was killed. */
  readonly whole: boolean;
}

/**
 * A file of lines that grows at its end. Reads and writes are synchronous: what is read was written or read a
 * moment ago, what is written goes to the system's memory, and either takes microseconds for many lines at once.
 */
export class JournalFile {
  readonly #fd: number;
  #window: Buffer = Buffer.alloc(0);
  #windowAt = 0;

  /** Makes the file if there is none. */
  constructor(path: string) {
    this.#fd = openSync(path, 'a+');
  }

  stats(): Stats {
    return fstatSync(this.#fd);
  }

  /** All lines, read in chunks. */
  *lines(): Generator<Line> {
    let number = 1;
    let offset = 0;
    let parts: Buffer[] = []; // of the current line, from earlier chunks
    for (let at = 0; ; ) {
      const chunk = this.#read(at, CHUNK_BYTES);
      at += chunk.length;
      let start = 0;
      for (let end = chunk.indexOf(LF); end >= 0; end = chunk.indexOf(LF, start)) {
        const rest = chunk.subarray(start, end);
        const bytes = parts.length === 0 ? rest : Buffer.concat([...parts, rest]);
        yield { bytes, offset, number, whole: true };
        number++;
        offset += bytes.length + 1;
        parts = [];
        start = end + 1;
      }
      if (start < chunk.length) parts.push(chunk.subarray(start));
      if (chunk.length > 0) continue;
      if (parts.length > 0) yield { bytes: Buffer.concat(parts), offset, number, whole: false };
      return;
    }
  }

  /**
   * The line that begins at an offset, without its end; undefined when somebody cut it off. Lines that follow each
   * other are read together.
   */
  lineAt(offset: number): Buffer | undefined {
    for (let size = WINDOW_BYTES; ; size *= 4) {
      const from = offset - this.#windowAt;
      const end = from >= 0 && from < this.#window.length ? this.#window.indexOf(LF, from) : -1;
      if (end >= 0) return this.#window.subarray(from, end);
      const window = this.#read(offset, size);
      if (window.length < size && !window.includes(LF)) return undefined;
      this.#window = window;
      this.#windowAt = offset;
    }
  }

  /** @throws what the file system throws; then a part of it may have been written */
  append(text: string): void {
    const bytes = Buffer.from(text);
    for (let at = 0; at < bytes.length; ) at += writeSync(this.#fd, bytes, at);
  }

  cutAt(offset: number): void {
    ftruncateSync(this.#fd, offset);
  }

  /** Has the disk hold what was written, where the file system can do that. */
  sync(): Promise<void> {
    return new Promise((resolve, reject) => {
      fdatasync(this.#fd, error => {
        if (error === null || error.code === 'EINVAL' || error.code === 'ENOTSUP') resolve();
        else reject(error);
      });
    });
  }

  close(): void {
    closeSync(this.#fd);
  }

  #read(offset: number, most: number): Buffer {
    const buffer = Buffer.allocUnsafe(most);
    return buffer.subarray(0, readSync(this.#fd, buffer, 0, most, offset));
  }
}
