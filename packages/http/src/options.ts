import { HotlaneError } from 'hotlane';
import { buildConnector, Client } from 'undici';
import { TRIAL_DEPTH, type TrustRecord, type TrustState } from './trust.ts';

type Connector = ReturnType<typeof buildConnector>;

/** Options of a Hotline. All of undici's `Client.Options` are taken too, but for `pipelining`, which is learned. */
export interface HotlineOptions extends Omit<Client.Options, 'pipelining'> {
  /**
   * The most connections to one origin. There are as many as it takes: a connection is made when requests would wait
   * longer than that takes.
   * @default 256
   */
  readonly connections?: number;
  /**
   * The most requests on one connection. How many there are is learned; 1 is no pipelining at all.
   * @default 16
   */
  readonly maxDepth?: number;
  /**
   * How many requests to one origin may wait for room; one more fails with `ERR_HOTLANE_QUEUE_FULL`.
   * @default Infinity
   */
  readonly maxQueue?: number;
  /** What `hotline.trust()` gave once: how far each origin is trusted with pipelines. Nothing is known when it is left out. */
  readonly trust?: Readonly<Record<string, TrustRecord>>;
}

export interface ResolvedOptions {
  readonly connections: number;
  readonly maxDepth: number;
  readonly maxQueue: number;
  readonly trust: Readonly<Record<string, TrustRecord>>;
  readonly connect: Connector;
  readonly localAddress: string | null;
  /** In milliseconds: for how long a connection may be idle, and for how long if the server asks for it. */
  readonly keepAliveTimeout: number;
  readonly keepAliveMaxTimeout: number;
  readonly maxRequestsPerClient: number;
  readonly maxResponseBytes: number;
  /** What each connection's client is given. */
  readonly client: Client.Options;
}

const OWN = ['connections', 'maxDepth', 'maxQueue', 'trust'];
const DEFAULT_CONNECTIONS = 256;
const DEFAULT_DEPTH = 16;
const KEEP_ALIVE_MS = 4_000;
const LONGEST_KEEP_ALIVE_MS = 600_000;
/** The longest that a timer of Node can be. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;
const STATES: readonly TrustState[] = ['unknown', 'proven', 'broken'];

/** @throws HotlaneError OPTION; `InvalidArgumentError` of undici for options of its own */
export function resolveOptions(options: HotlineOptions): ResolvedOptions {
  if (typeof options !== 'object' || options === null) {
    throw wrong('options', 'an object', options);
  }
  for (const name of Object.keys(options)) refuseMisspelt(name);
  if ('pipelining' in options) {
    const what = 'How many requests go on one connection is learned; `maxDepth` says how many at the most.';
    throw new HotlaneError('OPTION', `\`pipelining\` is no option of a Hotline. ${what}`);
  }
  const { connections, maxDepth, maxQueue, trust, ...undici } = options;
  // A client says what is wrong with its options; the first that is used would be too late to say so.
  new Client('http://localhost', undici);
  const { connect, connectTimeout, maxCachedSessions, allowH2, socketPath, localAddress } = undici;
  const { autoSelectFamily, autoSelectFamilyAttemptTimeout } = undici;
  const { maxRequestsPerClient, maxResponseSize, ...client } = undici;
  const keepAliveTimeout = Math.min(undici.keepAliveTimeout ?? KEEP_ALIVE_MS, LONGEST_TIMER_MS);
  const keepAliveMaxTimeout = Math.min(undici.keepAliveMaxTimeout ?? LONGEST_KEEP_ALIVE_MS, LONGEST_TIMER_MS);
  const families = { autoSelectFamily, autoSelectFamilyAttemptTimeout };
  return {
    connections: count('connections', connections, DEFAULT_CONNECTIONS),
    maxDepth: count('maxDepth', maxDepth, DEFAULT_DEPTH),
    maxQueue: count('maxQueue', maxQueue, Number.POSITIVE_INFINITY),
    trust: checkTrust(trust ?? {}),
    connect:
      typeof connect === 'function'
        ? withSocketPath(connect, socketPath, allowH2)
        : buildConnector({
            ...(maxCachedSessions !== undefined && { maxCachedSessions }),
            ...(allowH2 !== undefined && { allowH2 }),
            socketPath,
            ...(connectTimeout !== undefined && { timeout: connectTimeout }),
            ...(autoSelectFamily !== undefined && families),
            ...connect,
          }),
    localAddress: localAddress ?? null,
    keepAliveTimeout,
    keepAliveMaxTimeout,
    maxResponseBytes:
      maxResponseSize === undefined || maxResponseSize < 0 ? Number.POSITIVE_INFINITY : maxResponseSize,
    maxRequestsPerClient: maxRequestsPerClient || Number.POSITIVE_INFINITY,
    client: { ...client, keepAliveTimeout, keepAliveMaxTimeout },
  };
}

/** A connector of the user's own is told what undici would tell it. */
function withSocketPath(
  connect: Connector,
  socketPath: string | undefined,
  allowH2: boolean | undefined,
): Connector {
  if (socketPath === undefined && allowH2 === undefined) return connect;
  const more = { ...(socketPath !== undefined && { socketPath }), ...(allowH2 !== undefined && { allowH2 }) };
  return (options, callback) => connect({ ...options, ...more }, callback);
}

/** Others are not refused: undici's `ProxyAgent` hands its own options on to the dispatchers that it makes. */
function refuseMisspelt(name: string): void {
  const meant = OWN.find(own => own !== name && own.toLowerCase() === name.toLowerCase());
  if (meant === undefined) return;
  throw new HotlaneError('OPTION', `\`${name}\` is no option of a Hotline. It is written \`${meant}\`.`);
}

function count(name: string, value: unknown, preset: number): number {
  if (value === undefined) return preset;
  if (value === Number.POSITIVE_INFINITY || (Number.isInteger(value) && (value as number) >= 1)) {
    return value as number;
  }
  throw wrong(name, 'a whole number from 1 on, or Infinity', value);
}

function checkTrust(records: unknown): Readonly<Record<string, TrustRecord>> {
  const expected = 'what `hotline.trust()` gave';
  if (typeof records !== 'object' || records === null) throw wrong('trust', expected, records);
  for (const [origin, record] of Object.entries(records)) {
    const { state, depth, strikes, brokenUntil, closesAfter } = (record ?? {}) as TrustRecord;
    const numbers = [depth - TRIAL_DEPTH + 1, strikes, brokenUntil, closesAfter];
    if (!STATES.includes(state) || !numbers.every(number => Number.isFinite(number) && number >= 0)) {
      throw wrong(`trust[${JSON.stringify(origin)}]`, expected, record);
    }
  }
  return records as Record<string, TrustRecord>;
}

function wrong(name: string, expected: string, came: unknown): HotlaneError {
  const shown = typeof came === 'object' ? JSON.stringify(came) : String(came);
  return new HotlaneError('OPTION', `\`${name}\`: expected ${expected}, got ${shown}.`);
}
