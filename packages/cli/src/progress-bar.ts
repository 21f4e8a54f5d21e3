import cliProgress from 'cli-progress';
import { type Progress, perTime, type Snapshot, span } from './progress.ts';
import type { Rate } from './rate.ts';

const MOST_BAR_CHARS = 40;
const LEAST_BAR_CHARS = 8;
/** More often nobody can see it, and drawing would slow the output down. */
const LEAST_BETWEEN_MS = 40;

/** Its types leave out that it can be drawn at once. */
type DrawableBar = cliProgress.SingleBar & { render(): void };

/** A bar on the last line of a terminal. Whatever else is printed to stderr meanwhile pushes it down. */
export class BarProgress implements Progress {
  readonly #stream: NodeJS.WriteStream;
  readonly #bar: DrawableBar;
  #drawnAt = 0;
  readonly #write: NodeJS.WriteStream['write'];

  constructor(stream: NodeJS.WriteStream, look: () => Snapshot, rate: Rate) {
    this.#stream = stream;
    this.#write = stream.write;
    const write = stream.write.bind(stream);
    const bar = new cliProgress.SingleBar({
      // The bar's own way to the terminal, beside the one that pushes it down.
      stream: Object.create(stream, { write: { value: write } }),
      barsize: MOST_BAR_CHARS,
      linewrap: true,
      clearOnComplete: true,
      forceRedraw: true, // what was printed in between has taken it off
      format: options => {
        const now = look();
        this.#drawnAt = performance.now();
        rate.sample(performance.now(), now.done + now.failed - now.reused);
        return barLine(now, rate, stream.columns || 80, (share, size) =>
          cliProgress.Format.BarFormat(share, { ...options, barsize: size }),
        );
      },
    });
    // It would put the cursor back to where the bar began, which by then may hold somebody's output.
    const { terminal } = bar as unknown as { terminal: { cursorSave(): void; cursorRestore(): void } };
    terminal.cursorSave = terminal.cursorRestore = () => {};
    this.#bar = bar as DrawableBar;
    bar.start(1, 0);
    stream.write = ((...args: Parameters<typeof write>) => {
      this.stepAside();
      const ready = write(...args);
      this.comeBack();
      return ready;
    }) as typeof stream.write;
  }

  stepAside(): void {
    this.#write.call(this.#stream, '\r\x1b[K');
  }

  comeBack(): void {
    if (performance.now() - this.#drawnAt >= LEAST_BETWEEN_MS) this.#bar.render();
  }

  stop(): void {
    this.#stream.write = this.#write;
    this.#bar.stop();
  }
}

/**
 * @param columns how wide the terminal is; the bar gives way first, then the least important numbers
 * @param draw draws a bar for a share from 0 to 1, so many characters wide
 */
export function barLine(
  now: Snapshot,
  rate: Rate,
  columns: number,
  draw: (share: number, size: number) => string,
): string {
  const { done, failed, total, lanes } = now;
  const settled = done + failed;
  const lanesPart = `${lanes} ${lanes === 1 ? 'lane' : 'lanes'}`;
  const eta = total === undefined ? undefined : rate.secondsFor(total - settled);
  const parts = [
    total === undefined ? `${settled} inputs` : `${settled}/${total}`,
    perTime(rate.perSecond),
    ...(total === undefined ? [] : [`ETA ${eta === undefined ? '–' : span(eta)}`]),
    `${failed} failed`,
    lanesPart,
  ];
  // One column stays free: a terminal wraps when its last one is written.
  const width = columns - 1;
  let text = parts.join('  ');
  while (text.length > width && parts.length > 1) {
    parts.pop();
    text = parts.join('  ');
  }
  if (total === undefined) return text;
  const share = total === 0 ? 1 : settled / total;
  const percent = `${Math.floor(share * 100)}%`.padStart(4);
  const size = Math.min(MOST_BAR_CHARS, width - text.length - percent.length - 5);
  return size < LEAST_BAR_CHARS ? text : `[${draw(share, size)}] ${percent}  ${text}`;
}
