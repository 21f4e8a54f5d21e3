/**
 * `hotlane/lanes`: for those who bring a kind of lane of their own, connections for example. The scheduler decides which
 * lane takes the next call, the fleet how many lanes there are; both are pure, and are given lanes and a clock. What a
 * lane promises to them is `laneContract` of `hotlane/testing`.
 */
export { Fleet, type FleetOptions, type FleetOwner, type Recycling } from './fleet/fleet.ts';
export { Call, NOWHERE } from './lane/call.ts';
export type { Clock } from './lane/clock.ts';
export type { Lane, LaneEvents, LaneState, Outcomes, Outlet } from './lane/lane.ts';
export type { LaneNews } from './lane/watch.ts';
export { clock, KeepAlive } from './place/node.ts';
export { Scheduler } from './schedule/scheduler.ts';
