/**
 * What travels between host and lanes beside the messages, which cross as the bytes that the client sent and will get.
 *
 *   unary      call(bytes, …about)    → bytes, or an Answer
 *   the others stream(bytes or an iterable of bytes, …about) → Headers?, bytes…, Metrics?, Ending
 */
import type { ServerUnaryCall } from '@grpc/grpc-js';
import type { MetadataValues } from './metadata.ts';
import type { Recorded } from './metrics.ts';

/** Who the client is, where TLS has asked it. */
export type AuthContext = ReturnType<ServerUnaryCall<unknown, unknown>['getAuthContext']>;

/**
 * The same on its way. The certificate as it is encoded: not as an object, whose keys the client's certificate would choose, and
 * most handlers do not ask for it.
 */
export type Auth = [securityType: string, certificate: Buffer | null];

/** What the lane is told of a call, behind its request. */
export type About = [
  /** Peer, host, and metadata, as `joined` gives them. */
  head: string | MetadataValues,
  /** When the client's patience ends, in milliseconds since the epoch; Infinity for never. */
  deadline: number,
  /** Whether the host wants to know how long the handler kept the lane: see `Answer.ms`. */
  timed: boolean,
  auth: Auth | null,
];

/** How a call ended. */
export interface Ending {
  readonly code: number;
  readonly details: string;
  readonly trailers: MetadataValues | null;
}

/** The answer to a unary call of which there is more to say than its message. */
export interface Answer extends Ending {
  readonly bytes: Buffer | null;
  readonly headers: MetadataValues | null;
  readonly metrics: readonly Recorded[] | null;
  /** How long the handler kept the lane's event loop until it first let go of it, in milliseconds; -1 when nobody asked. */
  readonly ms: number;
}

/** Metadata that goes before the first message. */
export interface Headers {
  readonly headers: MetadataValues;
}

/** What was recorded until the ending, which comes next. */
export interface Metrics {
  readonly metrics: readonly Recorded[];
}

/** What a lane gives for a call whose answers are a stream. */
export type Item = Buffer | Headers | Metrics | Ending;

/** A method as lanes need to know it. */
export interface MethodShape {
  readonly path: string;
  /** The names under which handlers may have it. */
  readonly names: readonly string[];
  readonly requestStream: boolean;
  readonly responseStream: boolean;
}

/** What the lane's module is given. */
export interface LaneSetup {
  /** URL of the user's module with handlers. */
  readonly handlers: string;
  /** URL of the module, or the .proto file, that has the service's definition. */
  readonly definition: string;
  /** `@grpc/proto-loader`'s options, for a .proto file. */
  readonly loader: object;
  readonly methods: readonly MethodShape[];
}

/** A lane's function for a method. */
export type LaneFunction = (
  request: Uint8Array | AsyncIterable<Uint8Array>,
  ...about: About
) => Buffer | Answer | Promise<Buffer | Answer> | AsyncIterable<Item>;
