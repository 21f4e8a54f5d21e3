import type { Dispatcher } from 'undici';

/** What Hotline takes beside undici's own options of a request. */
export interface RequestHints {
  /** Which goes first among those that wait: higher ones. One step is a head start of a second. @default 0 */
  readonly priority?: number;
  /** True: the request is alone on its connection, nothing before it and nothing behind. @default false */
  readonly solo?: boolean;
}

export type RequestOptions = Dispatcher.DispatchOptions & RequestHints;

/** How a request may be sent. */
export interface Manner {
  /** It may run twice: so it may be in a pipeline, and is sent again when its connection is lost before its response began. */
  readonly repeatable: boolean;
  /** Nothing may be on the connection before it or behind it. */
  readonly solo: boolean;
  /** Nothing is sent behind it until its response begins. */
  readonly blocking: boolean;
}

/** RFC 9110, 9.2.2, and QUERY. */
const IDEMPOTENT = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE', 'PUT', 'DELETE', 'QUERY']);
/** Those whose requests have bodies as a rule; a body of others makes some servers lose count of what belongs to what. */
const WITH_BODY = new Set(['PUT', 'QUERY']);

export function mannerOf(options: RequestOptions): Manner {
  const { method, body, upgrade } = options;
  const idempotent = (options.idempotent ?? IDEMPOTENT.has(method)) && method !== 'CONNECT' && !upgrade;
  const bytes = isBytes(body);
  const fits = body == null || (bytes && (body.length === 0 || WITH_BODY.has(method)));
  const apart = options.solo === true || options.reset === true || options.expectContinue === true;
  return {
    repeatable: idempotent && (body == null || bytes),
    solo: apart || !idempotent || !fits,
    blocking: options.blocking === true,
  };
}

/** All of it is here, and stays after it was sent. */
function isBytes(body: unknown): body is string | Uint8Array {
  return typeof body === 'string' || body instanceof Uint8Array;
}

/**
 * What the connection's client is given: as it was asked for, but for what is decided here.
 *
 * @param servername of all requests to the origin
 */
export function wireOptions(
  options: RequestOptions,
  manner: Manner,
  servername: string,
): Dispatcher.DispatchOptions & { servername: string } {
  return {
    ...options,
    // Where one names its host, and the one before it did not, the client would close its connection.
    servername,
    headers: asTheyAre(options.headers),
    // The client holds nothing back: when a request goes is not its business.
    blocking: false,
    idempotent: manner.solo ? options.idempotent : true,
    // It would close the connection after each HEAD, for the sake of servers that send a body; such a body is noticed.
    reset: options.reset ?? (manner.solo ? undefined : false),
  };
}

/** The request may wait, and be sent more than once: meanwhile headers may be changed, and some can be read only once. */
function asTheyAre(headers: RequestOptions['headers']): RequestOptions['headers'] {
  if (typeof headers !== 'object' || headers === null) return headers;
  if (Array.isArray(headers)) return [...headers];
  return Symbol.iterator in headers ? new Set(headers) : { ...headers };
}
