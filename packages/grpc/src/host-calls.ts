/** The host's side of a call: grpc-js gives it, a lane runs it. */
import type { EventEmitter } from 'node:events';
import type {
  Metadata,
  ServerDuplexStream,
  ServerReadableStream,
  ServerUnaryCall,
  ServerWritableStream,
  sendUnaryData,
} from '@grpc/grpc-js';
import type { Pool } from 'hotlane';
import { CallSignal } from './call-signal.ts';
import { joined, toMetadata, toValues } from './metadata.ts';
import { record } from './metrics.ts';
import type { Moved } from './moved.ts';
import type { MethodOptions } from './options.ts';
import { Requests } from './requests.ts';
import { drained } from './returned.ts';
import { endingOfRefusal, INTERNAL, OK } from './status.ts';
import type { Turn } from './turn.ts';
import type { About, Answer, Ending, Item } from './wire.ts';

export type UnaryCall = ServerUnaryCall<Buffer, Buffer>;
export type Respond = sendUnaryData<Buffer>;
type WritingCall = ServerWritableStream<Buffer, Buffer> | ServerDuplexStream<Buffer, Buffer>;
type AnyCall = UnaryCall | WritingCall | ServerReadableStream<Buffer, Buffer>;

/** The pool's functions, as methods have them. */
type AskLane = (request: Buffer, ...about: About) => Promise<Buffer | Answer>;
type OpenLane = (request: Buffer | Requests, ...about: About) => AsyncIterable<Item>;

/** Hands the calls of one method to lanes. */
export class MethodCalls {
  readonly #pool: Pool<any>;
  readonly #path: string;
  readonly #options: Omit<MethodOptions, 'mode'>;
  readonly #streamOptions: Omit<MethodOptions, 'mode' | 'idempotent'>;
  readonly #turn: Turn;
  readonly #moved: Moved;

  /** @param turn in which unary calls are handed over together. @param moved the service's */
  constructor(
    pool: Pool<any>,
    path: string,
    { mode: _, ...options }: MethodOptions,
    turn: Turn,
    moved: Moved,
  ) {
    this.#pool = pool;
    this.#turn = turn;
    this.#moved = moved;
    this.#path = path;
    this.#options = options;
    const { idempotent: __, ...streamOptions } = options;
    this.#streamOptions = streamOptions;
    pool.with(options); // says now what is wrong with them, not with each call
  }

  /** @param onTimed when given, is told how long the handler kept the lane, in milliseconds */
  unary(call: UnaryCall, respond: Respond, onTimed: ((ms: number) => void) | null): void {
    const { request } = call;
    if (!Buffer.isBuffer(request)) {
      respond(decoded(this.#path));
      return;
    }
    const signal = signalOf(call);
    const deadline = Number(call.getDeadline());
    // Asked now: at the end of the turn the connection may be gone.
    const told = about(call, deadline, onTimed !== null);
    this.#turn.add(() =>
      this.#ask(request, told, signal, deadline).then(
        answer => {
          if (Buffer.isBuffer(answer)) {
            respond(null, answer);
            return;
          }
          if (onTimed !== null && answer.ms >= 0) onTimed(answer.ms);
          if (answer.headers !== null) call.sendMetadata(toMetadata(answer.headers));
          if (answer.metrics !== null) record(call, answer.metrics);
          if (answer.code === OK) respond(null, answer.bytes, trailersOf(answer));
          else respond(statusOf(answer));
        },
        (error: unknown) => respond(statusOf(endingOfRefusal(error))),
      ),
    );
  }

  #ask(request: Buffer, told: About, signal: AbortSignal, deadline: number): Promise<Buffer | Answer> {
    const transfer = this.#options.idempotent ? undefined : this.#moved.take(request);
    const bytes = request.buffer.byteLength;
    const options = { ...this.#options, signal, deadlineMs: msUntil(deadline), transfer };
    const calls = this.#pool.with(options) as Record<string, AskLane>;
    const answer = calls[this.#path](request, ...told);
    if (transfer === undefined) return answer;
    return answer.finally(() => this.#moved.release(bytes));
  }

  serverStream(call: ServerWritableStream<Buffer, Buffer>): void {
    if (!Buffer.isBuffer(call.request)) fail(call, decoded(this.#path));
    else void this.#give(call, this.#open(call, call.request));
  }

  duplexStream(call: ServerDuplexStream<Buffer, Buffer>): void {
    void this.#give(call, this.#open(call, new Requests(call)));
  }

  /** The lane gives one message, as it would give many. */
  async clientStream(call: ServerReadableStream<Buffer, Buffer>, respond: Respond): Promise<void> {
    let message: Buffer | null = null;
    try {
      for await (const item of this.#open(call, new Requests(call))) {
        if (Buffer.isBuffer(item)) message = item;
        else if ('headers' in item) call.sendMetadata(toMetadata(item.headers));
        else if ('metrics' in item) record(call, item.metrics);
        else if (item.code === OK) respond(null, message, trailersOf(item));
        else respond(statusOf(item));
      }
    } catch (error) {
      respond(statusOf(endingOfRefusal(error)));
    }
  }

  #open(call: AnyCall, request: Buffer | Requests): AsyncIterable<Item> {
    const deadline = Number(call.getDeadline());
    const options = { ...this.#streamOptions, signal: signalOf(call), deadlineMs: msUntil(deadline) };
    const calls = this.#pool.streamWith(options) as unknown as Record<string, OpenLane>;
    return calls[this.#path](request, ...about(call, deadline, false));
  }

  /** Writes what the lane gives as fast as the client takes it. */
  async #give(call: WritingCall, items: AsyncIterable<Item>): Promise<void> {
    try {
      for await (const item of items) {
        if (call.destroyed) break;
        if (Buffer.isBuffer(item)) {
          if (!call.write(item)) await drained(call);
        } else if ('headers' in item) {
          call.sendMetadata(toMetadata(item.headers));
        } else if ('metrics' in item) {
          record(call, item.metrics);
        } else if (item.code === OK) {
          call.end(trailersOf(item));
        } else {
          fail(call, statusOf(item));
        }
      }
    } catch (error) {
      if (!call.destroyed) fail(call, statusOf(endingOfRefusal(error)));
    }
  }
}

/** One for all: no stack, and nobody sees it but the handler. */
const gone = new Error('The client has cancelled the call, or its deadline has passed.');

/** Fires when the client leaves, or its deadline passes. */
function signalOf(call: AnyCall): AbortSignal {
  const signal = new CallSignal();
  // It is told of every call's end as well; by then the signal means nothing any more.
  (call as EventEmitter).on('cancelled', () => signal.abort(gone));
  return signal as unknown as AbortSignal;
}

/** @param deadline in milliseconds since the epoch; Infinity for none */
function msUntil(deadline: number): number | undefined {
  return deadline === Number.POSITIVE_INFINITY ? undefined : Math.max(0, deadline - Date.now());
}

function about(call: AnyCall, deadline: number, timed: boolean): About {
  const head = toValues(call.metadata, [call.getPeer(), call.getHost()]);
  return [joined(head), deadline, timed, authOf(call)];
}

function authOf(call: AnyCall): About[3] {
  const auth = call.getAuthContext?.();
  if (auth?.transportSecurityType === undefined) return null;
  return [auth.transportSecurityType, auth.sslPeerCertificate?.raw ?? null];
}

/** grpc-js takes these from an error's properties; with an `Error` it would take the time for a stack as well. */
export function statusOf({ code, details: given, trailers }: Ending): StatusError {
  // Half a character would make the server throw when it writes the status, which nobody could catch.
  const details = given.toWellFormed();
  return {
    name: 'Error',
    message: details,
    code,
    details,
    metadata: trailers === null ? undefined : toMetadata(trailers),
  };
}

export interface StatusError extends Error {
  readonly code: number;
  readonly details: string;
  readonly metadata?: Metadata | undefined;
}

function trailersOf({ trailers }: Ending): Metadata | undefined {
  return trailers === null ? undefined : toMetadata(trailers);
}

/** As the status of a stream: what was written before goes before it. */
function fail(call: WritingCall, error: StatusError): void {
  call.emit('error', error);
}

/** Somebody has wrapped the handlers, so that the server does not know them for ours. */
function decoded(path: string): StatusError {
  return statusOf({
    code: INTERNAL,
    details: `${path} was registered with functions that decode its messages. Give the server what \`workers\` returns, or \`server.addService(...service.raw())\`.`,
    trailers: null,
  });
}
