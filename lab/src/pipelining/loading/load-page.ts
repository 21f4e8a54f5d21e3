import { createHash } from 'node:crypto';
import type { Dispatcher } from 'undici';
import type { Page, PageObject } from '../pages/page.ts';
import { Discovery } from './discovery.ts';

/** When what happened to one object, in milliseconds from the start of the load. */
export interface ObjectTiming {
  readonly path: string;
  readonly bytes: number;
  /** Status line and header fields, as HTTP/1.1 writes them. */
  readonly headerBytes: number;
  readonly queuedMs: number;
  readonly firstByteMs: number;
  readonly doneMs: number;
}

export interface PageLoad {
  /** From before the first connection to the last byte of the last object. */
  readonly loadMs: number;
  readonly objects: readonly ObjectTiming[];
}

export interface LoadOptions {
  readonly page: Page;
  readonly origin: string;
  readonly dispatcher: Dispatcher;
  /** Goes with each request; undefined leaves undici's default. */
  readonly blocking: boolean | undefined;
}

/** As long as those that browsers send: on a thin line their length counts. */
const USER_AGENT = 'Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0';
const ACCEPT = {
  document: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
  stylesheet: 'text/css,*/*;q=0.1',
  script: '*/*',
  image: 'image/png,image/*;q=0.8,*/*;q=0.5',
} as const;

/**
 * Loads a page as a browser would, and checks each object.
 *
 * @throws Error when an object does not come, or is not what the page has
 */
export function loadPage(options: LoadOptions): Promise<PageLoad> {
  const { page, origin, dispatcher, blocking } = options;
  const discovery = new Discovery(page);
  const objects: ObjectTiming[] = [];
  const documentPath = page.objects[0]!.path;
  const startedAt = performance.now();
  const sinceStart = () => performance.now() - startedAt;

  return new Promise((resolve, reject) => {
    const ask = (found: readonly PageObject[]) => {
      for (const object of found) fetchObject(object).catch(reject);
    };
    const fetchObject = async (object: PageObject) => {
      const { path, kind } = object;
      const queuedMs = sinceStart();
      const response = await dispatcher.request({
        origin,
        path,
        method: 'GET',
        headers: {
          'user-agent': USER_AGENT,
          accept: ACCEPT[kind],
          'accept-language': 'en-us,en;q=0.5',
          'accept-encoding': 'gzip,deflate',
          ...(kind !== 'document' && { referer: `${origin}${documentPath}` }),
        },
        ...(blocking !== undefined && { blocking }),
      });
      const firstByteMs = sinceStart();
      const hash = createHash('sha256');
      let bytes = 0;
      for await (const chunk of response.body as AsyncIterable<Buffer>) {
        bytes += chunk.length;
        hash.update(chunk);
        if (kind === 'document') ask(discovery.documentGrew(bytes));
      }
      const doneMs = sinceStart();
      if (response.statusCode !== 200 || bytes !== object.bytes || hash.digest('hex') !== object.sha256) {
        throw new Error(
          `${path} came as ${bytes} bytes with status ${response.statusCode}; expected were ${object.bytes} certain bytes.`,
        );
      }
      const headerBytes = lengthOf(response.headers);
      objects.push({ path, bytes, headerBytes, queuedMs, firstByteMs, doneMs });
      ask(discovery.arrived(path));
      if (discovery.isComplete) resolve({ loadMs: doneMs, objects });
    };
    ask(discovery.begin());
  });
}

function lengthOf(headers: Readonly<Record<string, string | string[] | undefined>>): number {
  const fields = Object.entries(headers).flatMap(([name, value]) =>
    [value ?? ''].flat().map(one => name.length + one.length + 4),
  );
  return fields.reduce((sum, length) => sum + length, 'HTTP/1.1 200 OK\r\n\r\n'.length);
}
