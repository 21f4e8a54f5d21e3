/** Over so much of the past the rate is taken, */
const PAST_MS = 10_000;
/** or over more, until so many have finished in it. */
const LEAST_FINISHED = 10;

/** How fast inputs finish, from samples of how many have. */
export class Rate {
  /** Time and count of each sample, the oldest first. */
  readonly #samples: [at: number, finished: number][];

  /** @param now in milliseconds */
  constructor(now: number) {
    this.#samples = [[now, 0]];
  }

  sample(now: number, finished: number): void {
    const samples = this.#samples;
    samples.push([now, finished]);
    while (
      samples.length > 2 &&
      now - samples[1]![0] >= PAST_MS &&
      finished - samples[1]![1] >= LEAST_FINISHED
    ) {
      samples.shift();
    }
    if (samples.length > 2_000) thin(samples);
  }

  get perSecond(): number {
    const [firstAt, first] = this.#samples[0]!;
    const [lastAt, last] = this.#samples[this.#samples.length - 1]!;
    return lastAt > firstAt ? ((last - first) * 1_000) / (lastAt - firstAt) : 0;
  }

  /** How long so many more will take; undefined while nobody can tell. */
  secondsFor(more: number): number | undefined {
    const { perSecond } = this;
    return perSecond > 0 ? more / perSecond : undefined;
  }
}

/** Where next to nothing finishes samples pile up: every other one goes. */
function thin(samples: unknown[]): void {
  for (let i = 1; i < samples.length - 1; i++) samples.splice(i, 1);
}
