export type { Context } from './context.ts';
export { context } from './context.ts';
