import { shuffled } from '../harness/random.ts';
import { type Summary, summarise } from '../harness/stats.ts';
import { contenders, whyMissing } from './contenders/all.ts';
import { openLoopback } from './loopback.ts';
import { PLAIN } from './mixes.ts';
import type { Network } from './network/network.ts';
import type { ServerKind } from './server/start-server.ts';
import { type Shelf, Site } from './site.ts';

/** Small responses, as fast as they come. */
export interface RateResult {
  /** Which network. */
  readonly over: string;
  readonly contender: string;
  readonly name: string;
  readonly perSecond: Summary;
}

export interface RateOptions {
  readonly shelf: Shelf;
  readonly server: ServerKind;
  readonly rounds: number;
  readonly windows: number;
  readonly windowMs: number;
  readonly random: () => number;
  readonly openLan: () => Promise<Network>;
  readonly onStart: (what: string) => void;
}

export const RATE_PATH = '/bytes/1k';
export const RATE_BYTES = 1024;
const IN_FLIGHT = 64;
const CONTENDERS = ['ours', 'pool-as-is', 'pool-free'];
/** Four connections with so many each are all that are in flight. */
const QUOTA = 16;

/** Requests per second over a fast network and over none, contenders in turns. */
export async function measureRates(options: RateOptions): Promise<RateResult[]> {
  const { shelf, server, rounds, windows, windowMs, random, openLan, onStart } = options;
  const there: string[] = [];
  for (const name of CONTENDERS) if ((await whyMissing(contenders[name]!)) === null) there.push(name);
  const results: RateResult[] = [];
  for (const [over, open] of [
    ['LAN', openLan],
    ['loopback', async () => openLoopback()],
  ] as const) {
    await using site = await Site.open({
      network: await open(),
      shelf,
      mixes: [PLAIN],
      server,
      http2: false,
    });
    const found = new Map(there.map(name => [name, [] as number[]]));
    for (let round = 0; round < rounds; round++) {
      for (const contender of shuffled(there, random)) {
        onStart(`${contenders[contender]!.name} over ${over}`);
        const origin = await site.origin(PLAIN.name, contender);
        const { perSecond } = await site.loader.rate({
          origin,
          path: RATE_PATH,
          contender,
          quota: QUOTA,
          inFlight: IN_FLIGHT,
          warmUpMs: windows * windowMs,
          windows,
          windowMs,
        });
        found.get(contender)!.push(perSecond);
      }
    }
    for (const [contender, values] of found)
      results.push({ over, contender, name: contenders[contender]!.name, perSecond: summarise(values) });
  }
  return results;
}
