import { HotlaneError } from '../errors.ts';

/** Counts versions of what host and lanes say to each other, shared memory included. */
export const PROTOCOL = 1;

/** The first that a lane says. */
export interface Greeting {
  readonly protocol: number;
  /** What it can do beyond running functions; names that the host does not know are passed over. */
  readonly capabilities: readonly string[];
}

export const greeting: Greeting = { protocol: PROTOCOL, capabilities: ['shared-memory'] };

/**
 * Whether a lane may be spoken to.
 *
 * @param said what came as its greeting, whatever that is
 * @returns why not; null when all is well
 */
export function refuseGreeting(laneId: number, said: unknown): HotlaneError | null {
  const { protocol, capabilities } = (said ?? {}) as Partial<Greeting>;
  if (protocol === PROTOCOL && Array.isArray(capabilities)) return null;
  return new HotlaneError(
    'PROTOCOL',
    `Lane ${laneId} speaks version ${protocol ?? 'none'} of Hotlane's protocol, this host speaks version ${PROTOCOL}. Both sides must come from one version of the package: look for a second copy of it (npm ls hotlane), or a bundle that is older.`,
  );
}
