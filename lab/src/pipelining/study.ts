import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { UsageError } from '../harness/cli.ts';
import { describeCommand, describeMachine, printableMachine } from '../harness/machine.ts';
import { createProgress } from '../harness/progress.ts';
import { seededRandom, shuffled } from '../harness/random.ts';
import { median } from '../harness/stats.ts';
import { judgePipelining } from './bars.ts';
import { type Group, needsQuiet, planGroups, type Run, runKey, type Setting, STUDY_QUOTA } from './cells.ts';
import { contenders, whyMissing } from './contenders/all.ts';
import { CONNECTIONS } from './contenders/contender.ts';
import { floorMs } from './floor.ts';
import { PLAIN } from './mixes.ts';
import { canEmulate, openNetwork } from './network/network.ts';
import { PROFILES, type Profile } from './network/profiles.ts';
import { type Options, readOptions } from './options.ts';
import { pageBytes } from './pages/page.ts';
import { exhausts, wavesOf } from './pages/waves.ts';
import { measureRates, type RateResult } from './rates.ts';
import { renderPipeliningHtml } from './report/html.ts';
import { renderPipeliningText } from './report/text.ts';
import { choosePictures, type PipeliningResults, summariseCells } from './results.ts';
import { findNginx, hasOpenssl } from './server/start-server.ts';
import { fillShelf } from './shelf.ts';
import { compareSideBySide, type SideBySide } from './side-by-side.ts';
import { type Shelf, Site } from './site.ts';
import { runStrands } from './strands.ts';

/** The two that are drawn packet by packet, as the study drew what was and what it proposed. */
const DRAWN = ['one-for-one', 'ours'] as const;
const LOAD_TIMEOUT_MS = 300_000;
/** Heads of responses, when no run says how long they were. */
const HEADER_BYTES = 240;

/**
 * Redoes the study of 2008 on pipelining, as a command: pages are loaded over emulated networks by several ways to
 * bring requests onto connections.
 *
 * @param args as given on the command line
 * @returns the exit code: 1 when a page did not load, or a bar was missed by more than the spread
 * @throws UsageError
 */
export async function runPipelining(args: readonly string[]): Promise<number> {
  const options = readOptions(args);
  if (options === null) return 0;
  if (options.server === 'nginx' && findNginx() === null)
    throw new UsageError(
      'There is no nginx here; Debian has it as nginx-light. `--server node` does without.',
    );
  const folder = await mkdtemp(join(tmpdir(), 'hotlane-pipelining-'));
  // Processes end with this one; files would stay.
  const leave = (signal: NodeJS.Signals) => {
    rmSync(folder, { recursive: true, force: true });
    process.exit(128 + constants.signals[signal]);
  };
  process.once('SIGINT', leave).once('SIGTERM', leave);
  try {
    return await runOn(fillShelf(folder, options.pages), options);
  } finally {
    process.off('SIGINT', leave).off('SIGTERM', leave);
    await rm(folder, { recursive: true, force: true });
  }
}

async function runOn(shelf: Shelf, options: Options): Promise<number> {
  const { mode, out, seed } = options;
  const startedAt = new Date().toISOString();
  const machine = describeMachine([
    'undici',
    'hotlane',
    'famfamfam-silk',
    'yui2',
    'startbootstrap-agency',
    'flag-icons',
  ]);
  const able = await canEmulate();
  const emulates = able === true;
  process.stdout.write(
    `${printableMachine(machine, describeCommand())}\norder     seed ${seed}, mode ${mode}, ${options.networks} networks at once, server ${options.server}\n${emulates ? '' : `packets   none are counted: ${able}\n`}\n`,
  );

  const http2 = options.server === 'nginx' && hasOpenssl();
  const who: string[] = [];
  for (const name of options.contenders) {
    const { isHttp2 } = contenders[name]!;
    const why = isHttp2 && !http2 ? 'it takes nginx and openssl' : await whyMissing(contenders[name]!);
    if (why === null) who.push(name);
    else process.stderr.write(`${contenders[name]!.name} is left out: ${why}\n`);
  }

  const choice = { ...options, pages: shelf.pages, contenders: who };
  const groups = planGroups({
    ...choice,
    lossPercents: emulates ? options.lossPercents : options.lossPercents.filter(percent => percent === 0),
  });
  if (groups.length === 0) throw new UsageError('Of what was chosen, nothing is to be measured.');

  mkdirSync(out, { recursive: true });
  const log = join(out, 'runs.jsonl');
  const runs: Run[] = options.resume && existsSync(log) ? readRuns(log) : [];
  if (!options.resume) writeFileSync(log, '');
  const done = new Set(runs.map(runKey));
  const record = (run: Run) => {
    runs.push(run);
    appendFileSync(log, `${JSON.stringify(run)}\n`);
  };

  const open = async (profile: Profile): Promise<Site> => {
    const site = await Site.open({
      network: await openNetwork({ profile, lossPercent: 0, seed: 0 }),
      shelf,
      mixes: options.mixes.some(mix => mix.name === PLAIN.name) ? options.mixes : [PLAIN, ...options.mixes],
      server: options.server,
      http2,
    });
    // The first load finds a cold server, which shows where a load takes little.
    if (profile === PROFILES.lan) {
      const setting = {
        profile: profile.name,
        page: shelf.pages[0]!.name,
        mix: PLAIN.name,
        lossPercent: 0,
        quota: 1,
      };
      await site.load(setting, 'none', profile, LOAD_TIMEOUT_MS);
    }
    return site;
  };

  const random = seededRandom(seed);
  const networks = Math.min(options.networks, groups.length);
  const progress = createProgress();

  let sideBySide: SideBySide | null = null;
  if (options.control && networks > 1) {
    progress.begin('side by side', 1);
    const profile = [...options.profiles].sort((a, b) => a.downKbit - b.downKbit)[0]!;
    const page = shelf.pages[0]!.name;
    const setting = { profile: profile.name, page, mix: PLAIN.name, lossPercent: 0, quota: STUDY_QUOTA };
    sideBySide = await compareSideBySide(networks, setting, profile, () => open(profile), LOAD_TIMEOUT_MS);
    progress.end();
  }

  progress.begin(
    'loads',
    groups.reduce((sum, group) => sum + group.contenders.length, 0),
  );
  let count = 0;
  const work = (these: readonly Group[], atOnce: number) =>
    runStrands({
      groups: inRounds(these, random),
      networks: atOnce,
      open: name => open(profileOf(name)),
      run: async (site, { setting, round, contenders: its }) => {
        for (const contender of shuffled(its, random)) {
          const what = `${setting.profile}, ${setting.page}, ${setting.mix}: ${contenders[contender]!.name}`;
          progress.update(count++, what);
          if (done.has(runKey({ setting, contender, round }))) continue;
          record(await runOnce(site, setting, contender, round, seed));
        }
      },
    });
  const quiet = groups.filter(({ setting }) => needsQuiet(setting));
  await work(quiet, 1);
  await work(
    groups.filter(group => !quiet.includes(group)),
    networks,
  );
  progress.end();

  let rates: RateResult[] = [];
  if (options.rate) {
    progress.begin('requests per second', 1);
    rates = await measureRates({
      shelf,
      server: options.server,
      rounds: mode === 'full' ? 5 : 2,
      windows: 5,
      windowMs: mode === 'full' ? 200 : 80,
      random,
      openLan: () => openNetwork({ profile: PROFILES.lan, lossPercent: 0, seed: 0 }),
      onStart: what => progress.update(0, what),
    });
    progress.end();
  }

  const results = conclude({
    options,
    shelf,
    runs,
    rates,
    sideBySide,
    machine,
    startedAt,
    noPackets: emulates ? null : able,
  });
  const text = renderPipeliningText(results);
  process.stdout.write(`${text}\n`);
  if (mode === 'smoke')
    process.stdout.write('This was a smoke run: it shows that everything runs; its figures mean nothing.\n');
  const head = printableMachine(machine, results.command);
  writeFileSync(join(out, 'results.json'), `${JSON.stringify(results, null, 1)}\n`);
  writeFileSync(join(out, 'table.txt'), `${head}\n\n${text}\n`);
  writeFileSync(join(out, 'report.html'), renderPipeliningHtml(results));
  process.stderr.write(`results.json, table.txt, runs.jsonl and report.html are in ${out}\n`);
  if (results.cells.some(cell => cell.failures.length > 0)) return 1;
  return mode !== 'smoke' && results.bars.some(bar => bar.verdict === 'missed') ? 1 : 0;
}

async function runOnce(
  site: Site,
  setting: Setting,
  contender: string,
  round: number,
  seed: number,
): Promise<Run> {
  const base = { setting, contender, round };
  try {
    // Each round has losses of its own, which are the same for all contenders.
    if (setting.lossPercent > 0) await site.network.setLoss(setting.lossPercent, seed + round);
    const { figures, stats, packets } = await site.load(
      setting,
      contender,
      profileOf(setting.profile),
      LOAD_TIMEOUT_MS,
    );
    return { ...base, figures, stats, failure: null, packets: isDrawn(setting, contender) ? packets : null };
  } catch (error) {
    const failure = error instanceof Error ? error.message : String(error);
    return { ...base, figures: null, stats: null, failure, packets: null };
  }
}

function isDrawn({ profile, mix, lossPercent, quota, page }: Setting, contender: string): boolean {
  const isStudys = profile.startsWith('edge-') || profile === 'lan';
  return (
    isStudys &&
    mix === PLAIN.name &&
    lossPercent === 0 &&
    quota === STUDY_QUOTA &&
    page !== 'agency' &&
    DRAWN.some(one => one === contender)
  );
}

/** Rounds one after the other, each in an order of its own. */
function inRounds(groups: readonly Group[], random: () => number): Group[] {
  const rounds = Map.groupBy(groups, group => group.round);
  return [...rounds.values()].flatMap(round => shuffled(round, random));
}

function profileOf(name: string): Profile {
  return PROFILES[name as keyof typeof PROFILES];
}

function readRuns(log: string): Run[] {
  return readFileSync(log, 'utf8')
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line) as Run);
}

interface Found {
  readonly options: Options;
  readonly shelf: Shelf;
  readonly runs: readonly Run[];
  readonly rates: readonly RateResult[];
  readonly sideBySide: SideBySide | null;
  readonly machine: PipeliningResults['machine'];
  readonly startedAt: string;
  readonly noPackets: string | null;
}

function conclude({
  options,
  shelf,
  runs,
  rates,
  sideBySide,
  machine,
  startedAt,
  noPackets,
}: Found): PipeliningResults {
  const pageOf = (name: string) => shelf.pages.find(page => page.name === name)!;
  const floor = (setting: Setting) => {
    const heads = runs.flatMap(run =>
      run.setting.page === setting.page && contenders[run.contender]!.isPeer
        ? (run.figures?.headerBytes ?? [])
        : [],
    );
    const page = pageOf(setting.page);
    const headerBytes = heads.length > 0 ? median(heads) : page.objects.length * HEADER_BYTES;
    return floorMs(profileOf(setting.profile), pageBytes(page) + headerBytes);
  };
  const place = ({ profile, page, mix, lossPercent, quota }: Setting) => [
    lossPercent,
    options.profiles.findIndex(one => one.name === profile),
    shelf.pages.findIndex(one => one.name === page),
    options.mixes.findIndex(one => one.name === mix),
    quota,
  ];
  const inOrder = [...runs].sort((a, b) => compare(place(a.setting), place(b.setting)));
  const known = new Set([...runs, ...rates].map(({ contender }) => contender));
  return {
    schema: 'hotlane-pipelining-1',
    startedAt,
    command: describeCommand(),
    mode: options.mode,
    seed: options.seed,
    networks: options.networks,
    server: options.server,
    noPackets,
    machine,
    profiles: options.profiles.map(one => ({ name: one.name, title: one.title, settings: settingsOf(one) })),
    pages: shelf.pages.map(page => ({
      name: page.name,
      title: page.title,
      objects: page.objects.length,
      bytes: pageBytes(page),
      waves: wavesOf(page),
    })),
    mixes: options.mixes.map(({ name, title }) => ({ name, title })),
    contenders: Object.fromEntries(
      Object.entries(contenders).flatMap(([key, { name, settings }]) =>
        known.has(key) ? [[key, { name, settings }]] : [],
      ),
    ),
    cells: summariseCells(inOrder, floor),
    rates,
    sideBySide,
    bars: judgePipelining({
      runs,
      rates,
      floorMs: floor,
      exhausts: ({ page, quota }) => exhausts(pageOf(page), CONNECTIONS, quota),
      isPeer: name => contenders[name]!.isPeer,
    }),
    pictures: choosePictures(inOrder, DRAWN),
  };
}

function compare(a: readonly number[], b: readonly number[]): number {
  const at = a.findIndex((value, i) => value !== b[i]);
  return at === -1 ? 0 : a[at]! - b[at]!;
}

function settingsOf({ downKbit, upKbit, rttMs, initcwnd, congestion }: Profile): string {
  const window = initcwnd === null ? '' : `, first window ${initcwnd} segments`;
  return `${downKbit} kbit/s down, ${upKbit} up, ${rttMs} ms round trip${window}${congestion === null ? '' : `, ${congestion}`}`;
}
