import type { Key } from '../options.ts';
import type { CallTimes } from './call.ts';
import type { LaneState } from './lane.ts';

/** Those outside who look on at one pool's work. They are told; what they do changes nothing. */
export interface Watch {
  /** Somebody wants to hear of calls. Read for each call. */
  readonly calls: boolean;
  /**
   * Makes a call and tells of it.
   *
   * @param times filled in by the time when the call's promise settles, as far as the call came
   * @returns what the caller gets
   */
  call(about: CallNews, times: CallTimes, make: () => Promise<unknown>): Promise<unknown>;
  /** A lane has come to another state. */
  lane(news: LaneNews): void;
  /** A lane could not start; the next attempt is so far away. */
  backOff(cause: unknown, waitMs: number): void;
}

export interface CallNews {
  /** The function's name. */
  readonly name: string;
  readonly key: Key | undefined;
  readonly priority: number;
}

export interface LaneNews {
  readonly id: number;
  readonly state: LaneState;
  readonly cause: unknown;
  /** How long ago the lane was created. */
  readonly ageMs: number;
  /** How many calls it has answered. */
  readonly calls: number;
  /** The lane that it is to replace: that one is worn. */
  readonly replaces: number | undefined;
}

export const UNWATCHED: Watch = {
  calls: false,
  call: (_about, _times, make) => make(),
  lane() {},
  backOff() {},
};
