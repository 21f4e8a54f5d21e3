import type { Contender, Opened } from '../../contenders/contender.ts';
import { watchCpu } from '../../harness/cpu.ts';
import type { CellResult } from '../../harness/study.ts';
import type { Plan } from '../plan.ts';

/** A way to measure. Runs in the child process. */
export interface Kind {
  run(contender: Contender, plan: Plan): Promise<CellResult>;
}

export const TASKS = new URL('../tasks/tasks.ts', import.meta.url).href;

/** Opens a contender, measures, and closes it; adds what other processes did meanwhile. */
export async function measured(
  contender: Contender,
  fn: string,
  threads: number | 'adaptive',
  measure: (opened: Opened) => Promise<Omit<CellResult, 'othersCores'>>,
): Promise<CellResult> {
  const opened = await contender.open({ module: TASKS, fn, threads });
  const share = watchCpu();
  const result = await measure(opened);
  const { othersCores } = share();
  await opened.close();
  return { ...result, othersCores };
}

/** A contender is measured only in what it can do. */
export function lacking({ name }: Contender, way: keyof Opened): TypeError {
  return new TypeError(`The contender ${name} has no \`${way}\`.`);
}

const CALM_WINDOW_MS = 100;
/** Of one core. */
const CALM_SHARE = 0.2;
const LONGEST_WAIT_MS = 30_000;

/** Waits until the process uses hardly any CPU: then all its threads have started. */
export async function calm(): Promise<void> {
  const gaveUpAt = performance.now() + LONGEST_WAIT_MS;
  for (let share = 1; share > CALM_SHARE && performance.now() < gaveUpAt; ) {
    const own = watchCpu();
    await pause(CALM_WINDOW_MS);
    const { ownUs, wallMs } = own();
    share = ownUs / 1000 / wallMs;
  }
}

/** Calls for as long as the plan says, so many at a time: what is measured then runs compiled code. */
export async function warmUp(
  { call }: Opened,
  plan: Plan,
  input: (i: number) => unknown,
  inFlight = 1,
): Promise<void> {
  const ends = performance.now() + plan.warmUpMs;
  for (let i = 0; i < 20 || performance.now() < ends; i++) {
    await Promise.all(Array.from({ length: inFlight }, (_, k) => call(input(k))));
  }
}

export function pause(ms: number): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, ms));
}
