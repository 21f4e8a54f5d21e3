import type { Duplex } from 'node:stream';
import type { Dispatcher } from 'undici';

type Headers = Record<string, string | string[] | undefined>;

/** What undici's dispatchers up to version 7 call on: the form that the `fetch` of Node 24 and before still uses. */
export interface LegacyHandler {
  onConnect?(abort: (reason?: Error) => void, context: unknown): void;
  onUpgrade?(status: number, headers: Buffer[], socket: Duplex): void;
  onResponseStarted?(): void;
  onHeaders?(status: number, headers: Buffer[], resume: () => void, statusText: string): boolean | undefined;
  onData?(chunk: Buffer): boolean | undefined;
  onComplete?(trailers: Buffer[]): void;
  onError?(error: Error): void;
  onBodySent?(chunk: Buffer): void;
  onRequestSent?(): void;
}

export function isLegacy(handler: Dispatcher.DispatchHandler | LegacyHandler): handler is LegacyHandler {
  const { onRequestStart, onResponseError } = handler as Dispatcher.DispatchHandler;
  return typeof onRequestStart !== 'function' && typeof onResponseError !== 'function';
}

/** Lets a handler of the old form be called like one of the new. */
export class LegacyAdapter implements Dispatcher.DispatchHandler {
  readonly #handler: LegacyHandler;

  constructor(handler: LegacyHandler) {
    this.#handler = handler;
  }

  onRequestStart(controller: Dispatcher.DispatchController, context: unknown): void {
    this.#handler.onConnect?.(reason => controller.abort(reason!), context);
  }

  onRequestUpgrade(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: Headers,
    socket: Duplex,
  ): void {
    this.#handler.onUpgrade?.(status, raw(controller.rawHeaders, headers), socket);
  }

  onResponseStarted(): void {
    this.#handler.onResponseStarted?.();
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: Headers,
    statusText = '',
  ): void {
    const list = raw(controller.rawHeaders, headers);
    const more = this.#handler.onHeaders?.(status, list, () => controller.resume(), statusText);
    if (more === false) controller.pause();
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#handler.onData?.(chunk) === false) controller.pause();
  }

  onResponseEnd(controller: Dispatcher.DispatchController, trailers: Headers): void {
    this.#handler.onComplete?.(raw(controller.rawTrailers, trailers));
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (this.#handler.onError === undefined) throw error;
    this.#handler.onError(error);
  }

  onBodySent(chunk: Buffer): void {
    this.#handler.onBodySent?.(chunk);
  }

  onRequestSent(): void {
    this.#handler.onRequestSent?.();
  }
}

/** Names and values in turn, as they came; where only an object of them is at hand, made from that. */
function raw(list: unknown, headers: Headers): Buffer[] {
  if (Array.isArray(list))
    return list.map(part => (typeof part === 'string' ? Buffer.from(part, 'latin1') : part));
  return Object.entries(headers).flatMap(([name, value]) =>
    [value ?? ''].flat().flatMap(each => [Buffer.from(name, 'latin1'), Buffer.from(each, 'latin1')]),
  );
}
