/** What is public wherever `hotlane` runs, beside `createPool`. */

export { type Callback, type CallbackOptions, callback } from './call/callback.ts';
export { type ErrorClass, registerError } from './call/error-classes.ts';
export { type ContextStorage, registerStorage } from './call/storages.ts';
export { type ErrorCode, HotlaneError, isHotlaneError } from './errors.ts';
export type { LaneState } from './lane/lane.ts';
export type { MapOptions, MapOutcome } from './map.ts';
export type {
  CallOptions,
  Key,
  LaneOptions,
  PoolOptions,
  RecycleOptions,
  StreamOptions,
  SyncOptions,
} from './options.ts';
export type { WebWorker } from './place/dom.ts';
export type { Pool, PoolStats } from './pool-type.ts';
export type {
  Argument,
  Arguments,
  Broadcasts,
  Calls,
  FunctionNames,
  NotCloneable,
  Remote,
  ResultStream,
  Streams,
  SyncCalls,
  TaskModule,
} from './types.ts';
