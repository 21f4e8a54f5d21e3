import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

/** Where to listen, and which paths take how long there. */
export interface Listener {
  readonly port: number;
  readonly host: string;
  readonly waitsMs: Readonly<Record<string, number>>;
}

export interface SlowServerPlan {
  readonly root: string;
  readonly listeners: readonly Listener[];
}

const TYPES: Readonly<Record<string, string>> = {
  html: 'text/html',
  css: 'text/css',
  js: 'application/javascript',
  png: 'image/png',
  gif: 'image/gif',
  jpg: 'image/jpeg',
  svg: 'image/svg+xml',
  ico: 'image/x-icon',
};

// Serves the files of a folder and takes its time over some: alone, or behind a server that asks it for those only.
// Requests that come one after the other on one connection are begun at once; only their answers are in order.
const { root, listeners } = JSON.parse(process.argv[2] ?? '') as SlowServerPlan;
await Promise.all(
  listeners.map(({ port, host, waitsMs }) => {
    const server = createServer({ keepAlive: true, keepAliveTimeout: 600_000 }, async (request, response) => {
      const path = request.url ?? '/';
      const waitMs = waitsMs[path] ?? 0;
      if (waitMs > 0) await delay(waitMs);
      try {
        const body = readFileSync(join(root, path));
        const type = TYPES[path.slice(path.lastIndexOf('.') + 1)] ?? 'application/octet-stream';
        response.writeHead(200, { 'content-type': type, 'content-length': body.length });
        response.end(body);
      } catch {
        response.writeHead(404, { 'content-length': 0 });
        response.end();
      }
    });
    return new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, host, resolve);
    });
  }),
);
process.stdout.write('ready\n');
process.stdin.on('end', () => process.exit()).resume();
