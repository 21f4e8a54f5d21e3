/**
 * How long to wait before trying again: `firstMs`, then twice as long each time, at most `longestMs`.
 *
 * @param times how many tries have failed before this one
 */
export function backoffMs(firstMs: number, longestMs: number, times: number): number {
  return Math.min(longestMs, firstMs * 2 ** times);
}
