/** Load generators of others, which drive the same servers: do they find what ours finds? */
import { rm } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { PROTO } from './definition.ts';
import type { Driven, LoadCommand } from './load.ts';
import type { Ran } from './processes.ts';

export interface Driver {
  readonly name: string;
  /** Its package and version, for `go install`. */
  readonly program: string;
  /** Neither takes less than a second. */
  readonly argumentsFor: (command: LoadCommand, seconds: number) => readonly string[];
  readonly read: (stdout: string, seconds: number) => Found;
  /** Files that it leaves behind. */
  readonly leaves: readonly string[];
}

type Found = Omit<Driven, 'cpuUs'>;

/** A name that no other run uses. */
const PROFILES = `hotlane-lab-${process.pid}`;

export const drivers = {
  'grpc-go': {
    name: 'grpc-go’s benchmark client',
    program: 'google.golang.org/grpc/benchmark/client@v1.85.0',
    argumentsFor: ({ address, connections, inFlight, bytes }, seconds) => [
      ...['-test_name', PROFILES, '-port', address.split(':')[1]!],
      ...['-c', String(connections), '-r', String(inFlight / connections)],
      ...['-req', String(bytes), '-resp', String(bytes)],
      ...['-w', '0', '-d', String(seconds)],
    ],
    read: readGrpcGo,
    leaves: [`/tmp/${PROFILES}.cpu`, `/tmp/${PROFILES}.mem`],
  },
  ghz: {
    name: 'ghz',
    program: 'github.com/bojand/ghz/cmd/ghz@v0.121.0',
    argumentsFor: ({ address, connections, inFlight, bytes }, seconds) => [
      ...['--insecure', '--proto', fileURLToPath(PROTO), '--call', 'grpc.testing.BenchmarkService/UnaryCall'],
      ...['--data', JSON.stringify({ responseSize: bytes, payload: { body: base64(bytes) } })],
      ...['--disable-template-functions', '--disable-template-data'],
      ...['--connections', String(connections), '--concurrency', String(inFlight)],
      // Otherwise the calls under way at the end count as failed.
      ...['--duration', `${seconds}s`, '--duration-stop', 'wait'],
      ...['--format', 'json', address],
    ],
    read: readGhz,
    leaves: [],
  },
} satisfies Readonly<Record<string, Driver>>;

export type DriverName = keyof typeof drivers;

/** @param run runs a program with arguments to its end */
export async function drive(
  { argumentsFor, read, leaves }: Driver,
  command: LoadCommand,
  run: (args: readonly string[]) => Promise<Ran>,
): Promise<Driven> {
  const seconds = Math.max(1, Math.round(command.ms / 1000));
  try {
    const { stdout, cpuUs } = await run(argumentsFor(command, seconds));
    return { ...read(stdout, seconds), cpuUs };
  } finally {
    await Promise.all(leaves.map(file => rm(file, { force: true })));
  }
}

function base64(bytes: number): string {
  return Buffer.alloc(bytes).toString('base64');
}

/** It ends with an exit code when a call fails. */
export function readGrpcGo(stdout: string, seconds: number): Found {
  const perSecond = Number(/^qps: (\S+)$/m.exec(stdout)?.[1]);
  const latencies = /^Latency: .*: (\S+)\/(\S+)\/(\S+)$/m.exec(stdout)?.slice(1).map(microseconds);
  if (Number.isNaN(perSecond) || latencies === undefined) throw notUnderstood(stdout);
  const [p50Us, p90Us, p99Us] = latencies as [number, number, number];
  const calls = Math.round(perSecond * seconds);
  return { calls, allCalls: calls, perSecond, p50Us, p90Us, p99Us };
}

const NANOSECONDS: Readonly<Record<string, number>> = { ns: 1, µs: 1e3, ms: 1e6, s: 1e9 };

/** Of a duration below a minute, as Go prints it. */
function microseconds(text: string): number {
  const [, value, unit] = /^([\d.]+)(ns|µs|ms|s)$/.exec(text) ?? [];
  if (unit === undefined) throw notUnderstood(text);
  return Math.round(Number(value) * NANOSECONDS[unit]!) / 1000;
}

interface GhzReport {
  readonly count: number;
  readonly rps: number;
  readonly errorDistribution: Readonly<Record<string, number>>;
  readonly latencyDistribution: readonly { readonly percentage: number; readonly latency: number }[];
}

export function readGhz(stdout: string): Found {
  const { count, rps, errorDistribution, latencyDistribution }: GhzReport = JSON.parse(stdout);
  const [failure] = Object.keys(errorDistribution);
  if (failure !== undefined) throw new Error(`A call failed: ${failure}`);
  const at = (percentage: number) => {
    const found = latencyDistribution.find(one => one.percentage === percentage);
    if (found === undefined) throw notUnderstood(stdout);
    return found.latency / 1000;
  };
  return { calls: count, allCalls: count, perSecond: rps, p50Us: at(50), p90Us: at(90), p99Us: at(99) };
}

function notUnderstood(text: string): Error {
  return new Error(`Not understood: ${text.slice(0, 500)}`);
}
