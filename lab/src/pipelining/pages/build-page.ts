import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { ObjectKind, Page, PageObject, PageSource } from './page.ts';
import { firstFit, readCss } from './read-css.ts';
import { readHtml } from './read-html.ts';

/**
 * Puts a page together under `root/NAME/`, as a server is to show it, and says what it consists of. What it consists
 * of is read from the document and its stylesheets, as a browser would.
 *
 * @throws Error when the page names a file that there is not
 */
export function buildPage(source: PageSource, root: string): Page {
  const base = `/${source.name}/`;
  const html = source.html();
  const documentPath = `${base}index.html`;
  const { tree, named, styles } = readHtml(html);
  const objects = new Map<string, PageObject>();
  const bytesUpTo = (character: number) => Buffer.byteLength(html.slice(0, character));

  const add = (
    path: string,
    body: Buffer,
    rest: { kind: ObjectKind; from: string | null; atByte: number; holdsParser?: boolean },
  ) => {
    const file = join(root, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, body);
    const sha256 = createHash('sha256').update(body).digest('hex');
    objects.set(path, { path, bytes: body.length, sha256, holdsParser: false, ...rest });
  };

  const addStyle = (css: string, cssPath: string, atByte: number) => {
    const { imports, images } = readCss(css);
    for (const url of imports) addNamed(url, cssPath, { kind: 'stylesheet', atByte });
    for (const { selector, url } of images) {
      const element = firstFit(selector, tree);
      if (element === null) continue;
      const seenAt = bytesUpTo((element.startIndex ?? 0) + 1);
      addNamed(url, cssPath, { kind: 'image', atByte: Math.max(atByte, seenAt) });
    }
  };

  const addNamed = (
    url: string,
    from: string,
    rest: { kind: ObjectKind; atByte: number; holdsParser?: boolean },
  ) => {
    const path = new URL(url, `http://page${from}`).pathname;
    if (objects.has(path)) return;
    const [, folder, inFolder] = /^([^/]+)\/(.*)$/.exec(path.slice(base.length)) ?? [];
    const origin = source.folders[folder ?? ''];
    if (origin === undefined)
      throw new Error(`The page \`${source.name}\` names ${path}, and no folder has it.`);
    const body = readFileSync(join(origin, inFolder!));
    add(path, body, { ...rest, from });
    if (rest.kind === 'stylesheet') addStyle(body.toString(), path, rest.atByte);
  };

  add(documentPath, Buffer.from(html), { kind: 'document', from: null, atByte: 0 });
  const inOrder = [
    ...named.map(one => ({
      atCharacter: one.atCharacter,
      add: (atByte: number) =>
        addNamed(one.url, documentPath, { kind: one.kind, holdsParser: one.holdsParser, atByte }),
    })),
    ...styles.map(one => ({
      atCharacter: one.atCharacter,
      add: (atByte: number) => addStyle(one.css, documentPath, atByte),
    })),
  ].sort((a, b) => a.atCharacter - b.atCharacter);
  for (const one of inOrder) one.add(bytesUpTo(one.atCharacter));

  const { name, title, preloadScanner } = source;
  return { name, title, preloadScanner, objects: [...objects.values()] };
}
