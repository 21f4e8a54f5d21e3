/** A server of the study, in a process of its own: `node server-entry.ts CONTENDER`. Says where it is, then what it has used. */
import { cpuNow } from '../harness/cpu.ts';
import { answerLines } from '../harness/json-process.ts';
import { contenders } from './contenders.ts';

/** What a server has used so far, in microseconds of CPU: its main thread, and all of it. */
export interface Used {
  readonly hostUs: number;
  readonly allUs: number;
  readonly replaced?: number;
}

const { server } = contenders[process.argv[2]!]!;
if (typeof server !== 'function') throw new Error('That is a server in Go.');
const open = await server();
const { address, replaced, close } = await open();
process.stdout.write(`${JSON.stringify({ address })}\n`);
await answerLines((): Used => {
  const { host, all } = cpuNow();
  return { hostUs: host, allUs: all, ...(replaced !== undefined && { replaced: replaced() }) };
});
await close();
