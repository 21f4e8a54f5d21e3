/** Repeats of one figure, summed up. */
export interface Summary {
  readonly median: number;
  readonly min: number;
  readonly max: number;
  /** In the order in which they were measured. */
  readonly values: readonly number[];
}

/**
 * The value below which a share of the values lies, interpolated between neighbours.
 *
 * @param ascending sorted values, at least one
 * @param share from 0 to 1
 */
export function quantile(ascending: ArrayLike<number>, share: number): number {
  if (ascending.length === 0) return Number.NaN;
  const position = (ascending.length - 1) * share;
  const below = Math.floor(position);
  const above = Math.min(below + 1, ascending.length - 1);
  return ascending[below]! + (ascending[above]! - ascending[below]!) * (position - below);
}

export function summarise(values: readonly number[]): Summary {
  const ascending = [...values].sort((a, b) => a - b);
  return {
    median: quantile(ascending, 0.5),
    min: ascending[0] ?? Number.NaN,
    max: ascending[ascending.length - 1] ?? Number.NaN,
    values,
  };
}

export function median(values: readonly number[]): number {
  return summarise(values).median;
}

export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** How far apart the repeats are: (max − min) / median. */
export function relativeSpread(summary: Summary): number {
  return (summary.max - summary.min) / summary.median;
}
