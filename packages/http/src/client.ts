import type { Socket } from 'node:net';
import { Client } from 'undici';

/** A client here writes what it is given at once; how much that is, is decided before. */
const UNLIMITED = 1_000_000;

/** Makes the client of one connection: it speaks HTTP on that socket, and makes no other when that is closed. */
export function createClient(origin: string, socket: Socket, options: Client.Options): Client {
  let given = false;
  return new Client(origin, {
    ...options,
    pipelining: UNLIMITED,
    connect: (_options, callback) => {
      // It has told of the end of its connection already, and what it still has goes elsewhere.
      if (given) return;
      given = true;
      // Later, since the client is not ready for an answer before this has returned.
      queueMicrotask(() => callback(null, socket));
    },
  });
}
