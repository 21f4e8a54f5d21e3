import { existsSync } from 'node:fs';
import { type Browser, launch } from 'puppeteer-core';

export interface Kind {
  readonly name: string;
  readonly path: string;
  start(): Promise<Browser>;
}

const QUIET = [
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--no-first-run',
];

/** The browsers that tests run in: Debian's packages. */
export const browsers: readonly Kind[] = [
  {
    name: 'Chromium',
    path: '/usr/bin/chromium',
    start() {
      // Root has no sandbox.
      const args = process.getuid?.() === 0 ? ['--no-sandbox', ...QUIET] : QUIET;
      return launch({ executablePath: this.path, headless: true, args });
    },
  },
  {
    name: 'Firefox',
    path: '/usr/bin/firefox-esr',
    start() {
      return launch({ browser: 'firefox', executablePath: this.path, headless: true });
    },
  },
];

/** For `describe`: why its tests are not run, or false. */
export function missing({ path }: Kind): string | false {
  return !existsSync(path) && `there is no ${path}`;
}
