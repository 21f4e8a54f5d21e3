import type { Profile } from './network/profiles.ts';

const SEGMENT_BYTES = 1460;
/** Of IP and TCP, on each segment. */
const SEGMENT_HEADER_BYTES = 40;

/**
 * What the wire itself takes, in milliseconds: one round trip until anything comes, and then all that a page consists
 * of at the network's rate. Nothing can be faster; discovery, slow start and requests come on top.
 *
 * @param bytes bodies and heads of all responses
 */
export function floorMs({ downKbit, rttMs }: Pick<Profile, 'downKbit' | 'rttMs'>, bytes: number): number {
  const segments = Math.ceil(bytes / SEGMENT_BYTES);
  return ((bytes + segments * SEGMENT_HEADER_BYTES) * 8) / downKbit + rttMs;
}
