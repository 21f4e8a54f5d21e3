import { loadContender } from '../contenders/all.ts';
import { serveChild } from '../harness/child.ts';
import type { CellResult, CellSpec } from '../harness/study.ts';
import { buildNative, pingPong } from '../native/ping-pong.ts';
import type { Plan } from './plan.ts';
import { workloads } from './workloads.ts';

const NATIVE = { 'c-futex': 'futex', 'c-spin': 'spin' } as const;
/** Round trips of the native ping-pong in a millisecond of the plan, about. */
const NATIVE_PER_MS = 40;

serveChild<CellSpec<Plan>, CellResult>(async ({ workload, contender, plan }) => {
  if (contender in NATIVE) {
    buildNative();
    const { around } = workloads[workload]!;
    const rounds = around === undefined ? Math.ceil(plan.latencyMs * NATIVE_PER_MS) + 100 : plan.repeats * 2;
    return pingPong(NATIVE[contender as keyof typeof NATIVE], rounds, around);
  }
  return workloads[workload]!.kind.run(await loadContender(contender), plan);
});
