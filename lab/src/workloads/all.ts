import { deepStrictEqual } from 'node:assert';
import { makeRecords, meanBytes } from './records.ts';
import type { Workload } from './workload.ts';

const tasks = new URL('./tasks.ts', import.meta.url).href;
const RECORDS_SEED = 7;

function noop(inFlight: number): Workload {
  return {
    title: `x => x + 1, ${inFlight.toLocaleString('en')} in flight`,
    module: tasks,
    fn: 'increment',
    inFlight,
    inputs: () => Array.from({ length: 1024 }, (_, i) => i),
    check: (input, output) => deepStrictEqual(output, (input as number) + 1),
  };
}

function record(inFlight: number): Workload {
  const records = makeRecords(64, RECORDS_SEED);
  return {
    title: `nested object of ${Math.round(meanBytes(records))} bytes as JSON, in and out, ${inFlight} in flight`,
    module: tasks,
    fn: 'echo',
    inFlight,
    inputs: () => records,
    check: (input, output) => deepStrictEqual(output, input),
  };
}

/** Every workload, by the name it has on command lines. */
export const workloads: Readonly<Record<string, Workload>> = {
  'noop-1': noop(1),
  'noop-64': noop(64),
  'noop-1000': noop(1000),
  'object-64': record(64),
};
