import { UsageError } from '../harness/cli.ts';

/** Which objects the server takes its time over. */
export interface Mix {
  readonly name: string;
  readonly title: string;
  /** Each so-manieth object of a page is slow; 0 for none. */
  readonly every: number;
  readonly waitMs: number;
}

export const PLAIN: Mix = { name: 'plain', title: 'all at once', every: 0, waitMs: 0 };

export const mixes: Readonly<Record<string, Mix>> = {
  plain: PLAIN,
  'slow-8': { name: 'slow-8', title: 'every 8th takes 1 s', every: 8, waitMs: 1000 },
  'slow-20': { name: 'slow-20', title: 'every 20th takes 300 ms', every: 20, waitMs: 300 },
};

/**
 * A mix by its name, or as `EVERY:MS`.
 *
 * @throws UsageError
 */
export function parseMix(text: string): Mix {
  const known = mixes[text];
  if (known !== undefined) return known;
  const [, every, waitMs] = /^([1-9]\d*):(\d+)$/.exec(text) ?? [];
  if (every === undefined || waitMs === undefined) {
    const names = Object.keys(mixes).join(', ');
    throw new UsageError(`\`--mix\`: expected ${names}, or EVERY:MS as in 8:1000; got \`${text}\`.`);
  }
  return {
    name: text,
    title: `every ${every}th takes ${waitMs} ms`,
    every: Number(every),
    waitMs: Number(waitMs),
  };
}

/** @param index of the object in its page, the document's being 0; the document is never slow */
export function waitMsOf(mix: Mix, index: number): number {
  return index > 0 && mix.every > 0 && (index + 1) % mix.every === 0 ? mix.waitMs : 0;
}
