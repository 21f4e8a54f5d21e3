/** The handlers, which run in lanes: one of each style that they may have. */
import { createHash } from 'node:crypto';
import { type ServerReadableStream, type ServerUnaryCall, type sendUnaryData, status } from '@grpc/grpc-js';
import { context } from 'hotlane/worker';
import type { Digest, Pair, Summary, Text } from './texts.ts';

/** With a callback, as handlers of grpc-js ever were. */
export function summarize(
  { request }: ServerUnaryCall<Text, Summary>,
  callback: sendUnaryData<Summary>,
): void {
  const words = wordsOf(request.text);
  if (words.length === 0) {
    callback({ code: status.INVALID_ARGUMENT, details: 'The text has no words.' });
    return;
  }
  const times = new Map<string, number>();
  for (const word of words) times.set(word, (times.get(word) ?? 0) + 1);
  const common = [...times].sort(([a, n], [b, m]) => m - n || (a < b ? -1 : 1)).slice(0, request.most || 10);
  callback(null, { words: words.length, common: common.map(([word, n]) => ({ word, times: n })) });
}

/** An async function: what it returns is the answer. */
export async function hash(call: ServerReadableStream<{ bytes: Buffer }, Digest>): Promise<Digest> {
  const sum = createHash('sha256');
  let length = 0;
  for await (const { bytes } of call as AsyncIterable<{ bytes: Buffer }>) {
    sum.update(bytes);
    length += bytes.length;
  }
  return { sha256: sum.digest('hex'), bytes: length };
}

/** A generator: it goes on when the client has room, and ends when the client leaves. */
export function* similar({ request }: ServerUnaryCall<Text, Pair>): Generator<Pair> {
  const words = [...new Set(wordsOf(request.text))].sort();
  for (const [i, one] of words.entries()) {
    // Nothing reaches a loop that does not await, so it asks.
    if (context.aborted()) return;
    for (const other of words.slice(i + 1)) {
      const letters = distance(one, other);
      if (letters <= (request.most || 1)) yield { one, other, letters };
    }
  }
}

function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/\p{L}+/gu) ?? [];
}

/** In how many letters two words differ: put in, left out, or another. */
function distance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, i) => i);
  for (let i = 1; i <= one.length; i++) {
    const next = [i];
    for (let j = 1; j <= other.length; j++) {
      const same = one[i - 1] === other[j - 1] ? 0 : 1;
      next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + same));
    }
    row = next;
  }
  return row[other.length]!;
}
