import { loadContender } from '../contenders/all.ts';
import { serveChild } from '../harness/child.ts';
import { type Load, measureLatency, measureRate } from '../harness/load.ts';
import { workloads } from '../workloads/all.ts';
import type { CellResult, CellSpec } from './cell.ts';

serveChild<CellSpec, CellResult>(async ({ workload: key, contender, plan }) => {
  const workload = workloads[key]!;
  const inputs = workload.inputs();
  const target = { module: workload.module, fn: workload.fn, threads: 1 };
  const opened = await (await loadContender(contender)).open(target);
  const load: Load = { call: opened.call, inputs, inFlight: workload.inFlight };

  const verify = async () => {
    const outputs = await Promise.all(inputs.map(input => load.call(input)));
    for (const [i, output] of outputs.entries()) workload.check(inputs[i], output);
  };
  await verify();
  const rate = await measureRate(load, plan);
  const latency = await measureLatency(load, plan.latencyMs);
  await verify();
  await opened.close();
  return { ...rate, ...latency };
});
