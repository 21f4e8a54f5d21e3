import type { IncomingHttpHeaders } from 'node:http';
import type { Duplex, Readable } from 'node:stream';
import { Call } from 'hotlane/lanes';
import type { Dispatcher } from 'undici';
import { errors } from 'undici';
import { isLegacy, LegacyAdapter, type LegacyHandler } from './legacy.ts';
import { type Manner, mannerOf, type RequestOptions, wireOptions } from './request.ts';
import { urgencyOf } from './urgency.ts';

export type Handler = Dispatcher.DispatchHandler | LegacyHandler;
/** Header fields or trailers: as an object, and as they came. */
export interface Fields {
  readonly parsed: IncomingHttpHeaders;
  readonly raw: Dispatcher.DispatchController['rawHeaders'];
}

/** Whoever sends exchanges on their way. */
export interface ExchangeOwner {
  /** The name that the server shall have. */
  readonly servername: string;
  /** Its caller wants nothing more of it. */
  cancel(exchange: Exchange, reason: Error): void;
  /** Its caller has heard the last of it. */
  onSettled(exchange: Exchange, failed: boolean): void;
}

/** What an exchange can ask of the connection that it is on. */
export interface Flow {
  pause(): void;
  resume(): void;
}

/**
 * One request and its response, from `dispatch` until its handler has heard the last of it. On its way it may be on several
 * connections, one after the other; its handler notices nothing of that.
 */
export class Exchange extends Call {
  readonly manner: Manner;
  /** What a connection's client is given. */
  readonly wire: Dispatcher.DispatchOptions;
  /** It has been in vain once: it goes alone on its connection now. */
  alone = false;
  /** How often its connection was lost while it was this one's turn. */
  failures = 0;
  /** What became of its last connection: why that was lost, and whether the exchange may go on another. */
  lost: { readonly cause: Error; readonly again: boolean } | null = null;
  /** Part of its request is still to be read and sent. */
  isUploading: boolean;
  /** No connection has it, and none will. */
  isFree = false;
  /** The connection's, while the response arrives. */
  flow: Flow | null = null;
  readonly #owner: ExchangeOwner;
  readonly #handler: Dispatcher.DispatchHandler;
  readonly #controller: Controller;
  /** What arrived while the handler wanted a pause. */
  readonly #held: Buffer[] = [];
  #heldBytes = 0;
  /** The response's end, if that arrived while the handler wanted a pause. */
  #heldEnd: Fields | null = null;
  #isDelivering = false;
  #onBodyError: ((error: Error) => void) | null = null;

  constructor(owner: ExchangeOwner, options: RequestOptions, handler: Handler) {
    super(0); // a connection has but one function
    checkPriority(options.priority);
    this.#owner = owner;
    this.#handler = isLegacy(handler) ? new LegacyAdapter(handler) : handler;
    this.manner = mannerOf(options);
    this.wire = wireOptions(options, this.manner, owner.servername);
    this.priority = options.priority ?? urgencyOf(this.wire.headers);
    this.#controller = new Controller(this);
    this.isUploading = options.body != null && !this.manner.repeatable;
    if (isStream(options.body)) this.#watch(options.body);
  }

  /** Whether nothing may be before it or behind it on its connection. */
  get solo(): boolean {
    return this.alone || this.manner.solo;
  }

  get heldBytes(): number {
    return this.#heldBytes;
  }

  get isPaused(): boolean {
    return this.#controller.paused;
  }

  /** Tells the handler that it may cancel from now on. */
  begin(): void {
    this.#call(() => this.#handler.onRequestStart?.(this.#controller, null));
  }

  abort(reason: Error): void {
    if (!this.settled) this.#owner.cancel(this, reason ?? new errors.RequestAbortedError());
  }

  // ---- what arrives ---------------------------------------------------------------------------------------

  onFirstByte(): void {
    this.#call(() => this.#handler.onResponseStarted?.());
  }

  onHeaders(status: number, headers: Fields, statusText: string | undefined): void {
    this.#controller.rawHeaders = headers.raw;
    this.#call(() => this.#handler.onResponseStart?.(this.#controller, status, headers.parsed, statusText));
  }

  onData(chunk: Buffer): void {
    if (this.settled) return;
    if (this.#controller.paused || this.#held.length > 0) {
      this.#held.push(chunk);
      this.#heldBytes += chunk.length;
    } else this.#call(() => this.#handler.onResponseData?.(this.#controller, chunk));
  }

  onUpgrade(status: number, headers: Fields, socket: Duplex): void {
    this.#controller.rawHeaders = headers.raw;
    this.#call(() => this.#handler.onRequestUpgrade?.(this.#controller, status, headers.parsed, socket));
    // Aborted before, or by its handler just now: then the socket is nobody's.
    if (this.settled) socket.destroy();
    else this.#settle(false);
  }

  onBodySent(chunk: Buffer): void {
    this.#call(() => this.#handler.onBodySent?.(chunk));
  }

  onRequestSent(): void {
    this.isUploading = false;
    this.#call(() => this.#handler.onRequestSent?.());
  }

  // ---- the end --------------------------------------------------------------------------------------------

  /** The response is here, to its end; its handler may still have a pause. */
  complete(trailers: Fields): void {
    if (this.settled) return;
    this.flow = null;
    if (this.#controller.paused || this.#held.length > 0) {
      this.#heldEnd = trailers;
      return;
    }
    this.#controller.rawTrailers = trailers.raw;
    this.#settle(false);
    try {
      this.#handler.onResponseEnd?.(this.#controller, trailers.parsed);
    } catch (error) {
      this.#tellError(error as Error);
    }
  }

  fail(error: Error): void {
    if (this.settled) return;
    this.flow = null;
    this.#controller.end(error);
    this.#held.length = 0;
    this.#heldBytes = 0;
    this.#heldEnd = null;
    const { body } = this.wire;
    this.#settle(true);
    if (isStream(body) && !body.destroyed) body.on('error', ignore).destroy(error);
    this.#tellError(error);
  }

  /** There is nobody left to tell what this throws, and others may wait to be told of the same error. */
  #tellError(error: Error): void {
    try {
      this.#handler.onResponseError?.(this.#controller, error);
    } catch (thrown) {
      queueMicrotask(() => {
        throw thrown;
      });
    }
  }

  #settle(failed: boolean): void {
    this.settled = true;
    this.#unwatch();
    this.#owner.onSettled(this, failed);
  }

  // ---- pauses ---------------------------------------------------------------------------------------------

  pause(): void {
    this.flow?.pause();
  }

  resume(): void {
    if (this.#isDelivering) return;
    this.#isDelivering = true;
    while (this.#held.length > 0 && !this.#controller.paused && !this.settled) {
      const chunk = this.#held.shift()!;
      this.#heldBytes -= chunk.length;
      this.#call(() => this.#handler.onResponseData?.(this.#controller, chunk));
    }
    this.#isDelivering = false;
    if (this.#controller.paused || this.settled) return;
    if (this.#heldEnd !== null) this.complete(this.#heldEnd);
    else this.flow?.resume();
  }

  // ---- its body -------------------------------------------------------------------------------------------

  #unwatch(): void {
    if (this.#onBodyError === null) return;
    (this.wire.body as Readable).off('error', this.#onBodyError);
    this.#onBodyError = null;
  }

  /** A body that fails fails the request, not the process: also while it waits, or waits again. */
  #watch(body: Readable): void {
    this.#onBodyError = error => this.abort(error);
    body.on('error', this.#onBodyError);
  }

  /** What a handler throws is the end of its exchange. */
  #call(deliver: () => void): void {
    if (this.settled) return;
    try {
      deliver();
    } catch (error) {
      this.abort(error as Error);
    }
  }
}

/** What the handler of an exchange is given to steer it by. */
class Controller implements Dispatcher.DispatchController {
  rawHeaders: Fields['raw'] = null;
  rawTrailers: Fields['raw'] = null;
  reason: Error | null = null;
  aborted = false;
  paused = false;
  readonly #exchange: Exchange;

  constructor(exchange: Exchange) {
    this.#exchange = exchange;
  }

  abort(reason: Error): void {
    if (!this.aborted) this.#exchange.abort(reason);
  }

  pause(): void {
    if (this.paused) return;
    this.paused = true;
    this.#exchange.pause();
  }

  resume(): void {
    if (!this.paused) return;
    this.paused = false;
    this.#exchange.resume();
  }

  /** The exchange has failed. */
  end(reason: Error): void {
    this.aborted = true;
    this.reason = reason;
  }
}

function checkPriority(priority: unknown): void {
  if (priority === undefined || Number.isFinite(priority)) return;
  throw new errors.InvalidArgumentError(`\`priority\`: expected a finite number, got ${String(priority)}.`);
}

function isStream(body: unknown): body is Readable {
  return typeof (body as Readable | null)?.pipe === 'function' && typeof (body as Readable).on === 'function';
}

function ignore(): void {}
