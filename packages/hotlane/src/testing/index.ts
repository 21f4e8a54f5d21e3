/**
 * `hotlane/testing`: for those who write placements and lanes. The two contracts that every one must pass, and the
 * seeded clock and simulated lanes with which pools can be run through everything that may happen.
 */
export {
  type CallCapabilities,
  type CallSubject,
  type ContractTasks,
  callContract,
} from './call-contract.ts';
export type { ContractCase } from './check.ts';
export { type LanePlace, type LaneRig, type LaneSubject, laneContract } from './lane-contract.ts';
export { Random } from './random.ts';
export { SimClock } from './sim-clock.ts';
export { type SimHabits, SimPlacement, type SimWitness } from './sim-lanes.ts';
