/** A task module with nothing to load: for what a start costs by itself. */
export function increment(x: number): number {
  return x + 1;
}
