import { channel } from 'node:diagnostics_channel';
import type { TrustState } from './trust.ts';

/** A connection has come to another state. */
export interface ConnectionMessage {
  readonly origin: string;
  /** Unique within the origin, counted from 1. */
  readonly connection: number;
  readonly state: 'starting' | 'up' | 'draining' | 'ended';
  /** Why it could not be made or was lost; undefined where all was well. */
  readonly cause: unknown;
  /** How many responses it has brought. */
  readonly responses: number;
}

/** An origin is trusted more with pipelines, or less. */
export interface TrustMessage {
  readonly origin: string;
  readonly state: TrustState;
  readonly why: string;
}

/** A request is sent again, on another connection. */
export interface RetryMessage {
  readonly origin: string;
  readonly method: string;
  readonly path: string;
  /** Why the connection on which it was is given up; undefined where the request was only moved. */
  readonly cause: unknown;
}

export const connections = channel('hotlane:http:connection');
export const trusts = channel('hotlane:http:trust');
export const retries = channel('hotlane:http:retry');
