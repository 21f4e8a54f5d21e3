export type { MethodOptions, Mode, WorkersOptions } from './options.ts';
export { handleOf, type ServiceHandle, type ServiceStats, type Workers, workers } from './workers.ts';
