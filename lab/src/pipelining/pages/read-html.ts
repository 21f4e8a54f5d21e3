import { type Document, type Element, isTag } from 'domhandler';
import { parseDocument } from 'htmlparser2';
import type { ObjectKind } from './page.ts';

/** An object that a document names. */
export interface Named {
  readonly url: string;
  readonly kind: ObjectKind;
  /** How many characters of the document have gone by when it is named. */
  readonly atCharacter: number;
  readonly holdsParser: boolean;
}

/** A stylesheet that stands in the document itself. */
export interface InlineStyle {
  readonly css: string;
  readonly atCharacter: number;
}

export interface ReadDocument {
  readonly tree: Document;
  readonly named: readonly Named[];
  readonly styles: readonly InlineStyle[];
}

/** Finds what a document makes a browser ask for, in the order of the document. */
export function readHtml(html: string): ReadDocument {
  const tree = parseDocument(html, { withStartIndices: true, withEndIndices: true });
  const named: Named[] = [];
  const styles: InlineStyle[] = [];
  for (const element of elementsOf(tree)) {
    const { name, attribs } = element;
    const atCharacter = (element.endIndex ?? 0) + 1;
    const add = (url: string | undefined, kind: ObjectKind, holdsParser = false) => {
      if (url !== undefined && !url.startsWith('data:')) named.push({ url, kind, atCharacter, holdsParser });
    };
    if (name === 'script') {
      const runsLater = 'async' in attribs || 'defer' in attribs || attribs.type === 'module';
      add(attribs.src, 'script', !runsLater);
    } else if (name === 'link') {
      if (attribs.rel === 'stylesheet') add(attribs.href, 'stylesheet');
      if (attribs.rel === 'icon' || attribs.rel === 'shortcut icon') add(attribs.href, 'image');
    } else if (name === 'style') {
      styles.push({ css: textOf(element), atCharacter });
    } else if (name === 'img' || (name === 'input' && attribs.type === 'image')) {
      add(attribs.src, 'image');
    } else {
      add(attribs.background, 'image');
    }
  }
  return { tree, named, styles };
}

function* elementsOf(parent: Document | Element): Generator<Element> {
  for (const child of parent.children) {
    if (!isTag(child)) continue;
    yield child;
    yield* elementsOf(child);
  }
}

function textOf(element: Element): string {
  return element.children.map(child => ('data' in child ? child.data : '')).join('');
}
