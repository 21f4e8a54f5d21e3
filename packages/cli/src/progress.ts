import { BarProgress } from './progress-bar.ts';
import { Rate } from './rate.ts';

/** Where a run stands. */
export interface Snapshot {
  readonly done: number;
  readonly failed: number;
  /** Of those done: taken from the journal. */
  readonly reused: number;
  readonly running: number;
  readonly total: number | undefined;
  /** Lanes that are up. */
  readonly lanes: number;
}

/** Tells how far a run is, on stderr, until it is stopped. */
export interface Progress {
  /** Takes the progress off the terminal's line, for something else to be printed there. */
  stepAside(): void;
  /** Shows it again at once, unless it was shown a moment ago. */
  comeBack(): void;
  stop(): void;
}

const LINE_EVERY_MS = 2_000;

/** A bar on a terminal, a line now and then elsewhere. */
export function showProgress(stream: NodeJS.WriteStream, look: () => Snapshot): Progress {
  const rate = new Rate(performance.now());
  return stream.isTTY && process.env.TERM !== 'dumb'
    ? new BarProgress(stream, look, rate)
    : new LineProgress(stream, look, rate);
}

export const noProgress: Progress = { stepAside() {}, comeBack() {}, stop() {} };

class LineProgress implements Progress {
  readonly #timer: NodeJS.Timeout;

  constructor(stream: NodeJS.WriteStream, look: () => Snapshot, rate: Rate) {
    this.#timer = setInterval(() => {
      const { done, failed, reused, total, lanes } = look();
      const settled = done + failed;
      rate.sample(performance.now(), settled - reused);
      const count = total === undefined ? `${settled} inputs` : `${settled} of ${total}`;
      const parts = [count, `${failed} failed`, perTime(rate.perSecond)];
      const eta = total === undefined ? undefined : rate.secondsFor(total - settled);
      if (eta !== undefined) parts.push(`ETA ${span(eta)}`);
      parts.push(`${lanes} ${lanes === 1 ? 'lane' : 'lanes'}`);
      stream.write(`hotlane: ${parts.join(', ')}\n`);
    }, LINE_EVERY_MS);
  }

  stepAside(): void {}

  comeBack(): void {}

  stop(): void {
    clearInterval(this.#timer);
  }
}

/** `1234/s`, `3.4/s`, `6/min`. */
export function perTime(perSecond: number): string {
  if (perSecond >= 9.95) return `${Math.round(perSecond)}/s`;
  if (perSecond >= 0.95 || perSecond === 0) return `${perSecond.toFixed(1)}/s`;
  return `${(perSecond * 60).toFixed(perSecond * 60 >= 9.95 ? 0 : 1)}/min`;
}

/** `17s`, `3m 07s`, `2h 05m`. */
export function span(seconds: number): string {
  const whole = Math.ceil(seconds);
  const two = (n: number) => String(n).padStart(2, '0');
  if (whole < 60) return `${whole}s`;
  if (whole < 3_600) return `${Math.floor(whole / 60)}m ${two(whole % 60)}s`;
  return `${Math.floor(whole / 3_600)}h ${two(Math.floor((whole % 3_600) / 60))}m`;
}
