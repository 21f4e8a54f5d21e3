import type { Contender } from './contender.ts';
import { openPiscina } from './open-piscina.ts';

const TASKS_PER_THREAD = 64;

export const contender: Contender = {
  name: 'piscina tuned',
  settings: `the same with concurrentTasksPerWorker: ${TASKS_PER_THREAD}`,
  open: target => openPiscina(target, TASKS_PER_THREAD),
};
