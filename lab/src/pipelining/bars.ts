import type { Verdict } from '../harness/judge.ts';
import { median, summarise } from '../harness/stats.ts';
import { type Figures, type Run, type Setting, settingKey } from './cells.ts';
import type { RateResult } from './rates.ts';

/** What is judged beside the runs: what they are compared with. */
export interface Grounds {
  readonly runs: readonly Run[];
  readonly rates: readonly RateResult[];
  /** The wire's floor for a setting, in milliseconds. */
  readonly floorMs: (setting: Setting) => number;
  /** Whether the page has more objects at once than all connections take. */
  readonly exhausts: (setting: Setting) => boolean;
  /** Whether ours is compared with that contender. */
  readonly isPeer: (contender: string) => boolean;
}

/** One bar on one setting. */
export interface BarCell {
  readonly where: string;
  /** The median of the rounds, and the worst and best round. */
  readonly got: number;
  readonly worst: number;
  readonly best: number;
}

export interface PipeliningBar {
  readonly what: string;
  /** The least that it must be. */
  readonly wanted: number;
  readonly over: 'every cell' | 'the median cell';
  readonly cells: readonly BarCell[];
  /** Of the worst cell, or the median one. */
  readonly got: number;
  readonly where: string;
  readonly verdict: Verdict;
}

const SUBJECT = 'ours';
const BASELINE = 'one-for-one';

/** A share that a time is shorter by, as a ratio of the longer to the shorter. */
const fasterBy = (share: number) => 1 / (1 - share);
const notSlowerThan = (share: number) => 1 / (1 + share);

/** The study's bars. Values are how many times better ours is; of the gap, the share that it closes. */
export function judgePipelining(grounds: Grounds): PipeliningBar[] {
  const settings = uniqueSettings(grounds.runs);
  const edge = settings.filter(one => one.profile.startsWith('edge-') && one.lossPercent === 0);
  const plain = edge.filter(one => one.mix === 'plain');
  const slow = edge.filter(one => one.mix !== 'plain');
  const exhausted = plain.filter(grounds.exhausts);
  const against =
    (contender: string, figure: keyof Figures = 'loadMs') =>
    (setting: Setting) =>
      paired(grounds.runs, setting, contender).map(([ours, theirs]) => theirs[figure] / ours[figure]);
  const gapClosed = (setting: Setting) => {
    const floor = grounds.floorMs(setting);
    return paired(grounds.runs, setting, BASELINE).map(
      ([ours, theirs]) => (theirs.loadMs - ours.loadMs) / (theirs.loadMs - floor),
    );
  };
  const every = 'every cell' as const;
  const mid = 'the median cell' as const;
  return [
    bar('EDGE: never slower than one for one', 1, every, edge, against(BASELINE)),
    bar(
      'EDGE, where the page exhausts the depth: 10 % faster than one for one',
      fasterBy(0.1),
      every,
      exhausted,
      against(BASELINE),
    ),
    bar(
      'EDGE, there: half of the gap from one for one to the floor closed',
      0.5,
      every,
      exhausted,
      gapClosed,
    ),
    bar('EDGE: 3 % fewer packets than one for one', fasterBy(0.03), mid, plain, against(BASELINE, 'packets')),
    bar('EDGE: 20 % faster than undici Pool with pipelining', fasterBy(0.2), mid, edge, against('pool')),
    bar(
      'EDGE: never 3 % slower than Pool with blocking: false',
      notSlowerThan(0.03),
      every,
      edge,
      against('pool-free'),
    ),
    bar(
      'EDGE, slow responses: 10 % faster than Pool with blocking: false',
      fasterBy(0.1),
      mid,
      slow,
      against('pool-free'),
    ),
    bar(
      'within 3 % of the best contender',
      notSlowerThan(0.03),
      every,
      settings.filter(one => one.lossPercent === 0),
      setting => againstBest(grounds, setting),
    ),
    rateBar(grounds.rates),
  ];
}

function uniqueSettings(runs: readonly Run[]): Setting[] {
  return [...new Map(runs.map(({ setting }) => [settingKey(setting), setting])).values()];
}

/** Figures of ours and of another, of the rounds that have both. */
function paired(
  runs: readonly Run[],
  setting: Setting,
  contender: string,
): [ours: Figures, theirs: Figures][] {
  const ours = figuresOf(runs, setting, SUBJECT);
  const theirs = figuresOf(runs, setting, contender);
  return [...ours].flatMap(([round, figures]) => {
    const other = theirs.get(round);
    return other === undefined ? [] : [[figures, other] as [Figures, Figures]];
  });
}

function figuresOf(runs: readonly Run[], setting: Setting, contender: string): Map<number, Figures> {
  const key = settingKey(setting);
  return new Map(
    runs.flatMap(run =>
      run.contender === contender && run.figures !== null && settingKey(run.setting) === key
        ? [[run.round, run.figures]]
        : [],
    ),
  );
}

/** Against whichever other contender has the best median there. */
function againstBest({ runs, isPeer }: Grounds, setting: Setting): number[] {
  const others = [...new Set(runs.map(run => run.contender))].filter(
    name => name !== SUBJECT && isPeer(name),
  );
  const medians = others.flatMap(name => {
    const loads = [...figuresOf(runs, setting, name).values()].map(({ loadMs }) => loadMs);
    return loads.length === 0 ? [] : [{ name, loadMs: median(loads) }];
  });
  const best = medians.sort((a, b) => a.loadMs - b.loadMs)[0];
  if (best === undefined) return [];
  return paired(runs, setting, best.name).map(([ours, theirs]) => theirs.loadMs / ours.loadMs);
}

function rateBar(rates: readonly RateResult[]): PipeliningBar {
  const cells = rates
    .filter(({ contender }) => contender === 'pool-as-is' || contender === 'pool-free')
    .flatMap(other => {
      const ours = rates.find(({ contender, over }) => contender === SUBJECT && over === other.over);
      if (ours === undefined) return [];
      const ratios = ours.perSecond.values.map((rate, round) => rate / other.perSecond.values[round]!);
      return [cellOf(`${other.over}, against ${other.name}`, ratios)];
    });
  return judged('LAN and loopback: as many requests/s as undici Pool', 1, 'every cell', cells);
}

function bar(
  what: string,
  wanted: number,
  over: PipeliningBar['over'],
  settings: readonly Setting[],
  values: (setting: Setting) => number[],
): PipeliningBar {
  const cells = settings.flatMap(setting => {
    const rounds = values(setting);
    return rounds.length === 0 ? [] : [cellOf(settingKey(setting), rounds)];
  });
  return judged(what, wanted, over, cells);
}

function cellOf(where: string, rounds: readonly number[]): BarCell {
  const { median: got, min: worst, max: best } = summarise(rounds);
  return { where, got, worst, best };
}

function judged(
  what: string,
  wanted: number,
  over: PipeliningBar['over'],
  cells: readonly BarCell[],
): PipeliningBar {
  const ascending = [...cells].sort((a, b) => a.got - b.got);
  const one = over === 'every cell' ? ascending[0] : ascending[ascending.length >> 1];
  if (one === undefined)
    return { what, wanted, over, cells, got: Number.NaN, where: '', verdict: 'not measured' };
  const got = over === 'every cell' ? one.got : median(cells.map(cell => cell.got));
  const reached = (pick: (cell: BarCell) => number) =>
    over === 'every cell' ? cells.every(cell => pick(cell) >= wanted) : median(cells.map(pick)) >= wanted;
  const verdict = reached(cell => cell.got)
    ? 'met'
    : reached(cell => cell.best)
      ? 'missed within the spread'
      : 'missed';
  const where = over === 'every cell' ? one.where : `the median of ${cells.length}`;
  return { what, wanted, over, cells, got, where, verdict };
}
