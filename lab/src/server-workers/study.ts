import { availableParallelism } from 'node:os';
import type { Study } from '../harness/study.ts';
import { barsFor } from './bars.ts';
import { calibrate } from './burn.ts';
import { contenders } from './contenders.ts';
import { measureWith } from './measure.ts';
import type { Plan } from './plan.ts';
import { prepareGo } from './processes.ts';
import { curves, workloads } from './workloads.ts';

/** What it is worth to run a gRPC server's handlers on workers: the benchmark of a study of grpc-go, done in Node. */
export async function serverWorkersStudy(): Promise<Study<Plan>> {
  const go = await prepareGo();
  calibrate();
  const isThere = (key: string) => 'binary' in go || typeof contenders[key]!.server === 'function';
  const known = Object.fromEntries(Object.entries(contenders).filter(([key]) => isThere(key)));
  const driver =
    'binary' in go
      ? 'One client in Go, on grpc-go, drives all of them.'
      : `${go.missing} One client in Node, on grpc-js, drives all servers, which costs more than some of them do; there are no rows of grpc-go.`;
  if ('missing' in go) process.stderr.write(`${driver}\n`);
  return {
    name: 'server-workers',
    title: 'What running gRPC handlers on workers costs, and brings',
    about: `Unary calls over loopback, without TLS and keep-alive, on one connection unless it says otherwise. Each server is a process of its own; all are started anew in each round, are kept, and take short turns in an order that is shuffled each time. ${driver} Client and server share the cores. Ratios are paired by turn.`,
    entry: measureWith(go),
    subject: 'lanes-2',
    contenders: Object.fromEntries(
      Object.entries(known).map(([key, { name, settings, variantOf }]) => [
        key,
        { name, settings, ...(variantOf !== undefined && { variantOf }) },
      ]),
    ),
    workloads: Object.fromEntries(
      Object.entries(workloads).map(([key, { load: _, ...workload }]) => [
        key,
        { ...workload, contenders: workload.contenders.filter(isThere) },
      ]),
    ),
    bars: barsFor(availableParallelism()),
    curves,
    packages: ['hotlane', '@hotlane/grpc', '@grpc/grpc-js', '@connectrpc/connect-node'],
    cellTimeoutMs: 0,
    modes: {
      full: {
        rounds: 5,
        controlProcesses: 10,
        plan: { firstMs: 2_000, warmUpMs: 200, turnMs: 1_000, turns: 5 },
      },
      quick: {
        rounds: 1,
        controlProcesses: 2,
        plan: { firstMs: 700, warmUpMs: 80, turnMs: 220, turns: 3 },
      },
      smoke: {
        rounds: 1,
        controlProcesses: 1,
        plan: { firstMs: 20, warmUpMs: 20, turnMs: 100, turns: 1 },
      },
    },
  };
}
