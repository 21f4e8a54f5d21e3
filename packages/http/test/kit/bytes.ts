/** What an answer must contain, so that whoever reads it can tell whose it is. */
import { Random } from 'hotlane/testing';

/** Random numbers that depend on these words alone, whatever came before: arrival orders differ from run to run. */
export function randomOf(...words: readonly (string | number)[]): Random {
  let hash = 0x811c9dc5;
  for (const char of words.join('\0')) hash = Math.imul(hash ^ char.codePointAt(0)!, 0x01000193);
  return new Random(hash);
}

/** How long the body of this id is: mostly short, now and then more than any buffer on the way holds. */
function bodyBytes(id: string): number {
  const random = randomOf('body', id);
  const kind = random.next();
  if (kind < 0.7) return id.length + 1 + random.below(1_500);
  if (kind < 0.95) return 2_000 + random.below(30_000);
  return 100_000 + random.below(200_000);
}

/** The body that belongs to an id. No two ids share one, and no piece of one is the beginning of a response. */
export function bodyOf(id: string): Buffer {
  return Buffer.alloc(bodyBytes(id), `${id}|`);
}
