/** What must hold however badly a server answers, judged when all is over. */
import { isConflict, shortBytes } from './answers.ts';
import type { BadServer, ConnectionLog, Sighting } from './bad-server.ts';
import { bodyOf } from './bytes.ts';
import type { Outcome } from './chaos-client.ts';

export const RULES = {
  unsettled: 'every request settles',
  'settled-twice': 'a request settles once',
  handler: 'a handler is told what happens in order',
  'wrong-answer': 'an answer goes to the request that it is for',
  'wrong-body': 'a body that was delivered is whole and right',
  'conflict-accepted': 'an answer with two lengths is not believed',
  'sent-twice': 'what is not idempotent is never sent again',
  'streamed-twice': 'a body that was streamed is never sent again',
  'not-alone': 'what is not idempotent, or streams its body, is sent when nothing is outstanding',
  'behind-non-idempotent': 'nothing is sent behind what is not idempotent before its status has come',
  'retry-not-alone': 'what is sent again is sent when nothing is outstanding',
  'behind-retry': 'nothing is sent behind what was sent again before its answer has come',
  'needless-retry': 'nothing is sent again because of what happened to another request',
  'innocent-failed': 'a request fails for what happened to itself only',
  'after-close': 'nothing is sent after "Connection: close"',
  malformed: 'only requests are sent',
  'close-hangs': 'close() and destroy() end',
  'socket-left': 'no connection is left',
} as const;

/** What was written so shortly before a connection's end may be unread. */
const UNREAD_MS = 100;
/** A request that has waited for so long may go elsewhere. */
const LONG_MS = 200;
/** For so long, at the least, an answer that nobody wants is waited for. */
const PATIENCE_MS = 90;

export type Rule = keyof typeof RULES;

export interface Violation {
  readonly rule: Rule;
  readonly detail: string;
}

export interface Judged {
  readonly violations: Violation[];
  /** Bodies that could not be judged, since the server had lied in a way that no client notices. */
  readonly excused: number;
}

function isTimeout(outcome: Outcome): boolean {
  return /UND_ERR_(HEADERS|BODY)_TIMEOUT/.test(outcome.error?.code ?? '');
}

function described(sighting: Sighting): string {
  const { id, method, attempt, connection, outstanding, behaviour } = sighting;
  const answer = behaviour ?? 'no answer yet';
  return `${method} ${id} (${answer}), attempt ${attempt} on connection ${connection.index} with ${outstanding} outstanding`;
}

/** @param brokenOff the end came while requests were under way, so that their failing says nothing */
export function judge(server: BadServer, outcomes: readonly Outcome[], brokenOff: boolean): Judged {
  const violations: Violation[] = [];
  const found = (rule: Rule, detail: string) => violations.push({ rule, detail });

  // A client gives a connection up, rightly, when an answer on it is late for the first in line.
  const givenUp = new Set<ConnectionLog>();
  let unplacedTimeout = false;
  for (const outcome of outcomes) {
    // Or when nobody wants an answer on it, and it has been waited for: what the server has written by then may not be read.
    if (outcome.gaveUp) {
      for (const { connection, doneAtMs } of server.sightingsOf(outcome.plan.id)) {
        const { endedAtMs } = connection;
        const isUnread = doneAtMs > endedAtMs - UNREAD_MS;
        if (isUnread && endedAtMs - outcome.gaveUpAtMs > PATIENCE_MS) givenUp.add(connection);
      }
    }
    if (!isTimeout(outcome)) continue;
    const sightings = server.sightingsOf(outcome.plan.id);
    if (sightings.length === 0) unplacedTimeout = true;
    for (const { connection } of sightings) givenUp.add(connection);
  }
  const sound = (connection: ConnectionLog) =>
    !connection.spoiled && !givenUp.has(connection) && !unplacedTimeout;

  for (const sighting of server.seen) {
    const what = described(sighting);
    if (sighting.attempt > 1) {
      const before = server.sightingsOf(sighting.id)[sighting.attempt - 2]!;
      if (!sighting.idempotent) found('sent-twice', what);
      if (sighting.streamed) found('streamed-twice', what);
      // A client may take one that has waited for long to a connection that has nothing to do.
      const isPrompt = sighting.atMs - before.atMs < LONG_MS;
      if (isPrompt && sound(before.connection))
        found('needless-retry', `${what}; before: ${described(before)}`);
    }
    // After a lie, what the client holds to be outstanding is not what is.
    if (sighting.afterLie) continue;
    if (sighting.attempt > 1 && sighting.outstanding > 0) found('retry-not-alone', what);
    if (sighting.behindRetry) found('behind-retry', what);
    if (sighting.behindNonIdempotent) found('behind-non-idempotent', what);
    if (sighting.outstanding > 0 && (!sighting.idempotent || sighting.streamed)) found('not-alone', what);
    if (sighting.afterClose) found('after-close', what);
  }
  for (const connection of server.connections) {
    if (connection.malformed !== null) found('malformed', connection.malformed);
  }

  let excused = 0;
  for (const outcome of outcomes) {
    const { id } = outcome.plan;
    if (outcome.settled > 1) found('settled-twice', id);
    for (const what of outcome.protocol) found('handler', `${id}: ${what}`);
    if (outcome.kind === 'pending') {
      found('unsettled', `${id}; ${server.sightingsOf(id).map(described).join(', ') || 'never seen'}`);
    }
    if (outcome.kind === 'failed' && !brokenOff && !isTimeout(outcome)) {
      const sightings = server.sightingsOf(id);
      const concerned = sightings.length > 0 ? sightings.map(s => s.connection) : server.connections;
      if (concerned.every(sound)) found('innocent-failed', `${id}: ${outcome.error?.stack}`);
    }
    if (outcome.kind !== 'delivered') continue;
    const wrong = delivered(server, outcome);
    if (wrong === null) continue;
    if (wrong === 'excused') excused++;
    else violations.push(wrong);
  }
  return { violations, excused };
}

/** Whether what was delivered is right: null if so. */
function delivered(server: BadServer, outcome: Outcome): Violation | 'excused' | null {
  const { id, method } = outcome.plan;
  const { body, echo, status } = outcome;
  const own = server.sightingsOf(id);
  const theirs = echo === null || echo === id ? [] : server.sightingsOf(echo);
  const concerned = own.length > 0 ? [...own, ...theirs].map(s => s.connection) : server.connections;
  const lied = concerned.some(connection => connection.lied);
  if (echo !== id) {
    return lied ? 'excused' : { rule: 'wrong-answer', detail: `${id} got ${echo}, status ${status}` };
  }
  const last = own.at(-1)!;
  if (last.behaviour !== null && isConflict(last.behaviour)) {
    return lied ? 'excused' : { rule: 'conflict-accepted', detail: described(last) };
  }
  if (body === null) return null;
  const whole = method === 'HEAD' || status === 204 || status === 304 ? Buffer.alloc(0) : bodyOf(id);
  if (body.equals(whole)) return null;
  const short = own.some(sighting => sighting.behaviour === 'length-too-short');
  if (short && body.equals(whole.subarray(0, shortBytes(id)))) return 'excused';
  if (lied) return 'excused';
  const detail = `${described(last)}: ${body.length} bytes for ${whole.length}`;
  return { rule: 'wrong-body', detail };
}
