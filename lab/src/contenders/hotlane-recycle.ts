import type { Contender } from './contender.ts';
import { openHotlane } from './open-hotlane.ts';

const NEVER_REACHED = 1e15;

/** What it costs to count calls, time and memory towards limits. */
export const contender: Contender = {
  name: 'hotlane, recycle set',
  variantOf: 'hotlane',
  settings:
    'the same with recycle: { afterCalls, afterMs, heapBytes, idleMs }, none of which is ever reached',
  open: async target =>
    openHotlane(target, {
      recycle: {
        afterCalls: NEVER_REACHED,
        afterMs: NEVER_REACHED,
        heapBytes: NEVER_REACHED,
        idleMs: NEVER_REACHED,
      },
    }),
};
