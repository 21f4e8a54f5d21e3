/** What handlers are given as `call`: the same as grpc-js's, for a call whose client is on another thread. */
import { EventEmitter } from 'node:events';
import { Duplex, Writable } from 'node:stream';
import type { Metadata } from '@grpc/grpc-js';
import { encode, unreadable, unwritable } from './codec.ts';
import type { MethodCodec } from './find.ts';
import type { LaneCall } from './lane-call.ts';
import { isMetadata, toValues } from './metadata.ts';
import type { LaneRecorder } from './metrics.ts';
import type { Outbox } from './outbox.ts';
import { endingOf, OK } from './status.ts';
import type { AuthContext, Ending } from './wire.ts';

const CALL = Symbol('call');

interface HasCall {
  readonly [CALL]: LaneCall;
}

/** What all kinds have. On their prototypes, since their bases differ. */
const surface = {
  get metadata(): Metadata {
    return (this as unknown as HasCall)[CALL].metadata;
  },
  get cancelled(): boolean {
    return (this as unknown as HasCall)[CALL].cancelled;
  },
  getPeer(this: HasCall): string {
    return this[CALL].peer;
  },
  getHost(this: HasCall): string {
    return this[CALL].host;
  },
  getPath(this: HasCall): string {
    return this[CALL].path;
  },
  getDeadline(this: HasCall): Date | number {
    return this[CALL].deadline;
  },
  getAuthContext(this: HasCall): AuthContext {
    return this[CALL].auth;
  },
  getMetricsRecorder(this: HasCall): LaneRecorder {
    return this[CALL].recorder;
  },
  sendMetadata(this: HasCall, metadata: Metadata): void {
    this[CALL].sendMetadata(metadata);
  },
};

export class UnaryCall extends EventEmitter {
  readonly [CALL]: LaneCall;
  readonly request: unknown;

  constructor(call: LaneCall, request: unknown) {
    super();
    this[CALL] = call;
    this.request = request;
  }
}

/** The writing half: messages to the outbox, and how the call ends. */
class Answers {
  readonly #stream: Writable;
  readonly #outbox: Outbox;
  readonly #codec: MethodCodec;
  #ending: Ending = { code: OK, details: 'OK', trailers: null };
  #trailers: Metadata | null = null;

  constructor(stream: Writable, outbox: Outbox, codec: MethodCodec) {
    this.#stream = stream;
    this.#outbox = outbox;
    this.#codec = codec;
    // As grpc-js has it: an error that is emitted is the call's status, after what was written before it.
    stream.on('error', error => {
      this.#ending = endingOf(error);
      if (stream.destroyed) this.finish();
      else stream.end();
    });
  }

  write(message: unknown, done: () => void): void {
    let bytes: Buffer;
    try {
      bytes = encode(this.#codec, message);
    } catch (error) {
      this.#outbox.end(unwritable(error));
      this.#stream.destroy();
      return;
    }
    this.#outbox.put(bytes, done);
  }

  endWith(trailers: unknown): void {
    if (isMetadata(trailers)) this.#trailers = trailers;
  }

  finish(): void {
    const trailers = this.#ending.trailers ?? (this.#trailers && toValues(this.#trailers));
    this.#outbox.end({ ...this.#ending, trailers });
  }
}

/** Of a server streaming call. */
export class WritableCall extends Writable {
  readonly [CALL]: LaneCall;
  readonly request: unknown;
  readonly #answers: Answers;

  constructor(call: LaneCall, outbox: Outbox, codec: MethodCodec, request: unknown) {
    super({ objectMode: true });
    this[CALL] = call;
    this.request = request;
    this.#answers = new Answers(this, outbox, codec);
  }

  override _write(message: unknown, _: BufferEncoding, done: () => void): void {
    this.#answers.write(message, done);
  }

  override _final(done: () => void): void {
    this.#answers.finish();
    done();
  }

  /** @param trailers metadata that goes with the status */
  override end(trailers?: unknown): this {
    this.#answers.endWith(trailers);
    return super.end();
  }
}

/** Of a client streaming or a bidirectional call. */
export class DuplexCall extends Duplex {
  readonly [CALL]: LaneCall;
  readonly #answers: Answers;
  readonly #outbox: Outbox;
  readonly #codec: MethodCodec;
  readonly #requests: AsyncIterator<Buffer>;

  constructor(call: LaneCall, outbox: Outbox, codec: MethodCodec, requests: AsyncIterable<Buffer>) {
    super({ objectMode: true });
    this[CALL] = call;
    this.#outbox = outbox;
    this.#codec = codec;
    this.#answers = new Answers(this, outbox, codec);
    this.#requests = requests[Symbol.asyncIterator]();
  }

  override _read(): void {
    void this.#readOne();
  }

  async #readOne(): Promise<void> {
    let step: IteratorResult<Buffer>;
    try {
      step = await this.#requests.next();
    } catch {
      return; // the call is over; whoever ended it says so
    }
    if (this.destroyed) return;
    if (step.done) {
      this.push(null);
      return;
    }
    let message: unknown;
    try {
      message = this.#codec.requestDeserialize(step.value);
    } catch (error) {
      this.#outbox.end(unreadable(error));
      this.destroy();
      return;
    }
    this.push(message);
  }

  override _write(message: unknown, _: BufferEncoding, done: () => void): void {
    this.#answers.write(message, done);
  }

  override _final(done: () => void): void {
    this.#answers.finish();
    done();
  }

  /** To have read all requests does not end the call: there are answers to write. A Duplex would be destroyed. */
  override [Symbol.asyncIterator](): NodeJS.AsyncIterator<unknown> {
    return this.iterator({ destroyOnReturn: false });
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    void this.#requests.return?.();
    done(error);
  }

  /** @param trailers metadata that goes with the status */
  override end(trailers?: unknown): this {
    this.#answers.endWith(trailers);
    return super.end();
  }
}

for (const { prototype } of [UnaryCall, WritableCall, DuplexCall]) {
  Object.defineProperties(prototype, Object.getOwnPropertyDescriptors(surface));
}
