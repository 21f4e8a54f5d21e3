import type { Page, PageObject } from '../pages/page.ts';

/**
 * What a browser knows of a page while it loads, and so what it asks for next.
 *
 * The parser goes through the document as it arrives and stops at a script until that has loaded, and the stylesheets
 * before it (with their imports), which scripts wait for. With a preload scanner, what stands behind that script is
 * found all the same. What a stylesheet names is found once the stylesheet is there, and the parser has come to the
 * element that it is for.
 */
export class Discovery {
  readonly #page: Page;
  readonly #found = new Set<string>();
  readonly #arrived = new Set<string>();
  #documentBytes = 0;

  constructor(page: Page) {
    this.#page = page;
  }

  /** What is asked for first. */
  begin(): PageObject[] {
    return this.#findMore();
  }

  /** @param bytes how much of the document is there, in all */
  documentGrew(bytes: number): PageObject[] {
    this.#documentBytes = bytes;
    return this.#findMore();
  }

  /** @returns what is found because an object is there in full */
  arrived(path: string): PageObject[] {
    this.#arrived.add(path);
    return this.#findMore();
  }

  get isComplete(): boolean {
    return this.#arrived.size === this.#page.objects.length;
  }

  #findMore(): PageObject[] {
    const parserAt = this.#parserAt();
    const seenTo = this.#page.preloadScanner ? this.#documentBytes : parserAt;
    const more = this.#page.objects.filter(object => {
      if (this.#found.has(object.path)) return false;
      const { from } = object;
      if (from === null) return true;
      const isInDocument = from === this.#page.objects[0]!.path;
      return isInDocument ? object.atByte <= seenTo : this.#arrived.has(from) && object.atByte <= parserAt;
    });
    for (const { path } of more) this.#found.add(path);
    // What has been found at once is asked for in the order of the document.
    return more.sort((a, b) => a.atByte - b.atByte);
  }

  /** The end of what has arrived, or the first script that is waited for. */
  #parserAt(): number {
    const { objects } = this.#page;
    const stop = objects.find(
      script => script.holdsParser && (!this.#arrived.has(script.path) || this.#waitsForStyle(script)),
    );
    return Math.min(this.#documentBytes, stop?.atByte ?? Number.POSITIVE_INFINITY);
  }

  #waitsForStyle(script: PageObject): boolean {
    return this.#page.objects.some(
      ({ kind, path, atByte }) => kind === 'stylesheet' && atByte < script.atByte && !this.#arrived.has(path),
    );
  }
}
