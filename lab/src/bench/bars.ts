/** A target for hotlane on one workload, against one contender. */
export interface Bar {
  readonly workload: string;
  readonly contender: string;
  readonly figure: 'calls/s' | 'p50';
  /** How many times better hotlane has to be; below 1 it may be worse by that much. */
  readonly times: number;
}

/** The part of the design's "Numbers to beat" that this bench measures. */
export const bars: readonly Bar[] = [
  { workload: 'noop-1', contender: 'piscina-default', figure: 'p50', times: 40 },
  { workload: 'noop-64', contender: 'piscina-tuned', figure: 'calls/s', times: 20 },
  { workload: 'noop-64', contender: 'post-message', figure: 'calls/s', times: 4 },
  { workload: 'noop-1000', contender: 'same-thread', figure: 'calls/s', times: 1 / 10 },
  { workload: 'object-64', contender: 'piscina-tuned', figure: 'calls/s', times: 8 },
  { workload: 'object-64', contender: 'post-message', figure: 'calls/s', times: 4 },
];
