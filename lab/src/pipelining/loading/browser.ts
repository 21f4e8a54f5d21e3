import { existsSync } from 'node:fs';
import type { Request } from 'playwright-core';
import type { ObjectTiming, PageLoad } from './load-page.ts';

const CHROMIUM = '/usr/bin/chromium';
const FLAGS = [
  '--no-sandbox',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--no-first-run',
];

export function hasBrowser(): boolean {
  return existsSync(CHROMIUM);
}

/**
 * Loads a page in a real browser, at the same end of the network as this process. The browser decides what belongs to
 * the page: it runs its scripts and applies its styles. Each load has a browser of its own, since one that stays closes
 * its connections when it likes.
 *
 * @throws Error when the page, or an object of it, does not load
 */
export async function loadInBrowser(url: string, timeoutMs: number): Promise<PageLoad> {
  const { chromium } = await import('playwright-core');
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: FLAGS });
  try {
    const page = await browser.newPage();
    const pending: Promise<ObjectTiming>[] = [];
    let failure: string | null = null;
    page.on('requestfailed', request => {
      failure = `${request.url()} did not load: ${request.failure()?.errorText}.`;
    });
    page.on('requestfinished', request => pending.push(timingOf(request)));
    await page.goto(url, { waitUntil: 'load', timeout: timeoutMs });
    const loadMs = await page.evaluate<number>(
      'performance.getEntriesByType("navigation")[0].loadEventStart',
    );
    const found = await Promise.all(pending);
    if (failure !== null) throw new Error(failure);
    const beganAt = Math.min(...found.map(({ queuedMs }) => queuedMs));
    const objects = found.map(one => ({
      ...one,
      queuedMs: one.queuedMs - beganAt,
      firstByteMs: one.firstByteMs - beganAt,
      doneMs: one.doneMs - beganAt,
    }));
    return { loadMs, objects };
  } finally {
    await browser.close();
  }
}

async function timingOf(request: Request): Promise<ObjectTiming> {
  const { responseBodySize, responseHeadersSize } = await request.sizes();
  const { startTime, responseStart, responseEnd } = request.timing();
  return {
    path: new URL(request.url()).pathname,
    bytes: responseBodySize,
    headerBytes: responseHeadersSize,
    queuedMs: startTime,
    firstByteMs: startTime + responseStart,
    doneMs: startTime + responseEnd,
  };
}
