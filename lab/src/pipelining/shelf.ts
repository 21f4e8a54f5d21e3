import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pages } from './pages/all.ts';
import { buildPage } from './pages/build-page.ts';
import { RATE_BYTES, RATE_PATH } from './rates.ts';
import type { Shelf } from './site.ts';

/** Builds pages in a folder, and writes down what they consist of. */
export function fillShelf(folder: string, names: readonly string[]): Shelf {
  const root = join(folder, 'pages');
  const built = names.map(name => buildPage(pages[name]!, root));
  mkdirSync(join(root, 'bytes'), { recursive: true });
  writeFileSync(join(root, RATE_PATH), Buffer.alloc(RATE_BYTES, 'x'));
  const manifest = join(root, 'pages.json');
  writeFileSync(manifest, JSON.stringify(built));
  return { folder, root, manifest, pages: built };
}
