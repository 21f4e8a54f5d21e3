import { createPool } from 'hotlane';
import type { Contender, TaskFunction } from './contender.ts';

export const contender: Contender = {
  name: 'hotlane',
  settings: 'createPool(module, { lanes: threads })',
  async open({ module, fn, threads }) {
    const lanes = threads === 'adaptive' ? undefined : threads;
    const pool = createPool<Record<string, TaskFunction>>(
      new URL(module),
      lanes === undefined ? {} : { lanes },
    );
    return {
      call: pool.call[fn]!,
      move: (input, transfer) => pool.with({ transfer })[fn]!(input),
      close: () => pool.close(),
    };
  },
};
