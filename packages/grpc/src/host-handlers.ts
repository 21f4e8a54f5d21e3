/** What the server is given for each method: its calls go to lanes, or to the handler on this thread. */
import type {
  MethodDefinition,
  ServerDuplexStream,
  ServerReadableStream,
  ServerWritableStream,
  sendUnaryData,
  UntypedHandleCall,
} from '@grpc/grpc-js';
import type { Pool, PoolOptions } from 'hotlane';
import { Auto } from './auto.ts';
import { encode, failure, unreadable, unwritable } from './codec.ts';
import { findHandlers, type Handler, type Handlers } from './find.ts';
import { MethodCalls, type Respond, type StatusError, statusOf, type UnaryCall } from './host-calls.ts';
import { Moved } from './moved.ts';
import type { MethodOptions } from './options.ts';
import { takeItems, takeMessage } from './returned.ts';
import { endingOf, messageOf, UNAVAILABLE, UNIMPLEMENTED } from './status.ts';
import { Turn } from './turn.ts';
import type { MethodShape } from './wire.ts';

type Method = MethodDefinition<any, any>;
type Hook = (data: unknown, lane: { readonly laneId: number }) => unknown;

export interface HandlerOfMethod {
  readonly handle: UntypedHandleCall;
  /** It is to be given bytes, and gives bytes. */
  readonly isRaw: boolean;
}

export class HostHandlers {
  readonly #pool: Pool<any>;
  readonly #url: string;
  readonly #shapes: readonly MethodShape[];
  readonly #options: PoolOptions;
  readonly #turn = new Turn();
  readonly #moved: Moved;
  readonly #autos = new Map<string, Auto | 'inline' | 'lanes'>();
  /** The handlers on this thread; null while they are not loaded, or cannot be. */
  #handlers: Handlers | null = null;
  #module: Readonly<Record<string, unknown>> = {};
  #loading: Promise<Handlers> | null = null;
  #closing: Promise<void> | null = null;

  constructor(pool: Pool<any>, url: string, shapes: readonly MethodShape[], options: PoolOptions) {
    this.#pool = pool;
    this.#url = url;
    this.#shapes = shapes;
    this.#options = options;
    this.#moved = new Moved(options.maxQueuedBytes);
  }

  /** What a server is given for a method. @param name in the definition */
  handler(name: string, shape: MethodShape, method: Method, options: MethodOptions): HandlerOfMethod {
    const calls = new MethodCalls(this.#pool, shape.path, options, this.#turn, this.#moved);
    const isUnary = !shape.requestStream && !shape.responseStream;
    if (options.mode === 'inline') {
      this.#autos.set(name, 'inline');
      this.#load();
      return { handle: this.#inline(shape), isRaw: false };
    }
    if (options.mode === 'auto' && isUnary) {
      this.#load();
      return { handle: this.#auto(name, shape, method, calls), isRaw: true };
    }
    this.#autos.set(name, 'lanes');
    return { handle: onLanes(shape, calls), isRaw: true };
  }

  whereMethodsRun(): Record<string, { runs: 'inline' | 'lanes' }> {
    return Object.fromEntries(
      [...this.#autos].map(([name, where]) => {
        if (typeof where === 'string') return [name, { runs: where }];
        return [name, { runs: where.isInline && this.#handlers !== null ? 'inline' : 'lanes' }];
      }),
    );
  }

  async ready(options?: { readonly signal?: AbortSignal }): Promise<void> {
    const where = [...this.#autos.values()];
    await Promise.all([
      where.some(one => one !== 'inline') && this.#pool.ready(options),
      where.includes('inline') && this.#loading,
    ]);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#turn.flush();
    await this.#pool.close();
    const { teardown } = this.#options;
    if (teardown === undefined) return;
    await this.#loading?.catch(() => {}); // whoever called has heard of it
    await this.#run(teardown);
  }

  // ---- on this thread -----------------------------------------------------------------------------------

  /** Loads the handlers here as well: what the module keeps in memory is there twice. */
  #load(): void {
    if (this.#loading !== null) return;
    this.#loading = import(this.#url).then(async (module: Record<string, unknown>) => {
      this.#module = module;
      await this.#run(this.#options.setup);
      this.#handlers = findHandlers(module, this.#shapes);
      return this.#handlers;
    });
    this.#loading.catch(() => {}); // each call tells it
  }

  async #run(name: string | undefined): Promise<void> {
    if (name === undefined) return;
    const hook = this.#module[name] as Hook | undefined;
    await hook?.(structuredClone(this.#options.data), { laneId: 0 });
  }

  #inline(shape: MethodShape): UntypedHandleCall {
    const run = runnerOf(shape);
    return ((call: any, respond: any) => {
      const missing = () =>
        failure(UNIMPLEMENTED, `The server does not implement the method ${shape.names[0]}`);
      const begin = (handlers: Handlers) => {
        const handler = handlers.get(shape.path);
        if (handler !== undefined) run(handler, call, respond);
        else refuseWith(statusOf(missing()), call, respond);
      };
      if (this.#handlers !== null) begin(this.#handlers);
      else {
        this.#loading!.then(begin, error => {
          const details = `The handlers cannot be loaded: ${messageOf(error)}`;
          refuseWith(statusOf(failure(UNAVAILABLE, details)), call, respond);
        });
      }
    }) as UntypedHandleCall;
  }

  #auto(name: string, shape: MethodShape, method: Method, calls: MethodCalls): UntypedHandleCall {
    const auto = new Auto();
    this.#autos.set(name, auto);
    const onTimed = (ms: number) => auto.add(ms);
    return ((call: UnaryCall, respond: Respond) => {
      const handler = auto.isInline ? this.#handlers?.get(shape.path) : undefined;
      if (handler === undefined) {
        calls.unary(call, respond, auto.timesNext() ? onTimed : null);
        return;
      }
      runBytes(handler, method, call, respond, onTimed);
    }) as UntypedHandleCall;
  }
}

function onLanes({ requestStream, responseStream }: MethodShape, calls: MethodCalls): UntypedHandleCall {
  if (requestStream && responseStream) {
    return (call: ServerDuplexStream<Buffer, Buffer>) => calls.duplexStream(call);
  }
  if (requestStream) {
    return ((call: ServerReadableStream<Buffer, Buffer>, respond: Respond) =>
      void calls.clientStream(call, respond)) as UntypedHandleCall;
  }
  if (responseStream) return (call: ServerWritableStream<Buffer, Buffer>) => calls.serverStream(call);
  return ((call: UnaryCall, respond: Respond) => calls.unary(call, respond, null)) as UntypedHandleCall;
}

type Run = (handler: Handler, call: any, respond: any) => void;

/** Runs a handler that is given grpc-js's own call. */
function runnerOf({ responseStream }: MethodShape): Run {
  return responseStream ? runStreaming : runAnswering;
}

function runAnswering(handler: Handler, call: unknown, respond: sendUnaryData<unknown>): void {
  const fail = (error: unknown) => respond(statusOf(endingOf(error)));
  try {
    takeMessage(handler(call, respond), handler, message => respond(null, message), fail);
  } catch (error) {
    fail(error);
  }
}

function runStreaming(handler: Handler, call: ServerWritableStream<unknown, unknown>): void {
  const fail = (error: unknown) => void call.emit('error', statusOf(endingOf(error)));
  try {
    takeItems(handler(call), call).catch(fail);
  } catch (error) {
    fail(error);
  }
}

/**
 * The same for a unary call that came as bytes.
 *
 * @param onTimed is told how long the handler kept the thread, in milliseconds. To send the answer is the server's own work,
 *   wherever it comes from: an answer that is there at once is sent after that
 */
function runBytes(
  handler: Handler,
  method: Method,
  call: UnaryCall,
  respond: Respond,
  onTimed: (ms: number) => void,
): void {
  const since = performance.now();
  let answer: Parameters<Respond> | null = null;
  let entered = true;
  const take = (...given: Parameters<Respond>) => {
    if (answer !== null) return; // the first counts
    answer = given;
    if (!entered) respond(...given);
  };
  try {
    call.request = method.requestDeserialize(call.request) as Buffer;
    runAnswering(handler, call, (error, message, trailers, flags) => {
      if (error) take(error, undefined, trailers, flags);
      else take(...encoded(method, message), trailers, flags);
    });
  } catch (error) {
    take(statusOf(unreadable(error)));
  }
  entered = false;
  onTimed(performance.now() - since);
  if (answer !== null) respond(...(answer as Parameters<Respond>));
}

function encoded(method: Method, message: unknown): [error: StatusError | null, bytes?: Buffer] {
  try {
    return [null, encode(method, message)];
  } catch (error) {
    return [statusOf(unwritable(error))];
  }
}

function refuseWith(
  status: StatusError,
  call: { emit(event: 'error', error: unknown): void },
  respond: ((error: unknown) => void) | undefined,
): void {
  if (respond === undefined) call.emit('error', status);
  else respond(status);
}
