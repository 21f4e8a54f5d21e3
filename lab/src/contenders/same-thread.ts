import { type Contender, loadFunction } from './contender.ts';

/** Not a hand-over at all: what awaiting costs, the floor that no contender can go below. */
export const contender: Contender = {
  name: 'same thread',
  settings:
    'an async function around the task, awaited; the plain call where others block; nothing is handed over and nothing is cloned',
  async open(target) {
    const fn = await loadFunction(target);
    return { call: async input => fn(input), sync: fn, close: async () => {} };
  },
};
