/** A server of the study, in a process of its own: `node server-entry.ts CONTENDER`. Says where it is, then what it has used. */
import { cpuNow } from '../harness/cpu.ts';
import { answerLines } from '../harness/json-process.ts';
import { contenders } from './contenders.ts';
import { type Allocated, NOTHING, watchHeaps } from './heaps.ts';

/** What a server is asked. Servers in Go always count what they allocate, those in Node when they are told to: it slows them. */
export interface UsedCommand {
  /** From now on, at this interval. */
  readonly watchHeaps?: number;
  readonly sumUpHeaps?: boolean;
}

/** What a server has used so far, in microseconds of CPU: its main thread, and all of it. */
export interface Used {
  readonly hostUs: number;
  readonly allUs: number;
  readonly replaced?: number;
  readonly allocated?: Allocated;
}

const { server } = contenders[process.argv[2]!]!;
if (typeof server !== 'function') throw new Error('That is a server in Go.');
const open = await server();
const { address, replaced, close } = await open();
process.stdout.write(`${JSON.stringify({ address })}\n`);
let sumUp: (() => Promise<Allocated>) | undefined;
await answerLines(async ({ watchHeaps: interval, sumUpHeaps }: UsedCommand): Promise<Used> => {
  const { host, all } = cpuNow();
  const used = { hostUs: host, allUs: all, ...(replaced !== undefined && { replaced: replaced() }) };
  if (sumUpHeaps) return { ...used, allocated: await sumUp!() };
  if (interval === undefined) return used;
  sumUp = await watchHeaps(interval);
  return { ...used, allocated: { host: NOTHING, all: NOTHING } };
});
await close();
