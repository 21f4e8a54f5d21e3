import type { CallTimes } from '../lane/call.ts';
import type { CallNews, LaneNews, Watch } from '../lane/watch.ts';
import type { ResolvedPoolOptions } from '../options.ts';
import { callsWanted, type PoolNews, publishCall, publishLane } from './channels.ts';
import { debugging, printBackOff, printLane, printPool } from './debug.ts';

let pools = 0;

/** Those who look on at a pool in Node: subscribers of diagnostics channels, and who reads stderr. */
export class NodeWatch implements Watch {
  readonly #pool: PoolNews;

  /** @param module the task module's URL */
  constructor(module: string, options: ResolvedPoolOptions) {
    this.#pool = { pool: ++pools, module };
    if (debugging) printPool(this.#pool, options);
  }

  get calls(): boolean {
    return callsWanted();
  }

  call(about: CallNews, times: CallTimes, make: () => Promise<unknown>): Promise<unknown> {
    return publishCall(this.#pool, about, times, make);
  }

  lane(news: LaneNews): void {
    publishLane(this.#pool, news);
    if (debugging) printLane(this.#pool, news);
  }

  backOff(cause: unknown, waitMs: number): void {
    if (debugging) printBackOff(this.#pool, cause, waitMs);
  }
}
