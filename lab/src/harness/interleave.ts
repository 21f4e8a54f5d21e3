import { type ChildOutcome, runChild } from './child.ts';
import { shuffled } from './random.ts';

/** One contender on one workload. */
export interface Cell {
  readonly workload: string;
  readonly contender: string;
}

export interface InterleaveOptions<S> {
  readonly cells: readonly Cell[];
  /** How many cells run at once: more than one only where figures do not matter. */
  readonly atOnce: number;
  /** How often each cell is run, each time in a new process. */
  readonly rounds: number;
  readonly random: () => number;
  /** The module that runs a cell: calls `serveChild`. */
  readonly entry: URL;
  readonly spec: (cell: Cell) => S;
  readonly timeoutMs: number;
  readonly onStart: (cell: Cell, round: number) => void;
}

export interface CellRuns<R> {
  readonly cell: Cell;
  /** One for each round, in order. */
  readonly outcomes: readonly ChildOutcome<R>[];
}

/**
 * Runs every cell once in each round, in an order that is shuffled for each round: whatever the machine does
 * meanwhile, it does to all of them. Workloads stay together within a round, so that the contenders that are
 * compared run close in time.
 */
export async function runInterleaved<S, R>(options: InterleaveOptions<S>): Promise<CellRuns<R>[]> {
  const { cells, random, atOnce } = options;
  const runs = cells.map(cell => ({ cell, outcomes: [] as ChildOutcome<R>[] }));
  const workloads = [...new Set(cells.map(cell => cell.workload))];
  for (let round = 0; round < options.rounds; round++) {
    const inOrder = shuffled(workloads, random).flatMap(workload => {
      const together = runs.filter(run => run.cell.workload === workload);
      return shuffled(together, random);
    });
    const strand = async () => {
      for (let run = inOrder.shift(); run !== undefined; run = inOrder.shift()) {
        options.onStart(run.cell, round);
        const { entry, timeoutMs } = options;
        run.outcomes.push(await runChild<S, R>(entry, options.spec(run.cell), { timeoutMs }));
      }
    };
    await Promise.all(Array.from({ length: atOnce }, strand));
  }
  return runs;
}
