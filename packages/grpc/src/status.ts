import { isHotlaneError } from 'hotlane';
import { isMetadata, toValues } from './metadata.ts';
import type { Ending } from './wire.ts';

/** The status codes that are used here. Their own numbers: lanes do without loading grpc-js. */
export const OK = 0;
export const CANCELLED = 1;
export const UNKNOWN = 2;
export const DEADLINE_EXCEEDED = 4;
export const RESOURCE_EXHAUSTED = 8;
export const UNIMPLEMENTED = 12;
export const INTERNAL = 13;
export const UNAVAILABLE = 14;

/**
 * How a call ends whose handler threw, rejected, or called back with this: `{ code, details, metadata }` as it is, another
 * error as UNKNOWN with its message. The rule is grpc-js's own.
 */
export function endingOf(error: unknown, trailers?: unknown): Ending {
  const given = (typeof error === 'object' && error !== null ? error : {}) as Record<string, unknown>;
  const metadata = isMetadata(trailers) ? trailers : given.metadata;
  const hasCode = Number.isInteger(given.code);
  const details = hasCode && typeof given.details === 'string' ? given.details : messageOf(error);
  return {
    code: hasCode ? (given.code as number) : UNKNOWN,
    details,
    trailers: isMetadata(metadata) ? toValues(metadata) : null,
  };
}

/** How a call ends for which the pool has no answer. */
export function endingOfRefusal(error: unknown): Ending {
  return { code: codeOfRefusal(error), details: withCause(error), trailers: null };
}

function codeOfRefusal(error: unknown): number {
  if (!isHotlaneError(error)) return INTERNAL;
  switch (error.code) {
    case 'ERR_HOTLANE_LANE_LOST':
    case 'ERR_HOTLANE_LANE_START':
    case 'ERR_HOTLANE_CLOSED':
      return UNAVAILABLE;
    case 'ERR_HOTLANE_QUEUE_FULL':
    case 'ERR_HOTLANE_TOO_LARGE':
      return RESOURCE_EXHAUSTED;
    case 'ERR_HOTLANE_DEADLINE':
      return DEADLINE_EXCEEDED;
    default:
      return INTERNAL;
  }
}

/** Why a lane could not start stands in the cause. */
function withCause(error: unknown): string {
  if (!isHotlaneError(error, 'LANE_START') || error.cause === undefined) return messageOf(error);
  const cause = messageOf(error.cause);
  return error.message.includes(cause) ? error.message : `${error.message} ${cause}`;
}

export function messageOf(error: unknown): string {
  if (typeof error === 'object' && error !== null && 'message' in error) return String(error.message);
  return error === undefined || error === null ? 'Unknown Error' : String(error);
}
