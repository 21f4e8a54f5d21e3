/** Random numbers that a seed repeats: the same seed, the same run. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** From 0 to just below 1. */
  next(): number {
    // Mulberry32: small, quick, and good enough to shuffle events with.
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = this.#state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  }

  /** A whole number from 0 to just below `below`. */
  below(below: number): number {
    return Math.floor(this.next() * below);
  }

  /** True this often: 0 never, 1 always. */
  chance(often: number): boolean {
    return this.next() < often;
  }

  /** Around `mean`: mostly less, now and then much more, as waiting times are. */
  around(mean: number): number {
    return -Math.log(1 - this.next()) * mean;
  }

  pick<T>(list: readonly T[]): T | undefined {
    return list[this.below(list.length)];
  }
}
