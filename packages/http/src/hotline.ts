import type { EventEmitter } from 'node:events';
import { Dispatcher, errors } from 'undici';
import type { Handler } from './exchange.ts';
import { Knowledge } from './known.ts';
import { type HotlineOptions, type ResolvedOptions, resolveOptions } from './options.ts';
import { Origin, type OriginOwner, type OriginStats } from './origin.ts';
import type { RequestOptions } from './request.ts';
import type { TrustRecord, TrustState } from './trust.ts';
import { field } from './urgency.ts';

/** What a Hotline knows of one origin. All times are in milliseconds. */
export interface HotlineStats extends OriginStats {
  /** How far the origin is trusted with pipelines. */
  readonly trust: TrustState;
  /** The shortest round trip; 0 while none is known. */
  readonly rttMs: number;
  /** How long the server takes, on the average, to begin with a response whose turn it is. */
  readonly thinkMs: number;
  /** What the link carries, in bytes a second; 0 while nothing is known. */
  readonly bytesPerSecond: number;
}

/** How often connections are made ahead although that was of little use lately. */
const AHEAD_TRIED = 1 / 32;

type Callback = (error: Error | null, data: null) => void;

/**
 * An undici `Dispatcher` that keeps HTTP/1.1 pipelines full: many small requests to one origin take a fraction of the round
 * trips. It stands wherever undici's `Agent`, or with an origin `Pool` or `Client`, can stand.
 *
 * How many connections there are to an origin, how many requests are on each, and which goes where is learned from how the
 * origin answers. Only requests that may run twice share a connection (RFC 9112, 9.3.2); the others have one to themselves
 * while they last. An origin that breaks pipelines is asked for one response at a time.
 *
 * Events are undici's: `connect`, `disconnect`, `connectionError`, `drain`, each with the origin's URL and the dispatchers, and
 * the second and third with the error.
 */
export class Hotline extends Dispatcher implements OriginOwner {
  readonly #options: ResolvedOptions;
  readonly #origin: string | null;
  readonly #knowledge: Knowledge;
  /** By what was asked for: an origin, and for TLS the server's name if that is another. */
  readonly #origins = new Map<string, Origin>();
  readonly #webSocket: HotlineOptions['webSocket'];
  readonly #eventSource: HotlineOptions['eventSource'];
  #closing: Promise<null> | null = null;
  #destroying: Promise<null> | null = null;
  #isEnded = false;
  /** Of the connections that were made ahead of requests, the part that was used lately. */
  #aheadUse = 1;

  /**
   * @param origin for requests that name none, like `'http://localhost:3000'`
   * @param options see `HotlineOptions`
   * @throws HotlaneError OPTION; `InvalidArgumentError` of undici for options of its own, and for a URL that is none
   */
  constructor(origin: string | URL, options?: HotlineOptions);
  constructor(options?: HotlineOptions);
  constructor(first: string | URL | HotlineOptions = {}, second: HotlineOptions = {}) {
    super();
    const isOrigin = typeof first === 'string' || first instanceof URL;
    const options = isOrigin ? second : first;
    this.#origin = isOrigin ? nameOf(first) : null;
    this.#options = resolveOptions(options);
    this.#webSocket = options.webSocket;
    this.#eventSource = options.eventSource;
    this.#knowledge = new Knowledge(this.#options.maxDepth);
    this.#knowledge.import(this.#options.trust);
    // What `compose` returns is a proxy, on which methods would be called.
    for (const name of ['close', 'destroy', 'stats', 'trust'] as const) {
      Object.defineProperty(this, name, { value: this[name].bind(this) });
    }
  }

  /** Where requests go that name no origin; null where each must name one. */
  get origin(): string | null {
    return this.#origin;
  }

  get closed(): boolean {
    return this.#closing !== null || this.#destroying !== null;
  }

  get destroyed(): boolean {
    return this.#destroying !== null || this.#isEnded;
  }

  /** What undici's `WebSocket` and `EventSource` look for in their dispatcher. */
  get webSocketOptions(): HotlineOptions['webSocket'] {
    return this.#webSocket;
  }

  get eventSourceOptions(): HotlineOptions['eventSource'] {
    return this.#eventSource;
  }

  /**
   * Takes a request: see undici's `Dispatcher.dispatch`. Beside undici's options, `priority` and `solo` are taken.
   *
   * @returns false where it is better to wait for the event `drain` before the next
   */
  override dispatch(options: RequestOptions, handler: Handler): boolean {
    checkHandler(handler);
    try {
      if (this.#destroying !== null) throw new errors.ClientDestroyedError();
      if (this.closed) throw new errors.ClientClosedError();
      return this.#originOf(options).submit(options, handler);
    } catch (error) {
      refuse(handler, error as Error);
      return false;
    }
  }

  /** As in undici; interceptors see the origin that requests go to, also where the request names none. */
  override compose(...interceptors: Dispatcher.DispatchInterceptor[]): Dispatcher.ComposedDispatcher;
  override compose(interceptors: Dispatcher.DispatchInterceptor[]): Dispatcher.ComposedDispatcher;
  override compose(
    ...interceptors: (Dispatcher.DispatchInterceptor | Dispatcher.DispatchInterceptor[])[]
  ): Dispatcher.ComposedDispatcher {
    const all = interceptors.flat();
    const { origin } = this;
    if (origin === null) return super.compose(all);
    return super.compose([
      ...all,
      dispatch => (options, handler) =>
        dispatch(options.origin === undefined ? { ...options, origin } : options, handler),
    ]);
  }

  /** What is known of each origin that has requests or connections now. */
  stats(): Record<string, HotlineStats> {
    const stats: Record<string, HotlineStats> = {};
    for (const [key, origin] of this.#origins) {
      const { rttMs, thinkMs, rate } = origin.link;
      const trust = origin.trust.state(Date.now());
      stats[key] = { ...origin.stats(), trust, rttMs, thinkMs, bytesPerSecond: rate * 1_000 };
    }
    return stats;
  }

  /** How far each origin is trusted with pipelines: ready for JSON, and for the option `trust` of another Hotline. */
  trust(): Record<string, TrustRecord> {
    return this.#knowledge.export();
  }

  /** Takes no more requests; resolves when those that were taken have their responses and all connections are closed. */
  override close(): Promise<void>;
  override close(callback: () => void): void;
  override close(callback?: Callback | (() => void)): Promise<void> | void {
    if (this.destroyed && this.#closing === null) {
      return answer(Promise.reject(new errors.ClientDestroyedError()), callback);
    }
    this.#closing ??= Promise.all([...this.#origins.values()].map(origin => origin.close())).then(() => {
      this.#isEnded = true;
      return null;
    });
    return answer(this.#closing, callback);
  }

  /**
   * Fails all requests that have no response yet, and ends all connections.
   *
   * @param error what they fail with; an undici `ClientDestroyedError` when it is left out
   */
  override destroy(): Promise<void>;
  override destroy(error: Error | null): Promise<void>;
  override destroy(callback: () => void): void;
  override destroy(error: Error | null, callback: () => void): void;
  override destroy(first?: Error | null | (() => void), second?: () => void): Promise<void> | void {
    const [error, callback] = typeof first === 'function' ? [null, first] : [first, second];
    const reason = error ?? new errors.ClientDestroyedError();
    // Later, so that what handlers ask for when they hear of it is refused already.
    this.#destroying ??= Promise.resolve()
      .then(() => Promise.all([...this.#origins.values()].map(origin => origin.destroy(reason))))
      .then(() => null);
    return answer(this.#destroying, callback);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  // ---- origins --------------------------------------------------------------------------------------------

  #originOf(options: RequestOptions): Origin {
    if (typeof options !== 'object' || options === null) {
      throw new errors.InvalidArgumentError('opts must be an object.');
    }
    const given = options.origin ?? this.#origin;
    if (given === null) {
      const what = 'Name one in the request, as `origin`, or for all of them: new Hotline(origin).';
      throw new errors.InvalidArgumentError(`The request to ${options.path} has no origin. ${what}`);
    }
    const asked = typeof given === 'string' ? given : given.origin;
    const servername = asked.startsWith('https') ? servernameOf(options) : null;
    const key = servername === null ? asked : `${asked} ${servername}`;
    const found = this.#origins.get(key);
    if (found !== undefined) return found;
    return this.#addOrigin(nameOf(asked), servername);
  }

  #addOrigin(name: string, servername: string | null): Origin {
    const isOwn = servername === null || servername === new URL(name).hostname;
    const key = isOwn ? name : `${name} ${servername}`;
    const found = this.#origins.get(key);
    if (found !== undefined) return found;
    const origin = new Origin(name, isOwn ? null : servername, this.#knowledge.of(key), this.#options, this);
    this.#origins.set(key, origin);
    return origin;
  }

  onConnect({ name }: Origin): void {
    this.#emit('connect', name, [this]);
  }

  onDisconnect({ name }: Origin, cause: unknown): void {
    this.#emit('disconnect', name, [this], cause ?? new errors.InformationalError('closed'));
  }

  onConnectError({ name }: Origin, cause: unknown): void {
    this.#emit('connectionError', name, [this], cause);
  }

  makesAhead(): boolean {
    return this.#aheadUse >= 0.5 || Math.random() < AHEAD_TRIED;
  }

  onMadeAhead(wasUsed: boolean): void {
    this.#aheadUse += (Number(wasUsed) - this.#aheadUse) / 8;
  }

  onDrain({ name }: Origin): void {
    this.#emit('drain', name, [this]);
  }

  #emit(event: string, origin: string, ...rest: unknown[]): void {
    (this as EventEmitter).emit(event, new URL(origin), ...rest);
  }

  onEmpty(origin: Origin): void {
    for (const [key, each] of this.#origins) {
      if (each !== origin || this.closed) continue;
      this.#origins.delete(key);
      void origin.close(); // lets go of its timer
    }
  }
}

/** @returns scheme, host and port, as URLs have them */
function nameOf(origin: string | URL): string {
  let url: URL;
  try {
    url = new URL(origin);
  } catch (cause) {
    throw new errors.InvalidArgumentError(
      `\`origin\`: expected a URL, got ${JSON.stringify(String(origin))}.`,
      {
        cause,
      },
    );
  }
  const isHttp = url.protocol === 'http:' || url.protocol === 'https:';
  if (isHttp && url.pathname === '/' && url.search === '' && url.hash === '') return url.origin;
  throw new errors.InvalidArgumentError(
    `\`origin\`: expected a URL of http or https without a path, got ${JSON.stringify(String(origin))}.`,
  );
}

/** The name that the server's certificate must have, where a request asks for another than its origin's. */
function servernameOf({
  servername,
  headers,
}: RequestOptions & { servername?: string | null }): string | null {
  if (servername) return servername;
  const host = field(headers, 'host');
  return host === null ? null : host.replace(/:\d+$/, '');
}

function checkHandler(handler: unknown): void {
  const { onResponseError, onError } = (handler ?? {}) as Record<string, unknown>;
  if (typeof onResponseError === 'function' || typeof onError === 'function') return;
  throw new errors.InvalidArgumentError('handler must be an object with the method onResponseError');
}

function refuse(handler: Handler, error: Error): void {
  if ('onResponseError' in handler) handler.onResponseError!(null as never, error);
  else (handler as { onError(error: Error): void }).onError(error);
}

/** Promises and callbacks, as undici has both. */
function answer(done: Promise<null>, callback: Callback | (() => void) | undefined): Promise<void> | void {
  if (callback === undefined) return done as Promise<never>;
  done.then(
    () => callback(null, null),
    error => callback(error, null),
  );
}
