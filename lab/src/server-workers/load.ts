/** What load generators are asked, and what they answer: the one in Go (`go/load.go`), and the one in Node. */
export interface LoadCommand {
  readonly address: string;
  readonly connections: number;
  /** Of all connections together. */
  readonly inFlight: number;
  readonly warmUpMs: number;
  readonly ms: number;
  /** Each way. */
  readonly bytes: number;
  /** Of CPU, which the handler is to take. */
  readonly workUs: number;
  /** Calls are made at this rate, whatever becomes of them; 0: as soon as one has ended the next is made. */
  readonly perSecond: number;
  /** Which call of each ten is slow, one digit for each ten, over and over; empty: none. Only with `perSecond`. */
  readonly slowPlaces: string;
  readonly slowUs: number;
}

/** What any load generator tells. */
export interface Driven {
  readonly calls: number;
  /** With those of the warm-up. */
  readonly allCalls: number;
  readonly perSecond: number;
  readonly p50Us: number;
  readonly p90Us: number;
  readonly p99Us: number;
  /** CPU time of the client, for all calls. */
  readonly cpuUs: number;
}

/** Slow calls are not counted in it. */
export interface LoadAnswer extends Driven {
  readonly meanUs: number;
  /** Calls that ended in each 100 ms. */
  readonly perWindow: readonly number[];
}
