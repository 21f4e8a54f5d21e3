import { fstatSync, realpathSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { CommandLineError } from './args.ts';
import { HashIndex, hashOf } from './hash-index.ts';
import { JournalFile } from './journal-file.ts';
import {
  checkHeader,
  damagedLine,
  headerLine,
  isTornHeader,
  type JournalCommand,
  outputLine,
  readRecord,
  recordLine,
  recordStart,
} from './journal-format.ts';
import { LockHeldError, takeLock } from './lock.ts';

const BATCH_CHARS = 64 * 1024;
/** So much of the work a power cut may cost. */
const SYNC_EVERY_MS = 5_000;

/**
 * Results that outlive the process. An input is known by its text and by how many inputs with that text came
 * before it, so it does not matter which others were added or have gone.
 *
 * What is added is with the system by the next turn of the event loop, and before it is in the output: no signal can
 * take it back. Results stay in the file; in memory are hashes of what it holds, and how often each input came.
 */
export class Journal {
  /** Bytes at the end that nobody could read, and that were cut off. */
  readonly cutBytes: number = 0;
  /** Why nothing more is held. */
  broken: NodeJS.ErrnoException | null = null;
  onBroken: (error: NodeJS.ErrnoException) => void = () => {};
  readonly #path: string;
  readonly #command: JournalCommand;
  readonly #file: JournalFile;
  readonly #letGo: () => void;
  /** Where each record begins, under the hash of its input and `nth`. */
  readonly #offsets = new HashIndex();
  /** How often each input came in this run, under its hash. Two with one hash count together, and stay apart. */
  readonly #counts = new HashIndex();
  /** Nothing is in the file, not even a header: that comes with the first result. */
  #empty = true;
  #batch = '';
  #scheduled = false;
  #unsynced = false;
  #syncing: Promise<void> = Promise.resolve();
  readonly #syncTimer: NodeJS.Timeout;

  /** @throws CommandLineError when it is in use, another command's, damaged, or cannot be opened */
  constructor(path: string, command: JournalCommand) {
    this.#path = path;
    this.#command = command;
    try {
      this.#letGo = lock(path);
      try {
        this.#file = open(path);
        try {
          this.cutBytes = this.#readAll();
        } catch (error) {
          this.#file.close();
          throw error;
        }
      } catch (error) {
        this.#letGo();
        throw error;
      }
    } catch (error) {
      if (error instanceof CommandLineError) throw error;
      throw new CommandLineError(`cannot open the journal ${path}: ${(error as Error).message}`);
    }
    this.#syncTimer = setInterval(() => void this.#sync(), SYNC_EVERY_MS).unref();
  }

  /** To be called once for each input, in their order. @returns which one with this text it is, from 1 */
  count(input: string): number {
    return this.#counts.increment(hashOf(input, 0));
  }

  /** @returns the line for the output, with its line end; undefined when there is none */
  find(input: string, nth: number): string | undefined {
    const start = Buffer.from(recordStart(nth, input));
    let found: Buffer | undefined;
    this.#offsets.find(hashOf(input, nth), offset => {
      const record = this.#file.lineAt(offset);
      if (!record?.subarray(0, start.length).equals(start)) return false; // another one with this hash
      found = record;
      return true;
    });
    return found === undefined ? undefined : `${outputLine(found.toString())}\n`;
  }

  /** @param line of the output, with its line end */
  add(nth: number, line: string): void {
    if (this.broken !== null) return;
    this.#batch += recordLine(nth, line);
    if (this.#batch.length >= BATCH_CHARS) this.flush();
    else if (!this.#scheduled) {
      this.#scheduled = true;
      setImmediate(() => {
        this.#scheduled = false;
        this.flush();
      });
    }
  }

  /** Hands what was added to the system. */
  flush(): void {
    if (this.#batch === '' || this.broken !== null) return;
    const text = (this.#empty ? headerLine(this.#command) : '') + this.#batch;
    this.#batch = '';
    try {
      this.#file.append(text);
      this.#empty = false;
      this.#unsynced = true;
    } catch (error) {
      this.#break(error as NodeJS.ErrnoException);
    }
  }

  /** Hands what was added to the disk. Errors go to `onBroken`. */
  async finish(): Promise<void> {
    this.flush();
    await this.#sync();
  }

  async close(): Promise<void> {
    clearInterval(this.#syncTimer);
    await this.finish();
    this.#file.close();
    if (this.#empty && this.broken === null) rmSync(this.#path, { force: true });
    this.#letGo();
  }

  /** @returns how many bytes were cut off */
  #readAll(): number {
    let end = 0;
    let damaged: { bytes: Buffer; number: number } | undefined;
    for (const { bytes, offset, number, whole } of this.#file.lines()) {
      if (number === 1) {
        if (!whole && isTornHeader(bytes)) break;
        checkHeader(bytes, this.#path, this.#command);
        this.#empty = false;
      } else {
        const record = whole ? readRecord(bytes) : undefined;
        if (record === undefined) {
          damaged ??= { bytes, number };
          continue;
        }
        // What a killed process leaves unfinished is at the end. This is something else, for somebody to look at.
        if (damaged !== undefined) throw damagedLine(damaged.bytes, this.#path, damaged.number);
        this.#offsets.add(hashOf(record.input, record.nth), offset);
      }
      end = offset + bytes.length + 1;
    }
    const cut = this.#file.stats().size - end;
    if (cut > 0) this.#file.cutAt(end);
    return cut;
  }

  /** One at a time: a slow disk must not collect them. */
  #sync(): Promise<void> {
    if (!this.#unsynced || this.broken !== null) return this.#syncing;
    this.#unsynced = false;
    this.#syncing = this.#syncing.then(() => this.#file.sync()).catch(error => this.#break(error));
    return this.#syncing;
  }

  /** After a write that failed the last line may be torn: nothing may follow it. */
  #break(error: NodeJS.ErrnoException): void {
    if (this.broken !== null) return;
    this.broken = error;
    this.onBroken(error);
  }
}

/** The lock stands beside the file itself, whatever links lead there. */
function lock(path: string): () => void {
  let real: string;
  try {
    real = realpathSync(path);
  } catch {
    real = join(realpathSync(dirname(path)), basename(path));
  }
  try {
    return takeLock(`${real}.lock`);
  } catch (error) {
    if (!(error instanceof LockHeldError)) throw error;
    const { pid, host } = error.owner;
    throw new CommandLineError(
      `the journal ${path} is in use by process ${pid} on ${host}; wait for its end, or name another file with --journal (if no such process runs any more, delete ${real}.lock)`,
    );
  }
}

function open(path: string): JournalFile {
  const there = statSync(path, { throwIfNoEntry: false });
  if (there !== undefined && !there.isFile()) {
    const what = there.isDirectory() ? 'a directory' : 'not a regular file';
    throw new CommandLineError(
      `the journal ${path} is ${what}; expected the name of a file, new or a journal`,
    );
  }
  const file = new JournalFile(path);
  const { dev, ino } = file.stats();
  const stdout = fstatSync(1);
  if (stdout.isFile() && stdout.dev === dev && stdout.ino === ino) {
    file.close();
    throw new CommandLineError(
      `the journal ${path} is the file that stdout goes to; give each a file of its own`,
    );
  }
  return file;
}
