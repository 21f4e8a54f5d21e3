import { join } from 'node:path';
import { type Flags, type Given, parseFlags, renderHelp, UsageError, wholeNumber } from '../harness/cli.ts';
import { repository } from '../harness/machine.ts';
import type { ModeName } from '../harness/modes.ts';
import { freshSeed } from '../harness/random.ts';
import { contenders } from './contenders/all.ts';
import { type Mix, mixes, parseMix } from './mixes.ts';
import { PROFILES, type Profile } from './network/profiles.ts';
import { pages } from './pages/all.ts';
import type { ServerKind } from './server/start-server.ts';

export interface Options {
  readonly mode: ModeName;
  readonly profiles: readonly Profile[];
  /** Names. */
  readonly pages: readonly string[];
  readonly mixes: readonly Mix[];
  readonly contenders: readonly string[];
  readonly quotas: readonly number[];
  readonly lossPercents: readonly number[];
  readonly rounds: number;
  /** Rounds of what takes a tenth of a second. */
  readonly quietRounds: number;
  readonly seeds: number;
  /** Networks that are in use at once. */
  readonly networks: number;
  /** Contenders that are loaded one after the other on one network. */
  readonly inTurn: number;
  readonly server: ServerKind;
  readonly seed: number;
  readonly out: string;
  readonly resume: boolean;
  /** Whether to look how much networks in use at once slow each other. */
  readonly control: boolean;
  /** Whether requests per second are measured. */
  readonly rate: boolean;
}

const FLAGS: Flags = {
  quick: { help: 'Few settings, one or two rounds: at most two minutes.' },
  smoke: { help: 'One load for each contender: only checks that everything runs. Its figures mean nothing.' },
  profile: {
    value: 'NAME',
    multiple: true,
    help: 'Only this network; can be repeated, as can the next six.',
  },
  page: { value: 'NAME', multiple: true, help: 'Only this page.' },
  mix: { value: 'NAME', multiple: true, help: 'Only these slow responses, or EVERY:MS as in 8:1000.' },
  contender: { value: 'NAME', multiple: true, help: 'Only this one.' },
  quota: {
    value: 'N',
    multiple: true,
    help: 'Requests that a connection may have outstanding. Default: 2, 4, 8, 16.',
  },
  loss: { value: 'PERCENT', multiple: true, help: 'Packets lost in each direction. Default: 0, 0.5, 2.' },
  rounds: { value: 'N', help: 'How often each setting without loss is loaded.' },
  seeds: { value: 'N', help: 'How often each with loss, each time with other losses. Default: 20.' },
  networks: { value: 'N', help: 'Emulated networks in use at once. Default: 4; quick: 8.' },
  server: { value: 'KIND', help: 'nginx, with slow responses behind it, or node. Default: nginx.' },
  seed: { value: 'N', help: 'Repeats an order, and losses.' },
  out: { value: 'DIR', help: 'Where results go. Default: lab/out/pipelining.' },
  resume: { help: 'Goes on with the loads that are in DIR already.' },
};

interface Defaults {
  readonly profiles: readonly string[];
  readonly pages: readonly string[];
  readonly mixes: readonly string[];
  readonly contenders: readonly string[];
  readonly quotas: readonly number[];
  readonly lossPercents: readonly number[];
  readonly rounds: number;
  readonly networks: number;
}

const EVERYTHING: Defaults = {
  profiles: Object.keys(PROFILES),
  pages: Object.keys(pages),
  mixes: Object.keys(mixes),
  // One that takes as many connections as it likes is measured by its requests per second only.
  contenders: Object.keys(contenders).filter(name => name !== 'pool-as-is'),
  quotas: [2, 4, 8, 16],
  lossPercents: [0, 0.5, 2],
  rounds: 3,
  networks: 4,
};

const DEFAULTS: Readonly<Record<ModeName, Defaults>> = {
  full: EVERYTHING,
  quick: {
    ...EVERYTHING,
    profiles: ['edge-400', 'lan'],
    pages: ['wiki', 'portal'],
    mixes: ['plain', 'slow-8'],
    contenders: ['one-for-one', 'ours', 'pool', 'pool-free'],
    quotas: [4],
    lossPercents: [0],
    rounds: 1,
    networks: 8,
  },
  smoke: {
    ...EVERYTHING,
    profiles: ['lan'],
    pages: ['wiki'],
    mixes: ['plain'],
    quotas: [4],
    lossPercents: [0],
    rounds: 1,
    networks: 1,
  },
};

/**
 * @returns null when the help was asked for, and printed
 * @throws UsageError
 */
export function readOptions(args: readonly string[]): Options | null {
  const given = parseFlags(args, FLAGS);
  if (given.has('help')) {
    process.stdout.write(
      `${renderHelp('What pipelines that are kept full are worth', 'npm run lab -- pipelining [options]', FLAGS)}\n` +
        `Networks: ${Object.keys(PROFILES).join(', ')}.\nPages: ${Object.keys(pages).join(', ')}.\n` +
        `Slow responses: ${Object.keys(mixes).join(', ')}.\nContenders: ${Object.keys(contenders).join(', ')}.\n`,
    );
    return null;
  }
  if (given.has('quick') && given.has('smoke'))
    throw new UsageError('Give `--quick` or `--smoke`, not both.');
  const mode: ModeName = given.has('smoke') ? 'smoke' : given.has('quick') ? 'quick' : 'full';
  const defaults = DEFAULTS[mode];
  const server = given.get('server')?.[0] ?? 'nginx';
  if (server !== 'nginx' && server !== 'node')
    throw new UsageError(`\`--server\`: expected nginx or node, got \`${server}\`.`);
  const rounds = wholeNumber(given, 'rounds', 1, 1000) ?? defaults.rounds;
  const profiles = names(given, 'profile', Object.keys(PROFILES), defaults.profiles);
  return {
    mode,
    profiles: profiles.map(name => PROFILES[name as keyof typeof PROFILES]),
    pages: names(given, 'page', Object.keys(pages), defaults.pages),
    mixes: (given.get('mix') ?? defaults.mixes).map(parseMix),
    contenders: names(given, 'contender', Object.keys(contenders), defaults.contenders),
    quotas: numbers(given, 'quota', 1, 1000, defaults.quotas),
    lossPercents: numbers(given, 'loss', 0, 50, defaults.lossPercents),
    rounds,
    quietRounds: mode === 'smoke' ? rounds : rounds * 5,
    seeds: wholeNumber(given, 'seeds', 1, 10_000) ?? 20,
    networks: wholeNumber(given, 'networks', 1, 64) ?? defaults.networks,
    // Two and two side by side: otherwise it would take longer than it may.
    inTurn: mode === 'quick' ? 2 : Number.POSITIVE_INFINITY,
    server,
    seed: wholeNumber(given, 'seed', 0, 2 ** 31) ?? freshSeed(),
    out: given.get('out')?.[0] ?? join(repository, 'lab/out/pipelining'),
    resume: given.has('resume'),
    control: mode !== 'smoke',
    rate: mode !== 'smoke' && profiles.includes('lan'),
  };
}

function names(
  given: Given,
  flag: string,
  known: readonly string[],
  otherwise: readonly string[],
): readonly string[] {
  const wanted = given.get(flag);
  if (wanted === undefined) return otherwise;
  for (const one of wanted) {
    if (!known.includes(one))
      throw new UsageError(`\`--${flag}\`: there is no \`${one}\`. Known are ${known.join(', ')}.`);
  }
  return known.filter(one => wanted.includes(one));
}

function numbers(
  given: Given,
  flag: string,
  least: number,
  most: number,
  otherwise: readonly number[],
): readonly number[] {
  return (
    given.get(flag)?.map(text => {
      const value = Number(text);
      if (!/^\d+(\.\d+)?$/.test(text) || value < least || value > most)
        throw new UsageError(`\`--${flag}\`: expected a number from ${least} to ${most}, got \`${text}\`.`);
      return value;
    }) ?? otherwise
  );
}
