import os from 'node:os';

/** What a stretch of time cost, seen from one process. */
export interface CpuShare {
  readonly wallMs: number;
  /** CPU time of this process, all its threads together, in microseconds. */
  readonly ownUs: number;
  /**
   * How many cores other processes kept busy meanwhile. The kernel counts in ticks of some milliseconds, so
   * over short stretches this is rough.
   */
  readonly othersCores: number;
}

/** Starts watching; the function it returns tells what happened since. */
export function watchCpu(): () => CpuShare {
  const own = process.cpuUsage();
  const busy = machineBusyMs();
  const from = performance.now();
  return () => {
    const wallMs = performance.now() - from;
    const { user, system } = process.cpuUsage(own);
    const ownUs = user + system;
    const othersMs = machineBusyMs() - busy - ownUs / 1000;
    return { wallMs, ownUs, othersCores: Math.max(0, othersMs / wallMs) };
  };
}

/** CPU time so far, in microseconds: of this thread, and of all threads of the process. */
export function cpuNow(): { readonly host: number; readonly all: number } {
  const sum = ({ user, system }: NodeJS.CpuUsage) => user + system;
  return { host: sum(process.threadCpuUsage()), all: sum(process.cpuUsage()) };
}

function machineBusyMs(): number {
  let sum = 0;
  for (const { times } of os.cpus()) sum += times.user + times.nice + times.sys + times.irq;
  return sum;
}
