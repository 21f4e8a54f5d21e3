import type { IncomingHttpHeaders } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Dispatcher } from 'undici';
import type { Exchange, Fields } from './exchange.ts';

/** What a connection hears of the attempts on it. */
export interface AttemptOwner {
  onSent(attempt: Attempt): void;
  onFirstByte(attempt: Attempt): void;
  onHeaders(attempt: Attempt, status: number, headers: Fields, statusText: string | undefined): void;
  onData(attempt: Attempt, chunk: Buffer): void;
  onEnd(attempt: Attempt, trailers: Fields): void;
  onUpgrade(attempt: Attempt, status: number, headers: Fields, socket: Duplex): void;
  onError(attempt: Attempt, error: Error): void;
}

/** An attempt was taken back before its request was sent. */
const WITHDRAWN = new Error('taken back before it was sent');

/** One exchange on one connection, as the connection's client sees it: its handler. */
export class Attempt implements Dispatcher.DispatchHandler {
  readonly exchange: Exchange;
  /** Its request is on the wire, or on its way there: the server may act on it. */
  sent = false;
  sentAt = 0;
  /** What had arrived over all connections when it was sent, in bytes. */
  receivedAtSent = 0;
  /** Its response has begun, and when. */
  begun = false;
  begunAt = 0;
  /** The final response's header is here. */
  answered = false;
  /** Bytes of its body so far; and when the first came, and what had arrived by then over all connections. */
  bytes = 0;
  bodyAt = 0;
  receivedAtBody = 0;
  /** How long its body is, as far as is known; −1 where it is not. */
  length = -1;
  /** Its response is a stream of events, which ends when somebody wants it to. */
  isEndless = false;
  /** Interim responses so far. */
  interim = 0;
  error: Error | null = null;
  /** Its connection has let go of it: what still comes is nobody's. */
  over = false;
  /** It was sent while others before it were not answered. */
  wasPipelined = false;
  client: Dispatcher.DispatchController | null = null;
  readonly #owner: AttemptOwner;

  constructor(exchange: Exchange, owner: AttemptOwner) {
    this.exchange = exchange;
    this.#owner = owner;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    // The client drops a request whose handler throws here, and keeps its connection.
    if (this.over) throw WITHDRAWN;
    this.client = controller;
    this.#owner.onSent(this);
  }

  onResponseStarted(): void {
    if (!this.over) this.#owner.onFirstByte(this);
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: IncomingHttpHeaders,
    statusText?: string,
  ): void {
    if (!this.over) this.#owner.onHeaders(this, status, fields(headers, controller?.rawHeaders), statusText);
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    // An empty one comes after each pause: a handler that pauses at every chunk would never see another.
    if (!this.over && chunk.length > 0) this.#owner.onData(this, chunk);
  }

  onResponseEnd(controller: Dispatcher.DispatchController, trailers: IncomingHttpHeaders): void {
    if (!this.over) this.#owner.onEnd(this, fields(trailers, controller?.rawTrailers));
  }

  onRequestUpgrade(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: IncomingHttpHeaders,
    socket: Duplex,
  ): void {
    if (!this.over) this.#owner.onUpgrade(this, status, fields(headers, controller?.rawHeaders), socket);
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (!this.over) this.#owner.onError(this, error);
  }

  onBodySent(chunk: Buffer): void {
    if (!this.over) this.exchange.onBodySent(chunk);
  }

  onRequestSent(): void {
    if (!this.over) this.exchange.onRequestSent();
  }
}

function fields(parsed: IncomingHttpHeaders, raw: Fields['raw']): Fields {
  return { parsed, raw };
}
