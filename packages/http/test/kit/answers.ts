/** The bytes of every answer, good and bad, that the bad server knows. */
import type { Random } from 'hotlane/testing';
import { bodyOf } from './bytes.ts';

/** Answers after which a connection is as good as before. */
export const GOOD = [
  'plain',
  'chunked',
  'trailers',
  'empty',
  'unchanged',
  'late',
  'pieces',
  'hints',
] as const;

/** Answers that end a connection, or make it useless, or that no client has to put up with. */
export const BAD = [
  'until-close',
  'http-1.0',
  'close-told',
  'fin-after',
  'reset-after',
  'half-close-after',
  'fin-in-head',
  'reset-in-head',
  'fin-in-body',
  'reset-in-body',
  'stall-before',
  'stall-in-head',
  'stall-in-body',
  'swapped',
  'doubled',
  'garbage-before',
  'garbage-after',
  'length-too-short',
  'length-too-long',
  'two-lengths',
  'length-and-chunked',
  'continue',
  'flood',
  'unasked-after',
] as const;

export type Behaviour = (typeof GOOD)[number] | (typeof BAD)[number];

/** What comes after the bytes. */
export type Then = 'next' | 'fin' | 'reset' | 'half-close' | 'stall' | 'flood' | 'unasked';

export interface Answer {
  readonly bytes: Buffer;
  /** When so many bytes are out, a client may know the final status. */
  readonly statusAt: number;
  /** When so many are out, a client may hold the answer to be complete. */
  readonly doneAt: number;
  readonly beforeMs: number;
  /** How long the pieces are that it is written in; null: all at once. */
  readonly pieceBytes: (() => number) | null;
  readonly then: Then;
}

/** An answer that nobody asked for, as servers send it to a connection that idles. */
export const UNASKED = Buffer.from(
  'HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 7\r\n\r\ntimeout',
);
export const HINT = Buffer.from('HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n');
const CONTINUE = Buffer.from('HTTP/1.1 100 Continue\r\n\r\n');
const GARBAGE = Buffer.from('\x00\x01these are not the bytes that you wait for\xff');

export function isGood(behaviour: Behaviour): boolean {
  return (GOOD as readonly Behaviour[]).includes(behaviour);
}

/** Whether a client that pairs answers in order may take one for another, and cannot know. */
export function isLie(behaviour: Behaviour): boolean {
  return behaviour === 'swapped' || behaviour === 'doubled' || behaviour === 'unasked-after';
}

/** Two lengths in one answer: whoever believes either can be made to believe anything about what follows. */
export function isConflict(behaviour: Behaviour): boolean {
  return behaviour === 'two-lengths' || behaviour === 'length-and-chunked';
}

/** How many bytes of its body an answer has whose length says less than it sends. */
export function shortBytes(id: string): number {
  return bodyOf(id).length >> 1;
}

const WITHOUT_BODY: Partial<Record<Behaviour, Behaviour>> = {
  'until-close': 'fin-after',
  'fin-in-body': 'fin-in-head',
  'reset-in-body': 'reset-in-head',
  'stall-in-body': 'stall-in-head',
  'length-too-short': 'plain',
  'length-too-long': 'plain',
  'two-lengths': 'plain',
  'length-and-chunked': 'plain',
  trailers: 'plain',
};

/** What a behaviour comes down to where an answer has no body. */
export function fitting(behaviour: Behaviour, method: string): Behaviour {
  return method === 'HEAD' ? (WITHOUT_BODY[behaviour] ?? behaviour) : behaviour;
}

interface Parts {
  readonly status?: string;
  readonly version?: string;
  readonly fields: readonly string[];
  readonly body: Buffer;
}

function chunked(body: Buffer, random: Random, trailers = ''): Buffer {
  const parts: Buffer[] = [];
  for (let at = 0; at < body.length; ) {
    const piece = body.subarray(at, at + 1 + random.below(Math.max(2, body.length / 3)));
    parts.push(Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n'));
    at += piece.length;
  }
  parts.push(Buffer.from(`0\r\n${trailers}\r\n`));
  return Buffer.concat(parts);
}

/** Makes the answer for a request of this id. */
export function answerTo(id: string, method: string, behaviour: Behaviour, random: Random): Answer {
  const whole = bodyOf(id);
  const noBody = method === 'HEAD';
  const empty = Buffer.alloc(0);

  const make = (parts: Parts, more: Partial<Answer> & { before?: Buffer; after?: Buffer } = {}): Answer => {
    const status = parts.status ?? '200 OK';
    const lines = [`HTTP/${parts.version ?? '1.1'} ${status}`, `X-Request-Id: ${id}`, ...parts.fields];
    const head = Buffer.from(`${lines.join('\r\n')}\r\n\r\n`);
    const before = more.before ?? empty;
    const body = noBody ? empty : parts.body;
    return {
      bytes: Buffer.concat([before, head, body, more.after ?? empty]),
      statusAt: before.length + head.length,
      doneAt: more.doneAt ?? before.length + head.length + body.length,
      beforeMs: more.beforeMs ?? 0,
      pieceBytes: more.pieceBytes ?? null,
      then: more.then ?? 'next',
    };
  };
  const plain: Parts = { fields: [`Content-Length: ${whole.length}`], body: whole };
  const inChunks = (): Parts => ({ fields: ['Transfer-Encoding: chunked'], body: chunked(whole, random) });
  const either = random.chance(0.5) ? plain : inChunks();
  /** Only so much of it, and then what follows. */
  const cut = (where: 'head' | 'body', then: Then): Answer => {
    const all = make(either);
    const [from, to] = where === 'head' ? [1, all.statusAt] : [all.statusAt, all.bytes.length];
    const at = from + random.below(to - from);
    return { ...all, bytes: all.bytes.subarray(0, at), then };
  };

  switch (behaviour) {
    case 'plain':
    case 'swapped':
      return make(plain);
    case 'chunked':
      return make(inChunks());
    case 'trailers':
      return make({
        fields: ['Transfer-Encoding: chunked', 'Trailer: X-Check'],
        body: chunked(whole, random, `X-Check: ${id}\r\n`),
      });
    case 'empty':
      return make({ status: '204 No Content', fields: [], body: empty });
    case 'unchanged':
      return make({ status: '304 Not Modified', fields: ['ETag: "1"'], body: empty });
    case 'late':
      return make(either, { beforeMs: random.around(15) });
    case 'pieces': {
      // Small at first, so that lines of the head and sizes of chunks are torn; then so that it ends soon.
      const largest = Math.max(7, whole.length >> 3);
      let written = 0;
      const pieceBytes = () => 1 + random.below(written++ < 6 ? 40 : largest);
      return make(either, { pieceBytes, beforeMs: random.chance(0.3) ? random.around(5) : 0 });
    }
    case 'hints':
      return make(either, { before: random.chance(0.5) ? HINT : Buffer.concat([HINT, HINT]) });
    case 'continue':
      return make(either, { before: CONTINUE });
    case 'flood':
      return { ...make(plain), bytes: HINT, then: 'flood' };
    case 'until-close':
      return make({ fields: [], body: whole }, { then: 'fin', doneAt: Number.POSITIVE_INFINITY });
    case 'http-1.0':
      return make({ ...plain, version: '1.0' }, { then: 'fin' });
    case 'close-told':
      return make({ ...either, fields: ['Connection: close', ...either.fields] }, { then: 'fin' });
    case 'fin-after':
      return make(either, { then: 'fin' });
    case 'reset-after':
      return make(either, { then: 'reset' });
    case 'half-close-after':
      return make(either, { then: 'half-close' });
    case 'fin-in-head':
      return cut('head', 'fin');
    case 'reset-in-head':
      return cut('head', 'reset');
    case 'fin-in-body':
      return cut('body', 'fin');
    case 'reset-in-body':
      return cut('body', 'reset');
    case 'stall-before':
      return { ...make(plain), bytes: empty, then: 'stall' };
    case 'stall-in-head':
      return cut('head', 'stall');
    case 'stall-in-body':
      return cut('body', 'stall');
    case 'doubled': {
      const once = make(either);
      return { ...once, bytes: Buffer.concat([once.bytes, once.bytes]) };
    }
    case 'garbage-before':
      return make(either, { before: GARBAGE });
    case 'garbage-after':
      return make(either, { after: GARBAGE });
    case 'unasked-after':
      return make(either, { then: 'unasked' });
    case 'length-too-short': {
      const told = shortBytes(id);
      const answer = make({ ...plain, fields: [`Content-Length: ${told}`] });
      return { ...answer, doneAt: answer.statusAt + told };
    }
    case 'length-too-long':
      return make({ ...plain, fields: [`Content-Length: ${whole.length + 10}`] }, { then: 'fin' });
    case 'two-lengths':
      return make({ ...plain, fields: [...plain.fields, `Content-Length: ${whole.length >> 1}`] });
    case 'length-and-chunked':
      return make({ ...inChunks(), fields: [...plain.fields, 'Transfer-Encoding: chunked'] });
  }
}
