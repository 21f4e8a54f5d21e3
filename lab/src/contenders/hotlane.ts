import { createPool } from 'hotlane';
import type { Contender, TaskFunction } from './contender.ts';

export const contender: Contender = {
  name: 'hotlane',
  settings: 'createPool(module, { lanes: threads })',
  async open({ module, fn, threads }) {
    const pool = createPool<Record<string, TaskFunction>>(new URL(module), { lanes: threads });
    return { call: pool.call[fn]!, close: () => pool.close() };
  },
};
