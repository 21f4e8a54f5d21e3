/** A lane's function for a method: runs the handler, and turns what it does into an answer. */
import { encode, failure, unreadable, unwritable } from './codec.ts';
import type { Handler, MethodCodec } from './find.ts';
import { LaneCall } from './lane-call.ts';
import { DuplexCall, UnaryCall, WritableCall } from './lane-calls.ts';
import { isMetadata, toValues } from './metadata.ts';
import { Outbox } from './outbox.ts';
import { type Items, takeItems, takeMessage } from './returned.ts';
import { CANCELLED, endingOf, OK, UNIMPLEMENTED } from './status.ts';
import type { About, Answer, Ending, Item, LaneFunction, MethodShape } from './wire.ts';

/** @param handler undefined where the user's module has none */
export function laneFunction(
  method: MethodShape,
  codec: MethodCodec,
  handler: Handler | undefined,
): LaneFunction {
  if (handler === undefined) {
    const ending = failure(UNIMPLEMENTED, `The server does not implement the method ${method.names[0]}`);
    if (method.requestStream || method.responseStream) return () => asItems([ending]);
    return () => ({ ...ending, bytes: null, headers: null, metrics: null, ms: -1 });
  }
  if (!method.requestStream && !method.responseStream) {
    return (request, ...about) => new Unary(method, codec, handler, about).run(request as Buffer);
  }
  if (!method.requestStream) {
    return (request, ...about) => runServerStream(method, codec, handler, request as Buffer, about);
  }
  return (requests, ...about) => runDuplex(method, codec, handler, requests as AsyncIterable<Buffer>, about);
}

// ---- unary ------------------------------------------------------------------------------------------------

/** One unary call, from its bytes to its answer. */
class Unary {
  readonly #codec: MethodCodec;
  readonly #handler: Handler;
  readonly #about: About;
  readonly #call: LaneCall;
  #answer: Buffer | Answer | null = null;
  /** Set once the handler has returned without an answer. */
  #resolve: ((answer: Buffer | Answer) => void) | null = null;
  #ms = -1;

  constructor(method: MethodShape, codec: MethodCodec, handler: Handler, about: About) {
    this.#codec = codec;
    this.#handler = handler;
    this.#about = about;
    this.#call = new LaneCall(method.path, about);
  }

  run(bytes: Buffer): Buffer | Answer | Promise<Buffer | Answer> {
    const [, , timed] = this.#about;
    const since = timed ? performance.now() : 0;
    let request: unknown;
    try {
      request = this.#codec.requestDeserialize(bytes);
    } catch (error) {
      return this.#ended(unreadable(error));
    }
    const call = new UnaryCall(this.#call, request);
    try {
      const returned = this.#handler(call, this.#callback);
      if (this.#answer === null) {
        takeMessage(
          returned,
          this.#handler,
          message => this.#reply(message, undefined),
          error => this.#end(endingOf(error)),
        );
      }
    } catch (error) {
      this.#end(endingOf(error));
    }
    this.#call.entered = false;
    if (timed) this.#ms = performance.now() - since;
    if (this.#answer !== null) {
      if (timed) this.#answer = this.#withTime(this.#answer);
      return this.#answer;
    }
    // Whoever waits no longer: the handler may go on, as it may in grpc-js; what it answers then is dropped.
    this.#call.onCancelled(() => {
      call.emit('cancelled', 'cancelled');
      this.#end(failure(CANCELLED, 'cancelled'));
    });
    if (this.#answer !== null) return this.#answer;
    return new Promise(resolve => {
      this.#resolve = resolve;
    });
  }

  /** What the handler is given to answer with. The first answer counts. */
  readonly #callback = (error: unknown, value?: unknown, trailers?: unknown) => {
    if (error !== null && error !== undefined && error !== false) this.#end(endingOf(error, trailers));
    else this.#reply(value, trailers);
  };

  #reply(value: unknown, trailers: unknown): void {
    let bytes: Buffer;
    try {
      bytes = encode(this.#codec, value);
    } catch (error) {
      this.#end(unwritable(error));
      return;
    }
    const { headers, metrics } = this.#call;
    if (headers === null && metrics === null && !isMetadata(trailers) && this.#ms < 0) {
      this.#settle(bytes); // all that there is to say of most calls
      return;
    }
    const ending = { code: OK, details: 'OK', trailers: isMetadata(trailers) ? toValues(trailers) : null };
    this.#settle({ ...this.#ended(ending), bytes });
  }

  #end(ending: Ending): void {
    this.#settle(this.#ended(ending));
  }

  #ended({ code, details, trailers }: Ending): Answer {
    const { headers, metrics } = this.#call;
    return { code, details, trailers, bytes: null, headers, metrics, ms: this.#ms };
  }

  #withTime(answer: Buffer | Answer): Answer {
    if (!Buffer.isBuffer(answer)) return { ...answer, ms: this.#ms };
    return {
      code: OK,
      details: 'OK',
      trailers: null,
      bytes: answer,
      headers: null,
      metrics: null,
      ms: this.#ms,
    };
  }

  #settle(answer: Buffer | Answer): void {
    if (this.#answer !== null) return;
    this.#answer = answer;
    this.#call.end();
    this.#resolve?.(answer);
  }
}

// ---- streams ----------------------------------------------------------------------------------------------

function runServerStream(
  method: MethodShape,
  codec: MethodCodec,
  handler: Handler,
  bytes: Buffer,
  about: About,
): AsyncIterable<Item> {
  let request: unknown;
  try {
    request = codec.requestDeserialize(bytes);
  } catch (error) {
    return asItems([unreadable(error)]);
  }
  const laneCall = new LaneCall(method.path, about);
  const outbox = new Outbox(laneCall);
  const call = new WritableCall(laneCall, outbox, codec, request);
  start(laneCall, outbox, call, () => handler(call));
  return outbox;
}

/** Client streaming and bidirectional: the first answers with one message, by its callback or what it returns. */
function runDuplex(
  method: MethodShape,
  codec: MethodCodec,
  handler: Handler,
  requests: AsyncIterable<Buffer>,
  about: About,
): AsyncIterable<Item> {
  const laneCall = new LaneCall(method.path, about);
  const outbox = new Outbox(laneCall);
  const call = new DuplexCall(laneCall, outbox, codec, requests);
  if (method.responseStream) {
    start(laneCall, outbox, call, () => handler(call));
    return outbox;
  }
  const reply = (value: unknown, trailers?: unknown) => {
    try {
      outbox.put(encode(codec, value), () => {});
    } catch (error) {
      outbox.end(unwritable(error));
      return;
    }
    outbox.end({ code: OK, details: 'OK', trailers: isMetadata(trailers) ? toValues(trailers) : null });
  };
  const callback = (error: unknown, value?: unknown, trailers?: unknown) => {
    if (outbox.ended) return;
    if (error !== null && error !== undefined && error !== false) outbox.end(endingOf(error, trailers));
    else reply(value, trailers);
  };
  start(laneCall, outbox, call, () => {
    const fail = (error: unknown) => outbox.end(endingOf(error));
    takeMessage(handler(call, callback), handler, message => callback(null, message), fail);
  });
  return outbox;
}

type StreamCall = WritableCall | DuplexCall;

/** Runs a handler whose answers go to an outbox. @param run may return a generator of them */
function start(laneCall: LaneCall, outbox: Outbox, call: StreamCall, run: () => unknown): void {
  let items: Items | undefined;
  laneCall.onCancelled(() => {
    call.emit('cancelled', 'cancelled');
    call.destroy();
    outbox.close();
    // Its `finally` runs; what it throws there nobody hears.
    void Promise.resolve(items?.return?.()).catch(() => {});
  });
  if (laneCall.isCancelled) return;
  const fail = (error: unknown) => outbox.end(endingOf(error));
  try {
    const returned = run();
    takeItems(returned, call, opened => {
      items = opened;
    }).catch(fail);
  } catch (error) {
    fail(error);
  }
  laneCall.entered = false;
}

// ---- small things -----------------------------------------------------------------------------------------

async function* asItems(items: readonly Item[]): AsyncGenerator<Item> {
  yield* items;
}
