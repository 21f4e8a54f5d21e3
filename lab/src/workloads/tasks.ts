/** The functions that the bench calls. Next to nothing happens in them: what is measured is the hand-over. */

export function increment(x: number): number {
  return x + 1;
}

export function echo(value: unknown): unknown {
  return value;
}
