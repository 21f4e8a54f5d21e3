import { median } from '../harness/stats.ts';
import { type Setting, settingKey } from './cells.ts';
import type { Profile } from './network/profiles.ts';
import type { Site } from './site.ts';

/** What networks in use at once do to each other's figures. */
export interface SideBySide {
  readonly where: string;
  readonly networks: number;
  readonly aloneMs: number;
  /** The median of as many loads at once as there are networks. */
  readonly togetherMs: number;
  readonly ratio: number;
}

/** Beyond this the figures are doubtful. */
export const MOST_APART = 0.03;

const CONTENDER = 'one-for-one';

/** Loads the same page on one network alone, then on all at once. */
export async function compareSideBySide(
  networks: number,
  setting: Setting,
  profile: Profile,
  open: () => Promise<Site>,
  timeoutMs: number,
): Promise<SideBySide> {
  const opened = await Promise.allSettled(Array.from({ length: networks }, open));
  const sites = opened.flatMap(one => (one.status === 'fulfilled' ? [one.value] : []));
  try {
    for (const one of opened) if (one.status === 'rejected') throw one.reason;
    const load = async (site: Site) =>
      (await site.load(setting, CONTENDER, profile, timeoutMs)).figures.loadMs;
    const aloneMs = await load(sites[0]!);
    const togetherMs = median(await Promise.all(sites.map(load)));
    const ratio = togetherMs / aloneMs;
    return { where: settingKey(setting), networks, aloneMs, togetherMs, ratio };
  } finally {
    for (const site of sites) await site[Symbol.asyncDispose]();
  }
}
