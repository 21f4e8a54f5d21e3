import type { Group } from './cells.ts';
import type { Site } from './site.ts';

export interface StrandOptions {
  readonly groups: readonly Group[];
  /** How many networks are in use at once. */
  readonly networks: number;
  readonly open: (profile: string) => Promise<Site>;
  readonly run: (site: Site, group: Group) => Promise<void>;
}

/**
 * Works groups off on several networks at once. A network is kept for the next group of its kind; when there is none
 * it is replaced. Whatever happens, none is left open.
 */
export async function runStrands({ groups, networks, open, run }: StrandOptions): Promise<void> {
  const waiting = [...groups];
  let failed = false;
  const strand = async () => {
    let site: Site | null = null;
    let profile = '';
    try {
      while (waiting.length > 0 && !failed) {
        const same = waiting.findIndex(group => group.setting.profile === profile);
        const [group] = waiting.splice(Math.max(same, 0), 1);
        if (group!.setting.profile !== profile) {
          await site?.[Symbol.asyncDispose]();
          site = null;
          profile = group!.setting.profile;
          site = await open(profile);
        }
        await run(site!, group!);
      }
    } catch (error) {
      failed = true;
      throw error;
    } finally {
      await site?.[Symbol.asyncDispose]();
    }
  };
  const strands = Array.from({ length: Math.min(networks, groups.length) }, strand);
  // All are over before anything is thrown, so that each has cleaned up.
  const ends = await Promise.allSettled(strands);
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
}
