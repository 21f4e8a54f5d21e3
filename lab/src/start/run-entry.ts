import { createHash } from 'node:crypto';
import { loadContender } from '../contenders/all.ts';
import { serveChild } from '../harness/child.ts';
import { watchCpu } from '../harness/cpu.ts';
import { quantile } from '../harness/stats.ts';
import type { RunResult, RunSpec } from './run.ts';
import { compress, suggest } from './tasks.ts';

/** Progress is told, and on one thread the clock read, no more often than makes sense. */
const TELL_EVERY_MS = 100;

serveChild<RunSpec, RunResult, number>((spec, tell) => {
  let toldAt = performance.now();
  const progress = (done: number) => {
    const now = performance.now();
    if (now - toldAt < TELL_EVERY_MS) return;
    toldAt = now;
    tell(done);
  };
  return spec.way === 'one thread' ? runHere(spec, progress) : runOnThreads(spec, progress);
});

/** Plain calls in a loop: no promise, no hand-over. */
async function runHere(spec: RunSpec, progress: (done: number) => void): Promise<RunResult> {
  const task: (input: string) => unknown = { compress, suggest }[spec.fn];
  const inputs = spec.inputs.filter((_, i) => i % spec.sampleEvery === 0);
  const results: unknown[] = [];
  const took: number[] = [];
  const share = watchCpu();
  const from = performance.now();
  let now = from;
  for (const input of inputs) {
    const before = now;
    results.push(task(input));
    now = performance.now();
    took.push(now - before);
    if (now - from >= spec.limitMs) break;
    progress(results.length);
  }
  const ms = performance.now() - from;
  const { othersCores, ownUs } = share();
  took.sort((a, b) => a - b);
  const us = (share: number) => quantile(took, share) * 1000;
  const checksum = checksumOf(results);
  const callUs = { mean: (ms / results.length) * 1000, p10: us(0.1), p50: us(0.5), p90: us(0.9) };
  return {
    calls: results.length,
    ms,
    checksum,
    sampleChecksum: checksum,
    callUs,
    cpuMs: ownUs / 1000,
    othersCores,
  };
}

/** A constant number of calls in flight until all inputs are done; the threads are up before the clock starts. */
async function runOnThreads(spec: RunSpec, progress: (done: number) => void): Promise<RunResult> {
  const { inputs, fn, threads } = spec;
  const target = { module: new URL('./tasks.ts', import.meta.url).href, fn, threads };
  const opened =
    spec.way === 'hotlane'
      ? await (await loadContender('hotlane')).open(target)
      : await (await import('../contenders/open-piscina.ts')).openPiscina(target, spec.tasksPerThread);
  const small = inputs.slice(-4 * threads);
  await Promise.all(small.map(input => opened.call(input)));

  const results: unknown[] = new Array(inputs.length);
  let next = 0;
  let done = 0;
  const share = watchCpu();
  const from = performance.now();
  const strand = async () => {
    while (next < inputs.length) {
      const index = next++;
      results[index] = await opened.call(inputs[index]);
      if (++done % 16 === 0 || done < 1000) progress(done);
    }
  };
  await Promise.all(Array.from({ length: spec.inFlight }, strand));
  const ms = performance.now() - from;
  const { othersCores, ownUs } = share();
  await opened.close();
  const sample = results.filter((_, i) => i % spec.sampleEvery === 0);
  const [checksum, sampleChecksum] = [checksumOf(results), checksumOf(sample)];
  return { calls: done, ms, checksum, sampleChecksum, callUs: null, cpuMs: ownUs / 1000, othersCores };
}

function checksumOf(results: readonly unknown[]): string {
  const hash = createHash('sha256');
  for (const result of results) hash.update(JSON.stringify(result));
  return hash.digest('hex');
}
