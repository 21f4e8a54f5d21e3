import { setTimeout as delay } from 'node:timers/promises';
import { median } from '../../harness/stats.ts';
import type { Opened } from '../contenders/contender.ts';
import type { Rated, RateTask } from './messages.ts';

/** Keeps a constant number of requests in flight, and counts how many are answered in each of several windows. */
export async function measureRate({ dispatcher, blocking }: Opened, task: RateTask): Promise<Rated> {
  const { origin, path, inFlight, warmUpMs, windows, windowMs } = task;
  let answered = 0;
  let isOver = false;
  const strand = async () => {
    while (!isOver) {
      const { statusCode, body } = await dispatcher.request({
        origin,
        path,
        method: 'GET',
        ...(blocking !== undefined && { blocking }),
      });
      await body.dump();
      if (statusCode !== 200) throw new Error(`${path} came with status ${statusCode}.`);
      answered++;
    }
  };
  const all = Promise.all(Array.from({ length: inFlight }, strand));
  // It is awaited at the end; until then a failure is no unhandled one.
  all.catch(() => {});
  await Promise.race([delay(warmUpMs), all]);
  const rates: number[] = [];
  for (let window = 0; window < windows; window++) {
    const [before, startedAt] = [answered, performance.now()];
    await Promise.race([delay(windowMs), all]);
    rates.push(((answered - before) * 1000) / (performance.now() - startedAt));
  }
  isOver = true;
  await all;
  return { perSecond: median(rates) };
}
