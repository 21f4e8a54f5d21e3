import type { Dispatcher } from 'undici';

/** Connections that each contender may have. */
export const CONNECTIONS = 4;

/** A connection may take this long: lost packets delay it by seconds. */
export const CONNECT_TIMEOUT_MS = 60_000;

/** A way to bring requests onto connections. */
export interface Contender {
  readonly name: string;
  readonly settings: string;
  /** It wants HTTP/2, over TLS. */
  readonly isHttp2: boolean;
  /** HTTP/1.1 on four connections: what ours is compared with. */
  readonly isPeer: boolean;
  /** What it does hangs on how many requests a connection may have outstanding. */
  readonly hasQuota: boolean;
  /**
   * Null for a browser, which loads the page by itself.
   *
   * @param quota how many requests a connection may have outstanding
   * @throws Error when there is no such dispatcher here
   */
  readonly open: ((origin: string, quota: number) => Promise<Opened>) | null;
}

export interface Opened {
  readonly dispatcher: Dispatcher;
  /** Goes with each request; undefined leaves undici's default. */
  readonly blocking: boolean | undefined;
  /** What it counted, where it counts. */
  readonly stats?: () => unknown;
}
