/**
 * Takes CPU, not time: a loop of so many turns takes as many cycles on a core that is shared as on one that is not, so that a
 * server cannot seem faster by letting two handlers wait for one core. The turns are counted out once for all processes of a run.
 */
let turnsPerUs = Number(process.env.HOTLANE_LAB_TURNS_PER_US ?? 0);

/** Keeps this thread busy for about so many microseconds of CPU. */
export function burn(us: number): number {
  return turn(Math.round(us * turnsPerUs));
}

function turn(turns: number): number {
  let x = 2463534242;
  for (let i = 0; i < turns; i++) {
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
  }
  return x;
}

const TURNS = 2_000_000;
const REPEATS = 15;

/** Counts out how many turns a microsecond takes here, and leaves it to the processes that are started from here. */
export function calibrate(): void {
  let best = Number.POSITIVE_INFINITY;
  for (let i = 0; i < REPEATS; i++) {
    const from = performance.now();
    turn(TURNS);
    best = Math.min(best, performance.now() - from); // whatever disturbed the others only made them longer
  }
  turnsPerUs = TURNS / (best * 1000);
  process.env.HOTLANE_LAB_TURNS_PER_US = String(turnsPerUs);
}
