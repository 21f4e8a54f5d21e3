/** What a page consists of, and when a browser learns of each part. */
export interface Page {
  readonly name: string;
  readonly title: string;
  /**
   * Whether the browser looks ahead for objects while a script holds up its parser. Browsers learnt it after 2008.
   */
  readonly preloadScanner: boolean;
  /** The document first, then in the order in which they stand in it, those of stylesheets after their stylesheet. */
  readonly objects: readonly PageObject[];
}

export type ObjectKind = 'document' | 'stylesheet' | 'script' | 'image';

export interface PageObject {
  /** On the server, from the root: `/wiki/icons/add.png`. */
  readonly path: string;
  readonly kind: ObjectKind;
  readonly bytes: number;
  readonly sha256: string;
  /** The path of the document or stylesheet that names it; null for the document itself. */
  readonly from: string | null;
  /** How many bytes of the document the parser must have seen before the browser asks for it. */
  readonly atByte: number;
  /** A script that the parser waits for. */
  readonly holdsParser: boolean;
}

/** A page as it is composed: a document, and where the files that it names come from. */
export interface PageSource {
  readonly name: string;
  readonly title: string;
  readonly preloadScanner: boolean;
  html(): string;
  /** The first part of relative addresses to the folder that stands for it. */
  readonly folders: Readonly<Record<string, string>>;
}

/** All bytes of bodies. */
export function pageBytes(page: Page): number {
  return page.objects.reduce((sum, object) => sum + object.bytes, 0);
}
