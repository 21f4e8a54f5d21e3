import { selectOne } from 'css-select';
import type { Document, Element } from 'domhandler';

/** What a stylesheet makes a browser ask for. */
export interface ReadStylesheet {
  readonly imports: readonly string[];
  readonly images: readonly { readonly selector: string; readonly url: string }[];
}

const ADDRESS = /url\(\s*(?:"([^"]*)"|'([^']*)'|([^)\s]*))\s*\)/g;
/** States that an element is not in while its page loads. */
const LATER_STATES =
  /:(?:hover|focus|active|visited|disabled|checked|invalid|valid|indeterminate|target|focus-\w+)/;
const PARTS = /::?(?:before|after|first-letter|first-line|marker|placeholder|-[\w-]+)/g;

/** Finds imports, and which selectors bring images. Rules within `@media` count as others do. */
export function readCss(css: string): ReadStylesheet {
  const bare = css.replace(/\/\*[\s\S]*?\*\//g, '');
  const imports = [...bare.matchAll(/@import\s+(?:url\(\s*)?["']?([^"')\s;]+)/g)].map(match => match[1]!);
  const images: { selector: string; url: string }[] = [];
  for (const [, selector = '', body = ''] of bare.matchAll(/([^{}]*)\{([^{}]*)\}/g)) {
    for (const [, double, single, plain] of body.matchAll(ADDRESS)) {
      const url = double ?? single ?? plain ?? '';
      if (url !== '' && !url.startsWith('data:')) {
        images.push({ selector: selector.slice(selector.lastIndexOf(';') + 1).trim(), url });
      }
    }
  }
  return { imports, images };
}

/**
 * The first element of a page, in its order, that a selector fits while the page loads. A browser asks for the
 * image of a rule only once there is such an element.
 */
export function firstFit(selector: string, tree: Document): Element | null {
  const fits = selector
    .split(',')
    .filter(one => one.trim() !== '' && !one.startsWith('@') && !LATER_STATES.test(one))
    .flatMap(one => {
      try {
        return (
          selectOne<Document['children'][number], Element>(one.replace(PARTS, '').trim() || '*', tree) ?? []
        );
      } catch {
        // What browsers of the time were told apart by is no selector.
        return [];
      }
    });
  return fits.sort((a, b) => (a.startIndex ?? 0) - (b.startIndex ?? 0))[0] ?? null;
}
