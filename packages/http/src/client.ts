import type { Socket } from 'node:net';
import { Client, errors } from 'undici';

/** A client here writes what it is given at once; how much that is, is decided before. */
const UNLIMITED = 1_000_000;

/** Makes the client of one connection: it speaks HTTP on that socket, and makes no other when that is closed. */
export function createClient(origin: string, socket: Socket, options: Client.Options): Client {
  let given = false;
  return new Client(origin, {
    ...options,
    pipelining: UNLIMITED,
    connect: (_options, callback) => {
      const isFirst = !given;
      given = true;
      // Later, since the client is not ready for an answer before this has returned.
      queueMicrotask(() =>
        isFirst ? callback(null, socket) : callback(new errors.SocketError('closed'), null),
      );
    },
  });
}
