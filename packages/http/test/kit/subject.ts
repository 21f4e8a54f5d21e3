/** The dispatcher that every test here is about, and the one that it is compared with. */
import { Hotline } from '@hotlane/http';
import { type Dispatcher, Pool } from 'undici';

/**
 * @param origin whose requests it takes when they name none; without it, every request names its own
 * @param options as undici's `Client` knows them, and `connections`
 */
export function makeDispatcher(origin?: string, options: object = {}): Dispatcher {
  return origin === undefined ? new Hotline(options) : new Hotline(origin, options);
}

/** As chaos wants it: few connections, so that much is pipelined. */
export function chaosSubject(origin: string): Dispatcher {
  return makeDispatcher(origin, { connections: 2 });
}

/** undici's own, told to pipeline: what it does wrong is what the chaos must find. */
export function pipeliningPool(origin: string): Dispatcher {
  return new Pool(origin, { connections: 2, pipelining: 6 }).compose(dispatch => (options, handler) => {
    // By default it waits for the status of every GET before it sends the next.
    const idempotent = options.idempotent ?? (options.method === 'GET' || options.method === 'HEAD');
    return dispatch({ blocking: !idempotent, ...options }, handler);
  });
}
