import { registerError } from 'hotlane/worker';

/** What a request asks for cannot be done, and its sender can mend that. The message is meant for the sender. */
export class InputError extends Error {
  override name = 'InputError';
}

// Lanes and server both import this file, so what a function throws is an InputError on the server's side too.
registerError(InputError);
