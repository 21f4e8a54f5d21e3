import { closeSync, fstatSync, openSync, type Stats, statSync, writeFileSync } from 'node:fs';
import { CommandLineError } from './args.ts';

const BATCH_CHARS = 64 * 1024;
/** So much of the end `kill -9` may cost. */
const FLUSH_EVERY_MS = 1_000;

/** An event of the Trace Event Format, without `pid`. Times are in microseconds. */
export interface TraceEvent {
  readonly ph: 'X' | 'M' | 'C' | 'b' | 'n' | 'e';
  readonly name: string;
  readonly ts: number;
  readonly tid: number;
  readonly dur?: number;
  readonly cat?: string;
  readonly id?: string;
  readonly args?: object;
}

/**
 * A file of trace events, in the format's array form: that is read also when its end is missing. Commas go in front,
 * so that all that is missing after `kill -9` is the bracket.
 *
 * Written in whole batches, and at once: whoever publishes an event cannot wait, so nothing else bounds what is not written.
 */
export class TraceFile {
  /** Why nothing more is written. */
  broken: NodeJS.ErrnoException | null = null;
  readonly #fd: number;
  #batch = '[';
  #separator = '\n';
  readonly #flushTimer: NodeJS.Timeout;

  /**
   * @param others files that it must not be, and what each is to the user
   * @throws CommandLineError when it cannot be created, or is one of those; it is not touched then
   */
  constructor(path: string, others: readonly [what: string, file: string | number][]) {
    const there = statSync(path, { throwIfNoEntry: false });
    if (there !== undefined) {
      if (!there.isFile()) {
        throw new CommandLineError(
          `cannot write the trace ${path}: expected the name of a file, got something else`,
        );
      }
      for (const [what, file] of others) {
        if (isSame(there, file))
          throw new CommandLineError(`the trace ${path} is ${what}; name another file`);
      }
    }
    try {
      this.#fd = openSync(path, 'w');
    } catch (error) {
      throw new CommandLineError(`cannot write the trace ${path}: ${(error as Error).message}`);
    }
    this.#flushTimer = setInterval(() => this.flush(), FLUSH_EVERY_MS).unref();
  }

  add(event: TraceEvent): void {
    if (this.broken !== null) return;
    this.#batch += `${this.#separator}${JSON.stringify({ ...event, pid: process.pid })}`;
    this.#separator = ',\n';
    if (this.#batch.length >= BATCH_CHARS) this.flush();
  }

  close(): void {
    clearInterval(this.#flushTimer);
    this.#batch += '\n]\n';
    this.flush();
    closeSync(this.#fd);
  }

  /** Hands all to the system; `broken` tells whether that worked. */
  flush(): void {
    const batch = this.#batch;
    this.#batch = '';
    if (batch === '' || this.broken !== null) return;
    try {
      writeFileSync(this.#fd, batch);
    } catch (error) {
      this.broken = error as NodeJS.ErrnoException;
    }
  }
}

function isSame(there: Stats, file: string | number): boolean {
  try {
    const other = typeof file === 'number' ? fstatSync(file) : statSync(file);
    return other.dev === there.dev && other.ino === there.ino;
  } catch {
    return false; // closed, or not there
  }
}
