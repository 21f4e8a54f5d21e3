/** A server that answers by script, as badly as the script says, and remembers everything that it was asked. */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Answer, answerTo, type Behaviour, fitting, HINT, isGood, isLie, UNASKED } from './answers.ts';
import { type RequestHead, RequestParser } from './request-parser.ts';
import type { Script } from './script.ts';

/** A request as the server saw it arrive. */
export interface Sighting {
  readonly id: string;
  readonly method: string;
  readonly connection: ConnectionLog;
  readonly atMs: number;
  /** 1 for the first time that this id was seen. */
  readonly attempt: number;
  readonly idempotent: boolean;
  /** Its body came in chunks, so it was not at hand as a whole. */
  readonly streamed: boolean;
  /** How many requests on this connection had no complete answer when it arrived. */
  readonly outstanding: number;
  /** A request that is not idempotent stood before it, and its status was not told. */
  readonly behindNonIdempotent: boolean;
  /** A request that was sent again stood before it, unanswered. */
  readonly behindRetry: boolean;
  /** Its connection had lied before, so that the client may have believed something else to be outstanding. */
  readonly afterLie: boolean;
  /** The client had said that it would send nothing more. */
  readonly afterClose: boolean;
  /** What was chosen as its answer; null as long as its turn has not come. */
  behaviour: Behaviour | null;
  /** When all of its answer had been written; Infinity as long as it was not. */
  doneAtMs: number;
}

export interface ConnectionLog {
  readonly index: number;
  /** The server did something that justifies giving the connection up. */
  spoiled: boolean;
  /** The server sent an answer that can be taken for another. */
  lied: boolean;
  /** The client has ended it, or it is gone. */
  ended: boolean;
  /** When. */
  endedAtMs: number;
  /** What the client sent that is no request. */
  malformed: string | null;
}

interface Waiting {
  readonly sighting: Sighting;
  /** As the client says beside its framing. */
  readonly expectedBytes: number | null;
  complete: boolean;
  told: boolean;
}

const IDEMPOTENT = ['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS'];

class Connection {
  readonly log: ConnectionLog;
  readonly #server: BadServer;
  readonly #socket: Socket;
  readonly #gone = new AbortController();
  /** Those without a complete answer, oldest first. */
  readonly #waiting: Waiting[] = [];
  #wake: () => void = () => {};
  #clientCloses = false;
  #answered = 0;

  constructor(server: BadServer, socket: Socket, index: number) {
    this.#server = server;
    this.#socket = socket;
    this.log = {
      index,
      spoiled: false,
      lied: false,
      ended: false,
      endedAtMs: 0,
      malformed: null,
    };
    const parser = new RequestParser({
      head: head => this.#arrived(head),
      end: bodyBytes => {
        const waiting = this.#waiting.at(-1)!;
        const { expectedBytes, sighting } = waiting;
        if (expectedBytes !== null && bodyBytes !== expectedBytes) {
          throw new Error(`the body of ${sighting.id} had ${bodyBytes} of ${expectedBytes} bytes`);
        }
        waiting.complete = true;
        this.#wake();
      },
    });
    socket.setNoDelay(true);
    socket.on('data', chunk => {
      try {
        parser.write(chunk);
      } catch (error) {
        this.log.malformed = (error as Error).message;
        socket.destroy();
      }
    });
    // A client has no reason to end one direction only, so its end is the end.
    socket.on('end', () => this.#ended());
    socket.on('error', () => this.#ended());
    socket.on('close', () => this.#ended());
    void this.#serve();
  }

  destroy(): void {
    this.#socket.destroy();
  }

  #ended(): void {
    this.log.ended = true;
    this.log.endedAtMs = performance.now();
    this.#gone.abort();
    this.#wake();
    this.#socket.destroy();
  }

  #arrived(head: RequestHead): void {
    const id = head.target.split('/').at(-1)!;
    const header = head.headers.get('x-idempotent');
    const sighting: Sighting = {
      id,
      method: head.method,
      connection: this.log,
      atMs: performance.now(),
      attempt: this.#server.count(id),
      idempotent: header === undefined ? IDEMPOTENT.includes(head.method) : header === 'yes',
      streamed: head.headers.has('transfer-encoding') || head.headers.has('x-streamed'),
      outstanding: this.#waiting.length,
      behindNonIdempotent: this.#waiting.some(({ sighting, told }) => !sighting.idempotent && !told),
      behindRetry: this.#waiting.some(({ sighting }) => sighting.attempt > 1),
      afterLie: this.log.lied,
      afterClose: this.#clientCloses,
      behaviour: null,
      doneAtMs: Number.POSITIVE_INFINITY,
    };
    if (/\bclose\b/i.test(head.headers.get('connection') ?? '')) this.#clientCloses = true;
    this.#server.seen.push(sighting);
    const bodyBytes = head.headers.get('x-body-bytes');
    const expectedBytes = bodyBytes === undefined ? null : Number(bodyBytes);
    this.#waiting.push({ sighting, expectedBytes, complete: false, told: false });
  }

  get #over(): boolean {
    return this.#socket.destroyed || this.#socket.writableEnded;
  }

  async #pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.#gone.signal }).catch(() => {});
  }

  async #serve(): Promise<void> {
    const plan = this.#server.script.connection(this.log.index);
    if (plan.greeting !== 'none') this.log.spoiled = true;
    if (plan.greeting === 'reset') this.#socket.resetAndDestroy();
    if (plan.greeting === 'unasked') this.#unasked();
    while (!this.#over) {
      const first = this.#waiting[0];
      if (first === undefined || !first.complete) {
        await new Promise<void>(resolve => {
          this.#wake = resolve;
        });
        continue;
      }
      await this.#answer(first);
      this.#answered++;
      if (this.#over) return;
      if (this.#answered >= plan.closesAfter) {
        this.log.spoiled = true;
        await this.#finish(plan.closesBy);
      } else if (this.#clientCloses && this.#waiting.length === 0) {
        await this.#finish('fin');
      }
    }
  }

  async #answer(waiting: Waiting): Promise<void> {
    const { sighting } = waiting;
    const { id, method, attempt } = sighting;
    const chosen = this.#server.script.answer(id, method, attempt);
    let behaviour = fitting(chosen.behaviour, method);
    if (behaviour === 'swapped') {
      // Only answers that are framed alike can be taken for one another, and there must be two of them.
      const other = method === 'GET' ? this.#waiting[1] : undefined;
      if (other?.complete && other.sighting.method === 'GET') await this.#swapped(other);
      else behaviour = 'plain';
    }
    sighting.behaviour = behaviour;
    if (!isGood(behaviour)) this.log.spoiled = true;
    if (isLie(behaviour)) this.log.lied = true;
    await this.#write(waiting, answerTo(id, method, behaviour, chosen.random));
  }

  /** Sends the answer of a request whose turn has not come. */
  async #swapped(early: Waiting): Promise<void> {
    this.log.spoiled = true;
    this.log.lied = true;
    early.sighting.behaviour = 'swapped';
    const { id, method, attempt } = early.sighting;
    const { random } = this.#server.script.answer(id, method, attempt);
    await this.#write(early, answerTo(id, method, 'swapped', random));
  }

  async #write(waiting: Waiting, answer: Answer): Promise<void> {
    const { bytes } = answer;
    if (answer.beforeMs > 0) await this.#pause(answer.beforeMs);
    for (let at = 0; at < bytes.length && !this.#over; ) {
      const next = Math.min(bytes.length, at + (answer.pieceBytes?.() ?? bytes.length));
      // Before they are written: what a client sends because it has read them can only arrive later.
      if (next >= answer.statusAt) waiting.told = true;
      if (next >= answer.doneAt) this.#done(waiting);
      this.#socket.write(bytes.subarray(at, next));
      at = next;
      if (at < bytes.length) await this.#pause(1);
    }
    if (answer.then !== 'next' && !this.#over) await this.#finish(answer.then);
  }

  #done(waiting: Waiting): void {
    const at = this.#waiting.indexOf(waiting);
    if (at >= 0) this.#waiting.splice(at, 1);
    waiting.sighting.doneAtMs = performance.now();
  }

  async #finish(by: Exclude<Answer['then'], 'next'>): Promise<void> {
    switch (by) {
      case 'reset':
        this.#socket.resetAndDestroy();
        return;
      case 'half-close':
        this.#socket.end();
        return;
      case 'fin':
        this.#socket.end();
        // What is still on its way to a server that has gone is answered with a reset.
        await this.#pause(3);
        this.#socket.destroy();
        return;
      case 'stall':
        await this.#pause(2 ** 30);
        return;
      case 'unasked':
        // Once it idles, if it does soon.
        await this.#pause(2);
        if (this.#waiting.length === 0 && !this.#over) this.#unasked();
        return;
      case 'flood':
        while (!this.#over) {
          if (!this.#socket.writableNeedDrain) this.#socket.write(Buffer.alloc(HINT.length * 50, HINT));
          await this.#pause(1);
        }
    }
  }

  #unasked(): void {
    this.log.spoiled = true;
    this.log.lied = true;
    // It does not close: that is for the client to do.
    this.#socket.write(UNASKED);
  }
}

export class BadServer {
  /** Every request that arrived, in order. */
  readonly seen: Sighting[] = [];
  readonly script: Script;
  readonly #server: Server;
  readonly #connections: Connection[] = [];
  readonly #counts = new Map<string, number>();

  private constructor(script: Script) {
    this.script = script;
    this.#server = createServer({ allowHalfOpen: true }, socket => {
      this.#connections.push(new Connection(this, socket, this.#connections.length));
    });
  }

  static async listen(script: Script): Promise<BadServer> {
    const server = new BadServer(script);
    server.#server.listen(0, '127.0.0.1');
    await once(server.#server, 'listening');
    return server;
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** All that were ever accepted. */
  get connections(): readonly ConnectionLog[] {
    return this.#connections.map(connection => connection.log);
  }

  /** Which attempt of this id it is that has just arrived. */
  count(id: string): number {
    const count = (this.#counts.get(id) ?? 0) + 1;
    this.#counts.set(id, count);
    return count;
  }

  sightingsOf(id: string): Sighting[] {
    return this.seen.filter(sighting => sighting.id === id);
  }

  async close(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    for (const connection of this.#connections) connection.destroy();
    await closed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
