import { contenders } from './contenders/all.ts';
import { type Mix, PLAIN } from './mixes.ts';
import type { Profile } from './network/profiles.ts';
import type { Page } from './pages/page.ts';

/** What is compared: the same page over the same network, with the same losses, by several contenders. */
export interface Setting {
  readonly profile: string;
  readonly page: string;
  readonly mix: string;
  readonly lossPercent: number;
  /** How many requests a connection may have outstanding. */
  readonly quota: number;
}

/** A setting once more, with its contenders; each round has its own losses. */
export interface Group {
  readonly setting: Setting;
  readonly contenders: readonly string[];
  readonly round: number;
}

/** What one load came to. */
export interface Run {
  readonly setting: Setting;
  readonly contender: string;
  readonly round: number;
  /** Null when the page did not load. */
  readonly figures: Figures | null;
  readonly failure: string | null;
  readonly stats: unknown;
  /** All packets, where they are drawn: milliseconds, up, kind, connection, bytes. */
  readonly packets: readonly DrawnPacket[] | null;
}

export type DrawnPacket = readonly [
  atMs: number,
  up: 0 | 1,
  kind: 'payload' | 'ack' | 'control',
  connection: number,
  bytes: number,
];

export interface Figures {
  readonly loadMs: number;
  /** Both ways, of every kind, those that open and close connections included. */
  readonly packets: number;
  readonly packetsUp: number;
  readonly packetsDown: number;
  /** Lost, or dropped by a queue. */
  readonly dropped: number;
  readonly bytesUp: number;
  readonly bytesDown: number;
  readonly connections: number;
  /** Of the responses' heads. */
  readonly headerBytes: number;
  /** How much too late the emulator delivered a packet, at most. */
  readonly latestMs: number;
}

export interface Choice {
  readonly profiles: readonly Profile[];
  readonly pages: readonly Page[];
  readonly mixes: readonly Mix[];
  readonly quotas: readonly number[];
  readonly contenders: readonly string[];
  readonly lossPercents: readonly number[];
  readonly rounds: number;
  /** Rounds of a setting that is loaded alone. */
  readonly quietRounds: number;
  /** Rounds of a setting with loss. */
  readonly seeds: number;
  /** Contenders that are loaded one after the other on one network; the others of a setting have another. */
  readonly inTurn: number;
}

/** The page with losses is loaded on these networks, plain and with the quota of the study only. */
const LOSSY_PROFILES = ['edge-400', 'edge-700', 'lte'];
export const STUDY_QUOTA = 4;

/** All that is to be loaded, each group once in each round. */
export function planGroups(choice: Choice): Group[] {
  return settingsOf(choice).flatMap(({ setting, contenders }) => {
    const inTurn = Math.min(contenders.length, needsQuiet(setting) ? contenders.length : choice.inTurn);
    return Array.from({ length: roundsOf(setting, choice) }, (_, round) =>
      Array.from({ length: Math.ceil(contenders.length / inTurn) }, (_, part) => ({
        setting,
        contenders: contenders.slice(part * inTurn, (part + 1) * inTurn),
        round,
      })),
    ).flat();
  });
}

/**
 * Whether loads take so little that what else the machine does shows: such settings are loaded alone, and more often.
 */
export function needsQuiet({ profile, mix }: Setting): boolean {
  return profile === 'lan' && mix === PLAIN.name;
}

function roundsOf(setting: Setting, { rounds, quietRounds, seeds }: Choice): number {
  if (setting.lossPercent > 0) return seeds;
  return needsQuiet(setting) ? quietRounds : rounds;
}

function settingsOf(choice: Choice): Omit<Group, 'round'>[] {
  const { profiles, pages, mixes, quotas, lossPercents } = choice;
  const found: Omit<Group, 'round'>[] = [];
  for (const lossPercent of lossPercents)
    for (const profile of profiles)
      for (const page of pages)
        for (const mix of mixes)
          for (const quota of quotas) {
            const isWorthIt =
              lossPercent === 0
                ? // A page of today takes a minute on a network of 2008: one quota says enough of it.
                  !page.preloadScanner || profile.downKbit > 1000 || quota === only(quotas, STUDY_QUOTA)
                : LOSSY_PROFILES.includes(profile.name) &&
                  !page.preloadScanner &&
                  mix.every === 0 &&
                  quota === only(quotas, STUDY_QUOTA);
            if (!isWorthIt) continue;
            const isFirst = quota === only(quotas, STUDY_QUOTA);
            const who = choice.contenders.filter(name => contenders[name]!.hasQuota || isFirst);
            if (who.length === 0) continue;
            found.push({
              setting: { profile: profile.name, page: page.name, mix: mix.name, lossPercent, quota },
              contenders: who,
            });
          }
  return found;
}

/** The wanted one if it was chosen, else the first. */
function only(quotas: readonly number[], wanted: number): number {
  return quotas.includes(wanted) ? wanted : quotas[0]!;
}

export function settingKey({ profile, page, mix, lossPercent, quota }: Setting): string {
  return [profile, page, mix, `${lossPercent} %`, `quota ${quota}`].join(' / ');
}

/** What makes a run the same run when a study is resumed. */
export function runKey({ setting, contender, round }: Pick<Run, 'setting' | 'contender' | 'round'>): string {
  return `${settingKey(setting)} / ${contender} / ${round}`;
}
