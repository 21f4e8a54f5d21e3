import type { Contender } from './contender.ts';
import { openHotlane } from './open-hotlane.ts';

export const contender: Contender = {
  name: 'hotlane',
  settings: 'createPool(module, { lanes: threads })',
  open: async target => openHotlane(target),
};
