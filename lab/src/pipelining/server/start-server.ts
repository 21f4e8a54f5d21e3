import { type ChildProcess, execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type Mix, waitMsOf } from '../mixes.ts';
import type { Network } from '../network/network.ts';
import type { Page } from '../pages/page.ts';
import { nginxConfig } from './nginx-config.ts';
import type { Listener, SlowServerPlan } from './slow-entry.ts';

/** nginx answers the requests of one connection strictly one after the other; Node begins them all at once. */
export type ServerKind = 'nginx' | 'node';

export interface ServerOptions {
  readonly kind: ServerKind;
  /** The folder with the pages. */
  readonly root: string;
  /** A folder for files of its own. */
  readonly folder: string;
  readonly pages: readonly Page[];
  readonly mixes: readonly Mix[];
  /** Also HTTP/2 over TLS, with a certificate that is made for it. */
  readonly http2: boolean;
}

/** A running server, one port for each mix. */
export interface Server extends AsyncDisposable {
  readonly port: (mix: string) => number;
  /** Null without HTTP/2. */
  readonly tlsPort: (mix: string) => number | null;
}

const START_MS = 10_000;
const NGINX = ['/usr/sbin/nginx', '/usr/bin/nginx', '/usr/local/sbin/nginx'];

export function findNginx(): string | null {
  return NGINX.find(file => existsSync(file)) ?? null;
}

export function hasOpenssl(): boolean {
  try {
    execFileSync('openssl', ['version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/**
 * Starts a server on the server's side of a network.
 *
 * @throws Error when it does not start, with what it said
 */
export async function startServer(network: Network, options: ServerOptions): Promise<Server> {
  const { kind, root, pages, mixes } = options;
  const folder = await mkdtemp(join(options.folder, 'server-'));
  const children: ChildProcess[] = [];
  const close = async () => {
    for (const child of children.toReversed()) await end(child);
    await rm(folder, { recursive: true, force: true });
  };
  try {
    const withTls = options.http2 && kind === 'nginx';
    if (withTls) makeCertificate(folder);
    const ports = await freePorts(mixes.length * 3);
    const sites = mixes.map((mix, i) => {
      const waitsMs = slowPaths(pages, mix);
      return {
        mix: mix.name,
        port: ports[i * 3]!,
        tlsPort: withTls ? ports[i * 3 + 1]! : null,
        backend:
          Object.keys(waitsMs).length === 0 ? null : { port: ports[i * 3 + 2]!, host: '127.0.0.1', waitsMs },
      };
    });
    const listeners: Listener[] =
      kind === 'node'
        ? sites.map(({ port, backend }) => ({ port, host: '0.0.0.0', waitsMs: backend?.waitsMs ?? {} }))
        : sites.flatMap(({ backend }) => backend ?? []);
    if (listeners.length > 0) children.push(await startSlow(network, { root, listeners }));
    if (kind === 'nginx') {
      const config = join(folder, 'nginx.conf');
      await writeFile(config, nginxConfig({ root, folder, sites }));
      children.push(await startNginx(network, config, folder));
    }
    const siteOf = (mix: string) => {
      const site = sites.find(one => one.mix === mix);
      if (site === undefined) throw new Error(`The server was not started for the mix \`${mix}\`.`);
      return site;
    };
    return {
      port: mix => siteOf(mix).port,
      tlsPort: mix => siteOf(mix).tlsPort,
      [Symbol.asyncDispose]: close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

function slowPaths(pages: readonly Page[], mix: Mix): Record<string, number> {
  return Object.fromEntries(
    pages.flatMap(page =>
      page.objects.flatMap(({ path }, index) => {
        const waitMs = waitMsOf(mix, index);
        return waitMs === 0 ? [] : [[path, waitMs] as const];
      }),
    ),
  );
}

async function startSlow(network: Network, plan: SlowServerPlan): Promise<ChildProcess> {
  const entry = fileURLToPath(new URL('./slow-entry.ts', import.meta.url));
  const child = network.spawnServer(process.execPath, [entry, JSON.stringify(plan)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const [said] = await Promise.race([
    once(child.stdout!, 'data') as Promise<[Buffer]>,
    once(child, 'exit').then(() => ['']),
  ]);
  if (!String(said).startsWith('ready')) {
    await end(child);
    throw new Error('The slow server did not start.');
  }
  return child;
}

async function startNginx(network: Network, config: string, folder: string): Promise<ChildProcess> {
  const command = findNginx();
  if (command === null) throw new Error('There is no nginx here; Debian has it as nginx-light.');
  const child = network.spawnServer(command, ['-c', config, '-p', folder], {
    stdio: ['ignore', 'ignore', 'ignore'],
  });
  // nginx writes its process id once it listens.
  for (let waitedMs = 0; waitedMs < START_MS && child.exitCode === null; waitedMs += 10) {
    if (existsSync(join(folder, 'nginx.pid'))) return child;
    await delay(10);
  }
  const log = join(folder, 'error.log');
  const said = existsSync(log) ? readFileSync(log, 'utf8').trim() : '';
  await end(child);
  throw new Error(`nginx did not start: ${said || `exit code ${child.exitCode}`}`);
}

function makeCertificate(folder: string): void {
  execFileSync(
    'openssl',
    [
      ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'],
      ...['-days', '2', '-subj', '/CN=hotlane-lab'],
      ...['-keyout', join(folder, 'key.pem'), '-out', join(folder, 'certificate.pem')],
    ],
    { stdio: 'ignore' },
  );
}

/** Ends a process that was started here, and waits until it is gone. */
export async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), 2_000);
  await gone;
  clearTimeout(timer);
}

/** Ports that nobody listens on now. In a network namespace of its own a server could take any. */
async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(
    Array.from({ length: count }, async () => {
      const server = createServer().listen(0, '127.0.0.1');
      await once(server, 'listening');
      return server;
    }),
  );
  const ports = servers.map(server => (server.address() as { port: number }).port);
  await Promise.all(servers.map(server => new Promise(resolve => server.close(resolve))));
  return ports;
}
