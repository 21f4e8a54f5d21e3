import { fileURLToPath } from 'node:url';
import { buildGo, installGo, whyNotBuilt } from '../harness/go-program.ts';
import { JsonProcess } from '../harness/json-process.ts';
import { contenders } from './contenders.ts';
import { type Driver, type DriverName, drivers } from './drivers.ts';

const SOURCE = new URL('./go/', import.meta.url);
const OUT = new URL('../../out/go/', import.meta.url);
const BINARY = new URL('server-workers', OUT);
const fileOf = (name: string) => fileURLToPath(new URL(name, import.meta.url));

/** The study's Go program, or why there is none: then a client in Node drives, and there are no servers in Go. */
export type Go = { readonly binary: string } | { readonly missing: string };

export async function prepareGo(): Promise<Go> {
  // So that what happens without Go can be seen where there is one.
  if (process.env.HOTLANE_LAB_NO_GO === '1') return { missing: 'HOTLANE_LAB_NO_GO is set.' };
  try {
    return { binary: await buildGo(SOURCE, BINARY) };
  } catch (error) {
    return { missing: whyNotBuilt(error, BINARY) };
  }
}

/** A load generator of others, in the same way. */
export async function prepareDriver(name: DriverName, go: Go): Promise<Go> {
  if ('missing' in go) return go;
  const { program }: Driver = drivers[name];
  const binary = new URL(`driver-${name}`, OUT);
  try {
    const onBuild = () => process.stderr.write(`Building ${program}, once.\n`);
    return { binary: await installGo(program, binary, onBuild) };
  } catch (error) {
    return { missing: whyNotBuilt(error, binary) };
  }
}

/** A load generator in a process of its own; it takes `LoadCommand`s. */
export function startClient(go: Go): JsonProcess {
  return 'binary' in go
    ? new JsonProcess(go.binary, ['load'])
    : new JsonProcess(process.execPath, [fileOf('./client-entry.ts')]);
}

export interface Ran {
  readonly stdout: string;
  /** CPU time that it took. */
  readonly cpuUs: number;
}

/** Runs another program to its end, from the one in Go: Node does not tell what CPU a child took. */
export async function runProgram(command: readonly string[], go: Go): Promise<Ran> {
  if ('missing' in go) throw new Error(go.missing);
  const runner = new JsonProcess(go.binary, ['run']);
  try {
    return await runner.ask<Ran>({ command });
  } finally {
    await runner.close();
  }
}

/** A server in a process of its own: its first line has its address, further ones what it has used. */
export function startServer(contender: string, go: Go): JsonProcess {
  const { server } = contenders[contender]!;
  if (typeof server === 'function') {
    return new JsonProcess(process.execPath, [fileOf('./server-entry.ts'), contender]);
  }
  if ('missing' in go) throw new Error(go.missing);
  return new JsonProcess(go.binary, ['serve', String(server.goWorkers)]);
}
