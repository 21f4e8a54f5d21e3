import { serveChild } from './child.ts';
import type { Control, ControlSpec } from './control.ts';
import { watchCpu } from './cpu.ts';
import { summarise } from './stats.ts';

const LOOP_STEPS = 8_000_000;
const AWAITS = 300_000;
const CLOCK_READS = 200_000;

serveChild<ControlSpec, Control>(async ({ repeats }) => {
  fixedLoop();
  await fixedAwaits();
  const share = watchCpu();
  const loops: number[] = [];
  const awaits: number[] = [];
  for (let i = 0; i < repeats; i++) {
    loops.push(fixedLoop());
    awaits.push(await fixedAwaits());
  }
  const { othersCores } = share();
  return { cpuLoopMs: summarise(loops), awaitsPerSecond: summarise(awaits), clockNs: clockNs(), othersCores };
});

/** @returns milliseconds */
function fixedLoop(): number {
  const from = performance.now();
  let state = 1;
  for (let i = 0; i < LOOP_STEPS; i++) state = Math.imul(state ^ (state >>> 13), 0x5bd1e995) + i;
  const took = performance.now() - from;
  if (state === 0.5) throw new Error('never: it only keeps the loop from being removed');
  return took;
}

/** @returns calls/s */
async function fixedAwaits(): Promise<number> {
  const increment = async (x: number) => x + 1;
  const from = performance.now();
  let sum = 0;
  for (let i = 0; i < AWAITS; i++) sum = await increment(sum);
  if (sum !== AWAITS) throw new Error(`${AWAITS} increments came to ${sum}`);
  return (AWAITS / (performance.now() - from)) * 1000;
}

function clockNs(): number {
  const from = performance.now();
  for (let i = 0; i < CLOCK_READS; i++) performance.now();
  return ((performance.now() - from) / CLOCK_READS) * 1e6;
}
