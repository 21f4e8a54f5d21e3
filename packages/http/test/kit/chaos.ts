/** A chaotic client and a bad server, both from one seed. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Dispatcher } from 'undici';
import { BadServer } from './bad-server.ts';
import { type Outcome, pending, send } from './chaos-client.ts';
import { type EndPlan, planOf } from './chaos-plan.ts';
import { judge, RULES, type Violation } from './chaos-rules.ts';
import { POLICIES, type PolicyName, seededScript } from './script.ts';

export interface ChaosOptions {
  readonly seed: number;
  readonly makeDispatcher: (origin: string) => Dispatcher;
  /** @default 24 */
  readonly requests?: number;
  /** @default by the seed, each in turn */
  readonly policy?: PolicyName;
  /** By when everything must have settled: far longer than all timeouts of a run together. @default 8_000 */
  readonly settleMs?: number;
}

export interface ChaosResult {
  readonly seed: number;
  readonly policy: PolicyName;
  readonly requests: number;
  readonly violations: readonly Violation[];
  readonly counts: ChaosCounts;
}

export interface ChaosCounts {
  delivered: number;
  failed: number;
  aborted: number;
  /** Bodies that nobody can judge. */
  excused: number;
  /** Requests that arrived, each time. */
  seen: number;
  /** Those that arrived while another was outstanding on their connection. */
  pipelined: number;
  retried: number;
}

const CLOSE_MS = 4_000;

/** Resolves to whether the promise did, in time. */
async function inTime(promise: Promise<unknown>, ms: number): Promise<boolean> {
  const stop = new AbortController();
  const late = sleep(ms, false, { signal: stop.signal }).catch(() => false);
  const done = promise.then(
    () => true,
    () => true,
  );
  const first = await Promise.race([done, late]);
  stop.abort();
  return first;
}

function finish(dispatcher: Dispatcher, end: EndPlan): Promise<void> {
  return end.by === 'close' ? dispatcher.close() : dispatcher.destroy(new Error('destroyed by the test'));
}

export async function runChaos(options: ChaosOptions): Promise<ChaosResult> {
  const { seed, makeDispatcher, requests = 24, settleMs = 8_000 } = options;
  const names = Object.keys(POLICIES) as PolicyName[];
  const policy = options.policy ?? names[seed % names.length]!;
  const plan = planOf(seed, requests);
  const violations: Violation[] = [];
  await using server = await BadServer.listen(seededScript(seed, POLICIES[policy]));
  const dispatcher = makeDispatcher(server.origin);

  const outcomes: Outcome[] = plan.requests.map(pending);
  const sent = outcomes.map(async outcome => {
    if (outcome.plan.startMs > 0) await sleep(outcome.plan.startMs);
    await send(dispatcher, outcome.plan, outcome);
  });
  let ended: Promise<unknown> | undefined;
  let brokenOff = false;
  if (plan.end.when !== 'settled') {
    await Promise.race([Promise.all(sent), sleep(plan.end.when.amidMs)]);
    brokenOff = outcomes.some(outcome => outcome.kind === 'pending');
    ended = finish(dispatcher, plan.end);
  }
  await inTime(Promise.all(sent), settleMs);
  const judged = judge(server, outcomes, brokenOff);
  violations.push(...judged.violations);

  if (!(await inTime(ended ?? finish(dispatcher, plan.end), CLOSE_MS))) {
    violations.push({ rule: 'close-hangs', detail: `${plan.end.by}()` });
  }
  const left = () => server.connections.filter(connection => !connection.ended);
  for (let tries = 0; left().length > 0 && tries < 200; tries++) await sleep(5);
  for (const { index } of left()) violations.push({ rule: 'socket-left', detail: `connection ${index}` });
  // So that one run which fails does not make the next one fail.
  await inTime(dispatcher.destroy(), CLOSE_MS);

  const kinds = (kind: Outcome['kind']) => outcomes.filter(outcome => outcome.kind === kind).length;
  const counts: ChaosCounts = {
    delivered: kinds('delivered'),
    failed: kinds('failed'),
    aborted: kinds('aborted'),
    excused: judged.excused,
    seen: server.seen.length,
    pipelined: server.seen.filter(sighting => sighting.outstanding > 0).length,
    retried: server.seen.filter(sighting => sighting.attempt > 1).length,
  };
  return { seed, policy, requests, violations, counts };
}

/** Runs many seeds, so many at a time, and hands each result over as it comes. */
export async function runSeeds(
  seeds: Iterable<number>,
  atOnce: number,
  options: Omit<ChaosOptions, 'seed'>,
  onResult: (result: ChaosResult) => void,
): Promise<void> {
  const next = seeds[Symbol.iterator]();
  const runner = async () => {
    for (let item = next.next(); !item.done; item = next.next()) {
      onResult(await runChaos({ ...options, seed: item.value }));
    }
  };
  await Promise.all(Array.from({ length: atOnce }, runner));
}

export function addCounts(sum: ChaosCounts, counts: ChaosCounts): void {
  for (const name of Object.keys(sum) as (keyof ChaosCounts)[]) sum[name] += counts[name];
}

export function noCounts(): ChaosCounts {
  return { delivered: 0, failed: 0, aborted: 0, excused: 0, seen: 0, pipelined: 0, retried: 0 };
}

/** One line that does it again, and what went wrong. */
export function report(result: ChaosResult): string {
  const { seed, policy, requests, violations } = result;
  const again = `again: npx node --conditions=hotlane-source packages/http/test/chaos-main.ts --from ${seed} --seeds 1 --policy ${policy} --requests ${requests}`;
  return [again, ...violations.map(({ rule, detail }) => `  ${RULES[rule]} (${rule}): ${detail}`)].join('\n');
}
