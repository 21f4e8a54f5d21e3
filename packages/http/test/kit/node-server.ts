/** Node's own HTTP server, with paths that say how late and how long their answers are. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

type Handler = (request: IncomingMessage, response: ServerResponse) => void | Promise<void>;

/** `/any/path?delayMs=20&bytes=3000`: answers so late with so much, the path repeated. */
function byQuery(request: IncomingMessage, response: ServerResponse): void {
  const url = new URL(request.url!, 'http://localhost');
  const bytes = Number(url.searchParams.get('bytes') ?? 0);
  const body = bytes > 0 ? Buffer.alloc(bytes, `${url.pathname}|`) : Buffer.from(url.pathname);
  response.setHeader('x-path', url.pathname);
  response.setHeader('x-method', request.method!);
  const answer = () => response.end(body);
  request.resume().once('end', () => setTimeout(answer, Number(url.searchParams.get('delayMs') ?? 0)));
}

/** What `byQuery` answers to a path. */
export function expectedBody(path: string): string {
  const url = new URL(path, 'http://localhost');
  const bytes = Number(url.searchParams.get('bytes') ?? 0);
  return bytes > 0 ? Buffer.alloc(bytes, `${url.pathname}|`).toString() : url.pathname;
}

export class NodeServer {
  readonly server: Server;
  /** Of each request, in order: method and target. */
  readonly asked: string[] = [];
  connections = 0;

  constructor(handler: Handler = byQuery) {
    this.server = createServer((request, response) => {
      this.asked.push(`${request.method} ${request.url}`);
      void handler(request, response);
    });
    this.server.on('connection', () => {
      this.connections++;
    });
  }

  static async listen(handler?: Handler): Promise<NodeServer> {
    const server = new NodeServer(handler);
    server.server.listen(0, '127.0.0.1');
    await once(server.server, 'listening');
    return server;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  get origin(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  async close(): Promise<void> {
    const closed = once(this.server, 'close');
    this.server.close();
    this.server.closeAllConnections();
    await closed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
