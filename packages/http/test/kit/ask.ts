/** Ways to ask, and what came of it. */
import { Hotline, type HotlineOptions, type RequestOptions } from '@hotlane/http';
import type { Dispatcher } from 'undici';

type Options = Partial<RequestOptions> & { signal?: AbortSignal };

/** A Hotline that is destroyed when its test is over, also when that has failed with requests on their way. */
export function open(origin: string, options: HotlineOptions = {}): Hotline & AsyncDisposable {
  const hotline = new Hotline(origin, options);
  return Object.assign(hotline, { [Symbol.asyncDispose]: () => hotline.destroy() });
}

/** @returns the response's body */
export async function get(dispatcher: Dispatcher, path: string, options: Options = {}): Promise<string> {
  const response = await dispatcher.request({ method: 'GET', path, ...options } as never);
  return response.body.text();
}

/** @returns what it was rejected with */
export async function failure(promise: Promise<unknown>): Promise<Error & { code?: string }> {
  return promise.then(
    value => {
      throw new Error(`expected an error, got ${JSON.stringify(value)}`);
    },
    error => error,
  );
}

/** One request, seen by a handler of its own. */
export class Watched implements Dispatcher.DispatchHandler {
  /** What it was told, in order. */
  readonly events: string[] = [];
  readonly chunks: Buffer[] = [];
  controller!: Dispatcher.DispatchController;
  error: (Error & { code?: string }) | null = null;
  /** What `dispatch` returned. */
  goOn = false;
  /** Resolves when it has heard the last. */
  readonly done: Promise<void>;
  /** Is called with each event, in the midst of it. */
  readonly #on: (event: string, watched: Watched) => void;
  #resolve!: () => void;

  constructor(on: (event: string, watched: Watched) => void = () => {}) {
    this.#on = on;
    this.done = new Promise(resolve => {
      this.#resolve = resolve;
    });
  }

  get body(): Buffer {
    return Buffer.concat(this.chunks);
  }

  get isDone(): boolean {
    return this.events.includes('end') || this.error !== null;
  }

  #tell(event: string): void {
    this.events.push(event);
    this.#on(event, this);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller;
    this.#tell('start');
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number): void {
    this.#tell(`status ${status}`);
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.chunks.push(Buffer.from(chunk));
    this.#tell('data');
  }

  onResponseEnd(): void {
    this.#resolve();
    this.#tell('end');
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.error = error;
    this.#resolve();
    this.#tell(`error ${error.message}`);
  }
}

/** Asks with a handler that keeps what it was told. */
export function watch(
  hotline: Hotline,
  path: string,
  options: Options = {},
  on?: (event: string, watched: Watched) => void,
): Watched {
  const watched = new Watched(on);
  watched.goOn = hotline.dispatch({ method: 'GET', path, ...options } as RequestOptions, watched);
  return watched;
}
