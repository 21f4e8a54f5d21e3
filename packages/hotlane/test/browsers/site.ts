import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

/** With these headers a page is isolated, so that it may share memory. */
export const ISOLATED = {
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-embedder-policy': 'require-corp',
};
/** By the path without its suffix. */
const ENTRIES = {
  page: './page.ts',
  'tasks.worker': './tasks.worker.ts',
  tasks: '../../src/testing/contract-tasks.ts',
  'nested.worker': './nested.worker.ts',
  'place/web-entry': '../../src/place/web-entry.ts',
};
const BROKEN: Readonly<Record<string, { readonly type: string; readonly text: string }>> = {
  '/syntax.js': { type: 'text/javascript', text: 'const = 1;' },
  '/throws.js': { type: 'text/javascript', text: "throw new RangeError('as it should');" },
  '/mime.js': { type: 'text/plain', text: '' },
};
const HTML = '<!doctype html><title>hotlane</title><script type="module" src="/page.js"></script>';

export interface Site extends AsyncDisposable {
  /** Without a slash at its end. */
  readonly origin: string;
}

/**
 * Serves the files of this folder, bundled, to pages on 127.0.0.1.
 *
 * @param headers of every answer
 */
export async function openSite(headers: Readonly<Record<string, string>>): Promise<Site> {
  const { outputFiles } = await build({
    entryPoints: Object.entries(ENTRIES).map(([out, name]) => ({
      in: fileURLToPath(new URL(name, import.meta.url)),
      out,
    })),
    bundle: true,
    format: 'esm',
    conditions: ['browser', 'hotlane-source'],
    outdir: '/',
    write: false,
    logLevel: 'warning',
  });
  const files = new Map(outputFiles.map(({ path, contents }) => [path, contents]));
  const server = createServer(({ url = '/' }, response) => {
    const file = url === '/' ? HTML : (BROKEN[url]?.text ?? files.get(url));
    const type = url === '/' ? 'text/html' : (BROKEN[url]?.type ?? 'text/javascript');
    response.writeHead(file === undefined ? 404 : 200, { 'content-type': type, ...headers });
    response.end(file);
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${port}`,
    [Symbol.asyncDispose]: () =>
      new Promise<void>(resolve => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
