import type { Contender } from './contender.ts';
import { openPiscina } from './open-piscina.ts';

export const contender: Contender = {
  name: 'piscina',
  settings: 'new Piscina({ minThreads: threads, maxThreads: threads }), all else at its defaults',
  open: target => openPiscina(target),
};
