import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, renameSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { watchCpu } from '../harness/cpu.ts';
import { quantile } from '../harness/stats.ts';
import type { CellResult } from '../harness/study.ts';

const source = fileURLToPath(new URL('./ping-pong.c', import.meta.url));
const folder = fileURLToPath(new URL('../../out/native/', import.meta.url));
const binary = `${folder}ping-pong`;

/** Whether this machine can build and run it: it has a C compiler and Linux's futex. */
export function hasNative(): boolean {
  return process.platform === 'linux' && spawnSync('cc', ['--version']).status === 0;
}

/** Builds it if it is older than its source. */
export function buildNative(): void {
  const built = statSync(binary, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  if (built > statSync(source).mtimeMs) return;
  mkdirSync(folder, { recursive: true });
  // Two processes may be at it at the same time: each whole binary takes the place of the one before.
  const mine = `${binary}.${process.pid}`;
  execFileSync('cc', ['-O2', '-pthread', '-o', mine, source]);
  renameSync(mine, binary);
}

/** What goes on beside the handing over, in microseconds. */
export interface Around {
  /** The host sleeps so long before each round. */
  readonly pauseUs?: number;
  /** The worker works so long before it answers; then only the way back is timed. */
  readonly workUs?: number;
}

/** @param how each side waits for the other */
export function pingPong(how: 'futex' | 'spin', rounds: number, around: Around = {}): CellResult {
  const share = watchCpu();
  const args = [how, rounds, around.pauseUs ?? 0, around.workUs ?? 0].map(String);
  const text = execFileSync(binary, args, { encoding: 'utf8', maxBuffer: 2 ** 28 });
  const ascending = Float64Array.from(text.trimEnd().split('\n'), Number).sort();
  const us = (part: number) => quantile(ascending, part) / 1000;
  const mean = ascending.reduce((sum, ns) => sum + ns, 0) / ascending.length;
  const figures = { rate: 1e9 / mean, p50: us(0.5), p90: us(0.9), p99: us(0.99), max: us(1) };
  const { othersCores } = share();
  return { figures, othersCores: Math.max(0, othersCores - 2) }; // its two threads are no others
}
