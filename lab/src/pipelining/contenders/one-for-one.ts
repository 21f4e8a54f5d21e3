import { Client, Dispatcher } from 'undici';
import { CONNECT_TIMEOUT_MS, CONNECTIONS } from './contender.ts';

export interface OneForOneOptions {
  readonly connections?: number;
  /** How many requests a connection may have outstanding. */
  readonly quota: number;
}

interface Lane {
  readonly client: Client;
  outstanding: number;
}

interface Waiting {
  readonly options: Dispatcher.DispatchOptions;
  readonly handler: Dispatcher.DispatchHandler;
}

/**
 * Pipelining as the study of 2008 found it. It is decided when a connection is obtained that has nothing outstanding,
 * a new one or one that has gone idle: that is filled, up to the quota, with what waits at that moment. A request that
 * finds no such connection waits, also where there is room. A connection with requests outstanding takes one that
 * waits for each that completes, however much room it has.
 */
export class OneForOne extends Dispatcher {
  readonly #lanes: readonly Lane[];
  readonly #quota: number;
  readonly #waiting: Waiting[] = [];

  constructor(origin: string, { connections = CONNECTIONS, quota }: OneForOneOptions) {
    super();
    this.#quota = quota;
    this.#lanes = Array.from({ length: connections }, () => ({
      client: new Client(origin, { pipelining: quota, connect: { timeout: CONNECT_TIMEOUT_MS } }),
      outstanding: 0,
    }));
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    this.#waiting.push({ options, handler });
    const idle = this.#lanes.find(lane => lane.outstanding === 0);
    if (idle !== undefined) this.#take(idle, this.#quota);
    return this.#waiting.length === 0;
  }

  override async close(): Promise<void> {
    await Promise.all(this.#lanes.map(({ client }) => client.close()));
  }

  override async destroy(): Promise<void> {
    await Promise.all(this.#lanes.map(({ client }) => client.destroy()));
  }

  #take(lane: Lane, most: number): void {
    for (const { options, handler } of this.#waiting.splice(0, most)) {
      lane.outstanding++;
      lane.client.dispatch({ ...options, blocking: false }, this.#watched(handler, lane));
    }
  }

  #completed(lane: Lane): void {
    lane.outstanding--;
    this.#take(lane, lane.outstanding === 0 ? this.#quota : 1);
  }

  #watched(handler: Dispatcher.DispatchHandler, lane: Lane): Dispatcher.DispatchHandler {
    return {
      onRequestStart: (controller, context) => handler.onRequestStart?.(controller, context),
      onResponseStart: (...args) => handler.onResponseStart?.(...args),
      onResponseData: (controller, chunk) => handler.onResponseData?.(controller, chunk),
      onResponseEnd: (controller, trailers) => {
        handler.onResponseEnd?.(controller, trailers);
        this.#completed(lane);
      },
      onResponseError: (controller, error) => {
        handler.onResponseError?.(controller, error);
        this.#completed(lane);
      },
    };
  }
}
