import type { Contender } from './contender.ts';
import { openHotlane } from './open-hotlane.ts';

/** What it costs to watch every call's time. */
export const contender: Contender = {
  name: 'hotlane, deadline set',
  variantOf: 'hotlane',
  settings: 'the same with deadlineMs: 600,000 for all calls, which none reaches',
  open: async target => openHotlane(target, { deadlineMs: 600_000 }),
};
