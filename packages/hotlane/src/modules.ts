/**
 * `hotlane/modules`: finding and loading task modules as pools do, for tools that want to look into one.
 */
export { loadTasks, type ModuleReference, resolveModule } from './place/load.ts';
export type { TaskFunction, Tasks } from './worker/tasks.ts';
