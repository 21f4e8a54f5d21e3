import * as channels from './channels.ts';
import { Link } from './link.ts';
import { Trust, type TrustRecord } from './trust.ts';

/** What is remembered of an origin while there is nothing to do for it. */
export interface Known {
  readonly link: Link;
  readonly trust: Trust;
}

/** Of more origins than this the longest unused are forgotten. */
const MOST_ORIGINS = 4_096;

/** What was learned of origins, by their names. */
export class Knowledge {
  readonly #known = new Map<string, Known>();
  readonly #deepest: number;

  /** @param deepest how many requests may be on one connection however well that goes */
  constructor(deepest: number) {
    this.#deepest = deepest;
  }

  of(origin: string): Known {
    const found = this.#known.get(origin);
    if (found !== undefined) {
      // The last of the map are those that were used last.
      this.#known.delete(origin);
      this.#known.set(origin, found);
      return found;
    }
    const trust = new Trust(this.#deepest, (state, why) => {
      if (channels.trusts.hasSubscribers) {
        channels.trusts.publish({ origin, state, why } satisfies channels.TrustMessage);
      }
    });
    const known = { link: new Link(), trust };
    this.#known.set(origin, known);
    if (this.#known.size > MOST_ORIGINS) this.#known.delete(this.#known.keys().next().value!);
    return known;
  }

  export(): Record<string, TrustRecord> {
    const now = Date.now();
    return Object.fromEntries([...this.#known].map(([origin, { trust }]) => [origin, trust.export(now)]));
  }

  import(records: Readonly<Record<string, TrustRecord>>): void {
    for (const [origin, record] of Object.entries(records)) this.of(origin).trust.import(record);
  }
}
