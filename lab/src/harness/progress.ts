import { Presets, SingleBar } from 'cli-progress';

/** What a long run shows on stderr, so that stdout stays clean for tables. */
export interface Progress {
  /** A new stretch of work begins. */
  begin(label: string, total: number): void;
  update(done: number, detail?: string): void;
  /** The stretch is over; can be called twice. */
  end(): void;
}

/** A bar on a terminal, plain lines otherwise. */
export function createProgress(): Progress {
  return process.stderr.isTTY ? new BarProgress() : new LineProgress();
}

class BarProgress implements Progress {
  #bar: SingleBar | null = null;

  begin(label: string, total: number): void {
    this.end();
    this.#bar = new SingleBar(
      {
        format: `${label} {bar} {percentage}% {detail}`,
        stream: process.stderr,
        barsize: 24,
        clearOnComplete: true,
        hideCursor: true,
      },
      Presets.shades_classic,
    );
    this.#bar.start(total, 0, { detail: '' });
  }

  update(done: number, detail = ''): void {
    this.#bar?.update(done, { detail });
  }

  end(): void {
    this.#bar?.stop();
    this.#bar = null;
  }
}

/** At most one line in so many milliseconds, and one at the end of each stretch. */
const LINE_EVERY_MS = 2_000;

class LineProgress implements Progress {
  #label = '';
  #total = 0;
  #from: number | null = null;
  #lineAt = 0;

  begin(label: string, total: number): void {
    this.end();
    this.#label = label;
    this.#total = total;
    this.#from = this.#lineAt = performance.now();
  }

  update(done: number, detail = ''): void {
    const now = performance.now();
    if (now - this.#lineAt < LINE_EVERY_MS) return;
    this.#lineAt = now;
    process.stderr.write(`${this.#label}: ${done} of ${this.#total}${detail === '' ? '' : `, ${detail}`}\n`);
  }

  end(): void {
    if (this.#from === null) return;
    const seconds = (performance.now() - this.#from) / 1000;
    this.#from = null;
    process.stderr.write(`${this.#label}: done in ${seconds.toFixed(1)} s\n`);
  }
}
