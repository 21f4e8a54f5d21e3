/** A real nginx, with all the ways to reach it, that ends with the tests however they end. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const NGINX = '/usr/sbin/nginx';

/** Why there can be no nginx here; null if there can. */
export const noNginx: string | null = (() => {
  if (!existsSync(NGINX)) return `no ${NGINX}`;
  try {
    execFileSync('openssl', ['version'], { stdio: 'ignore' });
    return null;
  } catch {
    return 'no openssl';
  }
})();

export interface Nginx extends AsyncDisposable {
  readonly http: string;
  readonly https: string;
  /** As for `connect: { ca }`. */
  readonly certificate: string;
  readonly socketPath: string;
  close(): Promise<void>;
}

export interface NginxOptions {
  /** Where `/backend/` is handed on to, `http://host:port`. */
  readonly backend: string;
  /** After so many requests it closes a connection, as it does after 1000 by itself. @default 1000 */
  readonly requestsPerConnection?: number;
}

async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(
    Array.from({ length: count }, async () => {
      const server = createServer().listen(0, '127.0.0.1');
      await once(server, 'listening');
      return server;
    }),
  );
  const ports = servers.map(server => (server.address() as AddressInfo).port);
  await Promise.all(servers.map(server => once(server.close(), 'close')));
  return ports;
}

function configuration(folder: string, ports: readonly number[], options: NginxOptions): string {
  const user = process.getuid?.() === 0 ? 'user root;' : '';
  const folders = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  return `
    ${user}
    daemon off;
    worker_processes 1;
    pid ${folder}/nginx.pid;
    error_log ${folder}/error.log warn;
    events { worker_connections 256; }
    http {
      access_log off;
      ${folders.map(name => `${name}_temp_path ${folder}/${name};`).join('\n      ')}
      keepalive_requests ${options.requestsPerConnection ?? 1_000};
      upstream backend { server ${new URL(options.backend).host}; keepalive 4; }
      server {
        listen 127.0.0.1:${ports[0]};
        listen 127.0.0.1:${ports[1]} ssl;
        listen unix:${folder}/nginx.sock;
        ssl_certificate ${folder}/certificate.pem;
        ssl_certificate_key ${folder}/key.pem;
        location /backend/ {
          proxy_pass http://backend/;
          proxy_http_version 1.1;
          proxy_set_header Connection "";
        }
        location /files/ { alias ${folder}/; }
        location / { return 200 "$request_method $request_uri"; }
      }
    }`;
}

async function answers(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

export async function startNginx(options: NginxOptions): Promise<Nginx> {
  const folder = mkdtempSync(join(tmpdir(), 'hotlane-nginx-'));
  const paths = { key: join(folder, 'key.pem'), certificate: join(folder, 'certificate.pem') };
  execFileSync(
    'openssl',
    // biome-ignore format: one line for each argument says no more
    ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2', '-subj', '/CN=localhost',
      '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1', '-keyout', paths.key, '-out', paths.certificate],
    { stdio: 'ignore' },
  );
  const ports = await freePorts(2);
  const config = join(folder, 'nginx.conf');
  writeFileSync(config, configuration(folder, ports, options));

  // The shell waits until its input ends, which it does however this process ends, and clears everything away then.
  const script = `trap '' INT TERM HUP
    ${NGINX} -p "$0" -e "$0/error.log" -c "$0/nginx.conf" </dev/null & child=$!
    cat >/dev/null
    kill "$child" 2>/dev/null; wait "$child"; rm -rf "$0"`;
  const shell = spawn('/bin/sh', ['-c', script, folder], { stdio: ['pipe', 'ignore', 'ignore'] });
  const exited = once(shell, 'exit');
  const close = async () => {
    shell.stdin.end();
    await exited;
  };
  for (let tries = 0; !(await answers(ports[0]!)); tries++) {
    if (tries === 200) {
      const log = existsSync(`${folder}/error.log`) ? readFileSync(`${folder}/error.log`, 'utf8') : 'no log';
      await close();
      throw new Error(`nginx does not start: ${log}`);
    }
    await sleep(10);
  }
  return {
    http: `http://127.0.0.1:${ports[0]}`,
    https: `https://127.0.0.1:${ports[1]}`,
    certificate: readFileSync(paths.certificate, 'utf8'),
    socketPath: join(folder, 'nginx.sock'),
    close,
    [Symbol.asyncDispose]: close,
  };
}
