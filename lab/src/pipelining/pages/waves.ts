import { Discovery } from '../loading/discovery.ts';
import type { Page } from './page.ts';

/** How many objects each wave brings, if whatever is asked for comes at once: the document, what it names, and so on. */
export function wavesOf(page: Page): number[] {
  const discovery = new Discovery(page);
  const waves: number[] = [];
  for (let wave = discovery.begin(); wave.length > 0; ) {
    waves.push(wave.length);
    wave = wave.flatMap(({ kind, path, bytes }) => [
      ...(kind === 'document' ? discovery.documentGrew(bytes) : []),
      ...discovery.arrived(path),
    ]);
  }
  return waves;
}

/** Whether a page has, at once, more objects than all connections take together. */
export function exhausts(page: Page, connections: number, quota: number): boolean {
  return Math.max(...wavesOf(page)) > connections * quota;
}
