import { agency } from './agency.ts';
import type { PageSource } from './page.ts';
import { portal } from './portal.ts';
import { wiki } from './wiki.ts';

/** Every page, by the name it has on command lines. */
export const pages: Readonly<Record<string, PageSource>> = { wiki, portal, agency };
