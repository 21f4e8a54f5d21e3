import type { Machine } from '../harness/machine.ts';
import type { ModeName } from '../harness/modes.ts';
import { type Summary, summarise } from '../harness/stats.ts';
import type { PipeliningBar } from './bars.ts';
import { type DrawnPacket, type Figures, type Run, type Setting, settingKey } from './cells.ts';
import type { RateResult } from './rates.ts';
import type { SideBySide } from './side-by-side.ts';

/** All that the study found; what `results.json` holds. */
export interface PipeliningResults {
  readonly schema: 'hotlane-pipelining-1';
  readonly startedAt: string;
  readonly command: string;
  readonly mode: ModeName;
  readonly seed: number;
  readonly networks: number;
  readonly server: string;
  /** Why packets could not be emulated; null when they were. */
  readonly noPackets: string | null;
  readonly machine: Machine;
  readonly profiles: readonly { readonly name: string; readonly title: string; readonly settings: string }[];
  readonly pages: readonly {
    readonly name: string;
    readonly title: string;
    readonly objects: number;
    readonly bytes: number;
    readonly waves: readonly number[];
  }[];
  readonly mixes: readonly { readonly name: string; readonly title: string }[];
  readonly contenders: Readonly<Record<string, { readonly name: string; readonly settings: string }>>;
  readonly cells: readonly CellSummary[];
  readonly rates: readonly RateResult[];
  readonly sideBySide: SideBySide | null;
  readonly bars: readonly PipeliningBar[];
  readonly pictures: readonly Picture[];
}

/** All rounds of one contender in one setting. */
export interface CellSummary {
  readonly setting: Setting;
  readonly contender: string;
  readonly floorMs: number;
  readonly figures: Readonly<Record<keyof Figures, Summary>> | null;
  readonly failures: readonly string[];
}

/** Two runs of one setting, packet by packet. */
export interface Picture {
  readonly setting: Setting;
  readonly runs: readonly {
    readonly contender: string;
    readonly loadMs: number;
    readonly packets: readonly DrawnPacket[];
  }[];
}

export function summariseCells(runs: readonly Run[], floorMs: (setting: Setting) => number): CellSummary[] {
  const cells = Map.groupBy(runs, ({ setting, contender }) => `${settingKey(setting)} / ${contender}`);
  return [...cells.values()].map(its => {
    const { setting, contender } = its[0]!;
    const found = its.flatMap(({ figures }) => figures ?? []);
    const names = Object.keys(found[0] ?? {}) as (keyof Figures)[];
    return {
      setting,
      contender,
      floorMs: floorMs(setting),
      figures:
        found.length === 0
          ? null
          : (Object.fromEntries(
              names.map(name => [name, summarise(found.map(one => one[name]))]),
            ) as CellSummary['figures']),
      failures: its.flatMap(({ failure, round }) =>
        failure === null ? [] : [`round ${round + 1}: ${failure}`],
      ),
    };
  });
}

/** Of each drawn setting, the run of median load time of each of the two that are drawn. */
export function choosePictures(runs: readonly Run[], contenders: readonly string[]): Picture[] {
  const all = runs.filter(run => run.packets !== null && run.figures !== null && run.packets.length > 0);
  const thin = all.filter(({ setting }) => setting.profile.startsWith('edge-'));
  // A faster network is drawn only when there is none as slow as the study's.
  const drawn = thin.length > 0 ? thin : all;
  const settings = Map.groupBy(drawn, ({ setting }) => settingKey(setting));
  return [...settings.values()].map(its => ({
    setting: its[0]!.setting,
    runs: contenders.flatMap(contender => {
      const ascending = its
        .filter(run => run.contender === contender)
        .sort((a, b) => a.figures!.loadMs - b.figures!.loadMs);
      const one = ascending[(ascending.length - 1) >> 1];
      return one === undefined ? [] : [{ contender, loadMs: one.figures!.loadMs, packets: one.packets! }];
    }),
  }));
}
