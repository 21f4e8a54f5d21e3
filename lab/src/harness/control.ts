import { runChild } from './child.ts';
import { relativeSpread, type Summary, summarise } from './stats.ts';

/** Work that is the same on every run of every version: when it moves, the machine moved. */
export interface Control {
  /** A fixed loop of integer arithmetic, in milliseconds. */
  readonly cpuLoopMs: Summary;
  /** Awaiting an async function on the same thread, calls/s. */
  readonly awaitsPerSecond: Summary;
  /** What reading the clock costs, in nanoseconds: the floor of every latency in the tables. */
  readonly clockNs: number;
  /** Cores that other processes kept busy meanwhile. */
  readonly othersCores: number;
}

export interface ControlSpec {
  readonly repeats: number;
}

/** How often each process of a control measurement repeats it. */
const REPEATS = 3;

export interface NoiseVerdict {
  readonly tooNoisy: boolean;
  /** What was seen; empty on a quiet machine. */
  readonly reasons: readonly string[];
}

/** Limits of a machine that is quiet enough to judge on. */
export const MOST_OTHERS_CORES = 0.15;
export const MOST_LOOP_SPREAD = 0.15;
export const MOST_DRIFT = 0.08;
/** A run is disturbed above so many cores used by others; short runs are counted roughly, hence the distance. */
export const DISTURBED_CORES = 0.3;
export const MOST_DISTURBED_RUNS = 0.1;

/**
 * Measures in several processes, one after the other: the engine compiles the same awaits in one of two ways, from process
 * to process, of which one is half as fast again as the other.
 *
 * @param processes how many
 * @throws Error when the control itself cannot run
 */
export async function measureControl(processes: number): Promise<Control> {
  const entry = new URL('./control-entry.ts', import.meta.url);
  const controls: Control[] = [];
  for (let i = 0; i < processes; i++) {
    const outcome = await runChild<ControlSpec, Control>(entry, { repeats: REPEATS }, { timeoutMs: 60_000 });
    if (!outcome.ok) throw new Error(`The control measurement failed: ${outcome.failure}`);
    controls.push(outcome.result);
  }
  return {
    cpuLoopMs: summarise(controls.flatMap(control => control.cpuLoopMs.values)),
    awaitsPerSecond: summarise(controls.flatMap(control => control.awaitsPerSecond.values)),
    clockNs: summarise(controls.map(control => control.clockNs)).median,
    othersCores: summarise(controls.map(control => control.othersCores)).median,
  };
}

/**
 * Whether figures taken between two control measurements can be judged.
 *
 * @param othersCores for each run between the two: cores that other processes kept busy meanwhile
 */
export function judgeNoise(before: Control, after: Control, othersCores: readonly number[]): NoiseVerdict {
  const reasons: string[] = [];
  for (const [when, control] of [
    ['before', before],
    ['after', after],
  ] as const) {
    if (control.othersCores > MOST_OTHERS_CORES) {
      reasons.push(`${when} the run other processes used ${control.othersCores.toFixed(2)} cores`);
    }
    const spread = relativeSpread(control.cpuLoopMs);
    if (spread > MOST_LOOP_SPREAD) reasons.push(`${when} the run the CPU loop varied by ${percent(spread)}`);
  }
  const disturbed = othersCores.filter(cores => cores > DISTURBED_CORES).length;
  if (disturbed > MOST_DISTURBED_RUNS * othersCores.length) {
    reasons.push(
      `in ${disturbed} of ${othersCores.length} runs other processes used more than ${DISTURBED_CORES} cores`,
    );
  }
  const drifts = [
    ['CPU loop', before.cpuLoopMs.median, after.cpuLoopMs.median],
    ['same-thread await', before.awaitsPerSecond.max, after.awaitsPerSecond.max],
  ] as const;
  for (const [what, was, is] of drifts) {
    const drift = Math.abs(is / was - 1);
    if (drift > MOST_DRIFT) reasons.push(`the ${what} moved by ${percent(drift)} between before and after`);
  }
  return { tooNoisy: reasons.length > 0, reasons };
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}
