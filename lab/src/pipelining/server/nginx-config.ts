import type { Listener } from './slow-entry.ts';

export interface NginxPlan {
  readonly root: string;
  /** For the process's own files. */
  readonly folder: string;
  readonly sites: readonly {
    readonly port: number;
    /** Also HTTP/2 over TLS, there. */
    readonly tlsPort: number | null;
    /** Who answers for the slow paths; null when there are none. */
    readonly backend: Listener | null;
  }[];
}

/**
 * Debian's configuration as far as it matters here, with connections kept for as long as they are wanted. It is one
 * process, so that none is left when that one is killed.
 */
export function nginxConfig({ root, folder, sites }: NginxPlan): string {
  return `user root;
daemon off;
master_process off;
pid ${folder}/nginx.pid;
error_log ${folder}/error.log;
events { worker_connections 1024; }
http {
  access_log off;
  sendfile on;
  tcp_nopush on;
  gzip off;
  keepalive_timeout 600s;
  keepalive_requests 100000000;
  types { text/html html; text/css css; application/javascript js; image/png png; image/gif gif;
    image/jpeg jpg; image/svg+xml svg; image/x-icon ico; }
  default_type application/octet-stream;
  client_body_temp_path ${folder}/body;
  proxy_temp_path ${folder}/proxy;
  fastcgi_temp_path ${folder}/fastcgi;
  uwsgi_temp_path ${folder}/uwsgi;
  scgi_temp_path ${folder}/scgi;
${sites.map(site => siteConfig(site, root, folder)).join('\n')}
}
`;
}

function siteConfig(
  { port, tlsPort, backend }: NginxPlan['sites'][number],
  root: string,
  folder: string,
): string {
  const tls =
    tlsPort === null
      ? ''
      : `    listen ${tlsPort} ssl http2;
    ssl_certificate ${folder}/certificate.pem;
    ssl_certificate_key ${folder}/key.pem;
`;
  const slow = Object.keys(backend?.waitsMs ?? {}).map(
    path => `    location = ${path} { proxy_pass http://backend-${port}; }`,
  );
  const upstream =
    backend === null
      ? ''
      : `  upstream backend-${port} { server ${backend.host}:${backend.port}; keepalive 16; }\n`;
  return `${upstream}  server {
    listen ${port};
${tls}    root ${root};
    proxy_http_version 1.1;
    proxy_set_header Connection "";
${slow.join('\n')}
  }`;
}
