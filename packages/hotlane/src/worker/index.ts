export { type ErrorClass, registerError } from '../call/error-classes.ts';
export { type ContextStorage, registerStorage } from '../call/storages.ts';
export type { Context } from './context.ts';
export { context } from './context.ts';
