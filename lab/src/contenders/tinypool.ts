import { Tinypool } from 'tinypool';
import type { Contender } from './contender.ts';

export const contender: Contender = {
  name: 'tinypool',
  settings: 'new Tinypool({ minThreads: threads, maxThreads: threads }), all else at its defaults',
  async open({ module, fn, threads }) {
    const pool = new Tinypool({
      filename: module,
      name: fn,
      ...(threads === 'adaptive' ? {} : { minThreads: threads, maxThreads: threads }),
    });
    return { call: input => pool.run(input), close: () => pool.destroy() };
  },
};
