import type { CallCapabilities } from 'hotlane/testing';

export const capabilities: CallCapabilities = {
  parallel: true,
  endable: true,
  exits: true,
  ownState: true,
  sharedMemory: true,
};
