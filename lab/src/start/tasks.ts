import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { brotliCompressSync, constants } from 'node:zlib';

/** What static file servers compress with ahead of time: the smallest and slowest that brotli has. */
export const BROTLI_QUALITY = 11;

export interface Packed {
  readonly bytes: number;
  readonly packedBytes: number;
  /** SHA-256 of the compressed bytes. */
  readonly digest: string;
}

/** Reads a file and compresses it. Milliseconds to a second of work: a call that anyone would hand over. */
export function compress(path: string): Packed {
  const content = readFileSync(path);
  const packed = brotliCompressSync(content, {
    params: {
      [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY,
      [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
      [constants.BROTLI_PARAM_SIZE_HINT]: content.length,
    },
  });
  return {
    bytes: content.length,
    packedBytes: packed.length,
    digest: createHash('sha256').update(packed).digest('hex'),
  };
}

export interface Suggestion {
  readonly word: string;
  /** Edits (insert, delete, replace, swap of neighbours) from the token to the word. */
  readonly distance: number;
}

/**
 * The "did you mean" of a linter: the name of JavaScript's own that is nearest to a token. Some tens of
 * microseconds of work: a call that one is told never to hand over.
 */
export function suggest(token: string): Suggestion {
  let word = '';
  let distance = Number.POSITIVE_INFINITY;
  for (const candidate of dictionary) {
    if (Math.abs(candidate.length - token.length) >= distance) continue;
    const edits = editDistance(token, candidate, distance);
    if (edits < distance) {
      word = candidate;
      distance = edits;
    }
  }
  return { word, distance };
}

const KEYWORDS =
  'async await break case catch class const continue debugger default delete else enum export extends false finally for function if implements import in instanceof interface let new null package private protected public return static super switch this throw true try typeof undefined var void while with yield';

const BUILT_INS = [Array, JSON, Map, Math, Number, Object, Promise, RegExp, Set, String];

/** Keywords, built-in classes, and the names of their members; sorted, so that ties fall the same everywhere. */
export const dictionary: readonly string[] = [
  ...new Set([...KEYWORDS.split(' '), ...BUILT_INS.flatMap(builtIn => namesIn(builtIn))]),
].sort();

function namesIn(builtIn: object): string[] {
  const { name, prototype } = builtIn as { readonly name?: string; readonly prototype?: object };
  const names = [
    ...Object.getOwnPropertyNames(builtIn),
    ...(prototype ? Object.getOwnPropertyNames(prototype) : []),
  ];
  return [...(name === undefined ? [] : [name]), ...names].filter(one => /^[A-Za-z]{2,}$/.test(one));
}

/** Longer tokens are not suggested for; the inputs leave them out. */
export const LONGEST_TOKEN = 24;

// Three rows of the distance matrix, kept from call to call.
let beforeLast = new Uint8Array(LONGEST_TOKEN + 1);
let last = new Uint8Array(LONGEST_TOKEN + 1);
let current = new Uint8Array(LONGEST_TOKEN + 1);

/**
 * Optimal string alignment: Levenshtein's distance in which a swap of neighbours is one edit.
 *
 * @param limit from here on the exact distance does not matter, and `limit` is returned
 */
function editDistance(from: string, to: string, limit: number): number {
  const width = to.length;
  for (let j = 0; j <= width; j++) last[j] = j;
  for (let i = 1; i <= from.length; i++) {
    const letter = from.charCodeAt(i - 1);
    current[0] = i;
    let least = i;
    for (let j = 1; j <= width; j++) {
      const other = to.charCodeAt(j - 1);
      let edits = Math.min(last[j]! + 1, current[j - 1]! + 1, last[j - 1]! + (letter === other ? 0 : 1));
      const swapped = i > 1 && j > 1 && letter === to.charCodeAt(j - 2) && from.charCodeAt(i - 2) === other;
      if (swapped) edits = Math.min(edits, beforeLast[j - 2]! + 1);
      current[j] = edits;
      if (edits < least) least = edits;
    }
    if (least >= limit) return limit; // no later row can have less
    [beforeLast, last, current] = [last, current, beforeLast];
  }
  return last[width]!;
}
