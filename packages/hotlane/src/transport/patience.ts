/** After waits in vain, so many chances at the most are let pass. */
const MOST_SKIPPED = 30;
const MOST_IN_VAIN = 5;

/**
 * Whether it pays to wait awake for what is to come: learned from how it went. After a wait in vain, and no sooner than
 * that, some chances are let pass: 2, then 6, 14, 30. One that is rewarded ends that. So where waiting takes the very core
 * that is waited for, one wait in thirty is lost; where it pays again, that shows within thirty.
 */
export class Patience {
  #skip = 0;
  #inVain = 0;

  /** Takes a chance: whether to wait awake this time. */
  take(): boolean {
    if (this.#skip === 0) return true;
    this.#skip--;
    return false;
  }

  /** Whether the next chance will be taken. */
  get ready(): boolean {
    return this.#skip === 0;
  }

  rewarded(): void {
    this.#inVain = 0;
    this.#skip = 0;
  }

  wasInVain(): void {
    this.#inVain = Math.min(this.#inVain + 1, MOST_IN_VAIN);
    this.#skip = Math.min(MOST_SKIPPED, (1 << this.#inVain) - 2);
  }
}
