import type { Writable } from 'node:stream';

const BATCH_CHARS = 32 * 1024;

interface StepsAside {
  stepAside(): void;
  comeBack(): void;
}

/** Lines out, in batches, at the pace of whoever reads them. */
export class Output {
  /** The reader is behind: hold the results back. `onReady` follows. */
  full = false;
  /** Why nothing can be written any more: EPIPE when the reader has gone. */
  broken: NodeJS.ErrnoException | null = null;
  onReady: () => void = () => {};
  /** What must have happened before a reader sees the lines that were written. */
  beforeWrite: () => void = () => {};
  onBroken: (error: NodeJS.ErrnoException) => void = () => {};
  readonly #stream: Writable;
  readonly #progress: StepsAside;
  #batch = '';
  #scheduled = false;

  /** @param progress what may stand where the lines go, when both are on one terminal */
  constructor(stream: Writable, progress: StepsAside) {
    this.#stream = stream;
    this.#progress = progress;
    stream.on('drain', () => {
      this.full = false;
      this.onReady();
    });
    stream.on('error', error => {
      if (this.broken !== null) return;
      this.broken = error;
      this.onBroken(error);
    });
  }

  /** @param line with its line end */
  write(line: string): void {
    this.#batch += line;
    if (this.#batch.length >= BATCH_CHARS) this.#flush();
    else if (!this.#scheduled) {
      this.#scheduled = true;
      setImmediate(() => {
        this.#scheduled = false;
        this.#flush();
      });
    }
  }

  /** Resolves when all has been handed to the system, or cannot be. */
  async finish(): Promise<void> {
    this.#flush();
    if (this.broken !== null) return;
    await new Promise<void>(resolve => {
      this.#stream.once('error', () => resolve());
      this.#stream.write('', () => resolve());
    });
  }

  #flush(): void {
    if (this.#batch === '' || this.broken !== null) return;
    this.beforeWrite(); // which may end the run, and so write what was held back
    const batch = this.#batch;
    if (batch === '') return;
    this.#batch = '';
    this.#progress.stepAside();
    if (!this.#stream.write(batch)) this.full = true;
    this.#progress.comeBack();
  }
}
