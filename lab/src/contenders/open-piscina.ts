import { fileURLToPath } from 'node:url';
import { Piscina } from 'piscina';
import type { Opened, Target } from './contender.ts';

/** @param tasksPerThread `concurrentTasksPerWorker`; undefined leaves it at Piscina's default */
export async function openPiscina({ module, fn, threads }: Target, tasksPerThread?: number): Promise<Opened> {
  const pool = new Piscina<unknown, unknown>({
    filename: fileURLToPath(module),
    name: fn,
    ...(threads === 'adaptive' ? {} : { minThreads: threads, maxThreads: threads }),
    ...(tasksPerThread === undefined ? {} : { concurrentTasksPerWorker: tasksPerThread }),
  });
  return {
    call: input => pool.run(input),
    move: (input, transfer) => pool.run(input, { transferList: [...transfer] as never }),
    close: () => pool.destroy(),
  };
}
