/** A server that does by itself nothing but note what arrives when: the test answers. */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { TrustRecord } from '@hotlane/http';
import { type RequestHead, RequestParser } from './request-parser.ts';

export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly headers: RequestHead['headers'];
  readonly connection: Wire;
  /** Which of the connection's 'data' events brought it, from 0. */
  readonly segment: number;
  /** How many requests before it on its connection had no answer when it came. */
  readonly outstanding: number;
  /** Its body is here too. */
  complete: boolean;
  bodyBytes: number;
  /** Sends all of a response, when those before it have theirs. */
  answer(body?: string | Buffer, fields?: string[], status?: string): void;
  /** Sends a part of a response; the first needs the head. */
  send(bytes: string | Buffer): void;
  /** That was all of it. */
  done(): void;
}

/** One connection as the server sees it. */
export interface Wire {
  readonly index: number;
  readonly socket: Socket;
  /** Those without an answer, oldest first. */
  readonly waiting: readonly Asked[];
  readonly asked: readonly Asked[];
  closed: boolean;
}

export function head(fields: string[], status = '200 OK'): string {
  return `${[`HTTP/1.1 ${status}`, ...fields].join('\r\n')}\r\n\r\n`;
}

function accept(server: RawServer, socket: Socket, index: number): Wire {
  const waiting: (Asked & { parts: (string | Buffer)[]; isDone: boolean })[] = [];
  const asked: Asked[] = [];
  const wire: Wire = { index, socket, waiting, asked, closed: false };
  let segment = -1;
  const flush = () => {
    for (let first = waiting[0]; first !== undefined; first = waiting[0]) {
      for (const part of first.parts.splice(0)) if (!socket.destroyed) socket.write(part);
      if (!first.isDone) return;
      waiting.shift();
    }
  };
  const arrived = (method: string, path: string, headers: RequestHead['headers']) => {
    const request = {
      method,
      path,
      headers,
      connection: wire,
      segment,
      outstanding: waiting.length,
      complete: false,
      bodyBytes: 0,
      parts: [] as (string | Buffer)[],
      isDone: false,
      answer(body: string | Buffer = path, fields: string[] = [], status?: string) {
        const bytes = Buffer.from(body);
        const all = [head([`Content-Length: ${bytes.length}`, ...fields], status), bytes];
        request.parts.push(Buffer.concat(all.map(part => Buffer.from(part))));
        request.done();
      },
      send(bytes: string | Buffer) {
        request.parts.push(bytes);
        flush();
      },
      done() {
        request.isDone = true;
        flush();
      },
    };
    waiting.push(request);
    asked.push(request);
    server.asked.push(request);
    return request;
  };
  const parser = new RequestParser({
    head: ({ method, target, headers }) => arrived(method, target, headers),
    end: bodyBytes => {
      const request = asked.at(-1)!;
      request.complete = true;
      request.bodyBytes = bodyBytes;
      server.onRequest(request);
    },
  });
  socket.setNoDelay(true);
  socket.on('data', chunk => {
    segment++;
    const connect = /^CONNECT (\S+) HTTP/.exec(chunk.toString('latin1'));
    try {
      if (connect === null) parser.write(chunk);
      else server.onRequest(arrived('CONNECT', connect[1]!, new Map()));
    } catch (error) {
      server.malformed.push((error as Error).message);
      socket.destroy();
    }
  });
  socket.on('error', () => {});
  socket.on('close', () => {
    wire.closed = true;
  });
  return wire;
}

export class RawServer {
  /** All requests, in the order in which they came. */
  readonly asked: Asked[] = [];
  readonly wires: Wire[] = [];
  readonly malformed: string[] = [];
  /** Is called with each request when all of it is here. */
  onRequest: (request: Asked) => void;
  /** Is called with each new connection. */
  onWire: (wire: Wire) => void = () => {};
  readonly #server: Server;

  private constructor(onRequest: (request: Asked) => void) {
    this.onRequest = onRequest;
    this.#server = createServer(socket => {
      const wire = accept(this, socket, this.wires.length);
      this.wires.push(wire);
      this.onWire(wire);
    });
  }

  /** @param onRequest what to do with each; left out: they wait until the test answers */
  static async listen(onRequest: (request: Asked) => void = () => {}): Promise<RawServer> {
    const server = new RawServer(onRequest);
    server.#server.listen(0, '127.0.0.1');
    await once(server.#server, 'listening');
    return server;
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** The option by which it is known to deal with pipelines. */
  proven(depth = 16): { trust: Record<string, TrustRecord> } {
    return {
      trust: { [this.origin]: { state: 'proven', depth, strikes: 0, brokenUntil: 0, closesAfter: 0 } },
    };
  }

  /** All requests of these paths, in the order in which they came. */
  of(...paths: string[]): Asked[] {
    return this.asked.filter(({ path }) => paths.includes(path));
  }

  answerAll(): void {
    for (const { waiting } of this.wires) for (const request of [...waiting]) request.answer();
  }

  /** From now on everything is answered at once, and what waits is too. */
  answerAlways(): void {
    this.onRequest = request => request.answer();
    this.answerAll();
  }

  /** Resolves when so many requests have come. */
  async came(count: number): Promise<Asked[]> {
    await until(() => this.asked.length >= count, `${count} requests`);
    return this.asked.slice(0, count);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    for (const { socket } of this.wires) socket.destroy();
    await closed;
  }
}

/** Resolves when it holds; fails when it never does. */
export async function until(holds: () => boolean, what = 'what the test waits for'): Promise<void> {
  const giveUpAt = performance.now() + 10_000;
  while (!holds()) {
    if (performance.now() > giveUpAt) throw new Error(`never came: ${what}`);
    await sleep(1);
  }
}

/** Long enough for what must not happen to happen. */
export function aWhile(): Promise<void> {
  return sleep(40);
}
