import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { glob } from 'tinyglobby';
import { repository } from '../harness/machine.ts';
import { seededRandom, shuffled } from '../harness/random.ts';
import { dictionary, LONGEST_TOKEN } from './tasks.ts';

export interface SourceFile {
  readonly path: string;
  readonly bytes: number;
}

/** The same files are taken, and tokens in the same order, in every run over the same node_modules. */
const SEED = 20;

/** Every `.js` and `.md` file under the repository's node_modules, in a seeded order. */
export async function findFiles(): Promise<SourceFile[]> {
  const paths = await glob(['**/*.js', '**/*.md'], {
    cwd: join(repository, 'node_modules'),
    absolute: true,
    dot: true,
    followSymbolicLinks: false, // the workspace's own packages are linked there, and change while one works on them
  });
  const files = paths.sort().map(path => ({ path, bytes: statSync(path).size }));
  return shuffled(
    files.filter(file => file.bytes > 0),
    seededRandom(SEED),
  );
}

/**
 * Every name in those files that JavaScript does not have itself: each occurrence, in a seeded order.
 *
 * @param most how many bytes of files to read at most
 */
export function readTokens(files: readonly SourceFile[], most: number): string[] {
  const known = new Set(dictionary);
  const tokens: string[] = [];
  let read = 0;
  for (const { path, bytes } of files) {
    if (read >= most) break;
    read += bytes;
    for (const [token] of readFileSync(path, 'utf8').matchAll(/[A-Za-z_$][\w$]{2,}/g)) {
      if (token.length <= LONGEST_TOKEN && !known.has(token)) tokens.push(token);
    }
  }
  return shuffled(tokens, seededRandom(SEED));
}
