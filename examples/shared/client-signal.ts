import type { ServerResponse } from 'node:http';

/** Why a call was cancelled: nobody waits for its answer. */
export class ClientGone extends Error {
  override name = 'ClientGone';
}

/**
 * A signal that fires when the client goes away before it has its answer.
 *
 * It looks at the response, since a request is "closed" as soon as its body has been read. Frameworks have signals of
 * their own; before you use one, see whether it fires early after a POST, and what its reason is.
 */
export function clientSignal(response: ServerResponse): AbortSignal {
  const controller = new AbortController();
  response.once('close', () => {
    if (!response.writableFinished) controller.abort(new ClientGone('The client went away.'));
  });
  return controller.signal;
}
