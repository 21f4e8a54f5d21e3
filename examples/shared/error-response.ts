import { isHotlaneError } from 'hotlane';
import { ClientGone } from './client-signal.ts';
import { InputError } from './input-error.ts';

export interface ErrorResponse {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: { readonly error: string; readonly message: string };
  /** Somebody should look at this error: log it. The sender is not told what it was. */
  readonly unexpected: boolean;
}

/**
 * Which HTTP response tells what a call rejected with.
 *
 * @param error what was caught
 */
export function errorResponse(error: unknown): ErrorResponse {
  if (error instanceof InputError) return expected(400, 'INPUT', error.message);
  if (isHotlaneError(error)) {
    switch (error.code) {
      case 'ERR_HOTLANE_QUEUE_FULL': // nothing of the call has happened
        return expected(503, 'BUSY', 'The server is busy. Try again later.', { 'retry-after': '1' });
      case 'ERR_HOTLANE_CLOSED':
        return expected(503, 'STOPPING', 'The server is stopping. Try again.', { 'retry-after': '1' });
      case 'ERR_HOTLANE_DEADLINE':
        return expected(504, 'DEADLINE', 'This took too long and was stopped.');
      case 'ERR_HOTLANE_LANE_LOST': // the call may have had effects, so trying again is not for us to advise
        return unexpected(502, 'LOST', 'What worked on this is gone.');
      case 'ERR_HOTLANE_LANE_START':
        return unexpected(503, 'NOT_READY', 'The server cannot work on this now.');
    }
  }
  // Nobody reads this answer; the status is nginx's, for the logs.
  if (error instanceof ClientGone) return expected(499, 'CLIENT_GONE', error.message);
  return unexpected(500, 'INTERNAL', 'Something went wrong.');
}

function expected(
  status: number,
  error: string,
  message: string,
  headers: Record<string, string> = {},
): ErrorResponse {
  return { status, headers, body: { error, message }, unexpected: false };
}

function unexpected(status: number, error: string, message: string): ErrorResponse {
  return { status, headers: {}, body: { error, message }, unexpected: true };
}
