/**
 * The functions that the bench calls. Each takes one argument, so that every contender can call it; some a function of the
 * host's as well.
 */

import { createHash } from 'node:crypto';
import { brotliCompressSync, constants } from 'node:zlib';
import { marked } from 'marked';

export function increment(x: number): number {
  return x + 1;
}

export function echo(value: unknown): unknown {
  return value;
}

const CHUNK = 256;

/**
 * Something to do that takes the same time wherever it runs: about a nanosecond for each round. In chunks, so that each
 * thread's engine compiles it in the same way: one long loop may stay in code that was made for its first half.
 */
export function spin(rounds: number): number {
  let sum = 0;
  for (; rounds > CHUNK; rounds -= CHUNK) sum = spinChunk(sum, CHUNK);
  return spinChunk(sum, rounds);
}

function spinChunk(from: number, rounds: number): number {
  let sum = from;
  for (let i = 0; i < rounds; i++) sum = (Math.imul(sum, 31) + i) | 0;
  return sum;
}

export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

export function parseJson(text: string): number {
  return (JSON.parse(text) as unknown[]).length;
}

export function brotli(text: string): number {
  return brotliCompressSync(text, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }).length;
}

export function renderMarkdown(text: string): number {
  return (marked.parse(text) as string).length;
}

/** Milliseconds on a clock that all threads share. */
export function sharedNow(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** Blocks for so many milliseconds; tells when it was done. */
export function block(ms: number): number {
  const end = performance.now() + ms;
  while (performance.now() < end);
  return sharedNow();
}

export function length(value: ArrayBuffer): number {
  return value.byteLength;
}

let ticks = 0;
/** Starts a timer of every 5 ms in the lane; 0 asks how often it fired. */
export function ticking(everyMs: number): number {
  if (everyMs > 0) setInterval(() => ticks++, everyMs).unref();
  return ticks;
}

/** Streams: 0, 1, 2, … */
export function* count(n: number): Generator<number> {
  for (let i = 0; i < n; i++) yield i;
}

export async function* countAsync(n: number): AsyncGenerator<number> {
  for (let i = 0; i < n; i++) yield i;
}

export const CHUNK_BYTES = 16_384;

/** Chunks as they come from a file or a socket; each is filled with its number. */
export function* chunks(n: number): Generator<Uint8Array> {
  for (let i = 0; i < n; i++) yield new Uint8Array(CHUNK_BYTES).fill(i);
}

/** Calls back so many times, and sums up the answers. */
export async function askEach(times: number, ask: (i: number) => Promise<number>): Promise<number> {
  let sum = 0;
  for (let i = 0; i < times; i++) sum += await ask(i);
  return sum;
}

/** Calls back so many times, and waits for no answer but the last, if there are any. */
export async function tellEach(times: number, tell: (i: number) => unknown): Promise<void> {
  let last: unknown;
  for (let i = 0; i < times; i++) last = tell(i);
  await last;
}

export function characters(text: string): number {
  return text.length;
}
