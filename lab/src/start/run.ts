export type Way = 'hotlane' | 'piscina' | 'one thread';

/** To the child: all the inputs of a job, and how to run them. */
export interface RunSpec {
  readonly fn: 'compress' | 'suggest';
  readonly way: Way;
  readonly inputs: readonly string[];
  readonly threads: number;
  /** Piscina's concurrentTasksPerWorker. */
  readonly tasksPerThread: number;
  readonly inFlight: number;
  /** One thread takes only each so-manieth input; every way makes a checksum of the results of those. */
  readonly sampleEvery: number;
  /** One thread stops after so long: to find out how much work there is. */
  readonly limitMs: number;
}

export interface RunResult {
  readonly calls: number;
  readonly ms: number;
  /** SHA-256 over the results of all calls, in the order of inputs. */
  readonly checksum: string;
  /** The same over the results of the sample. */
  readonly sampleChecksum: string;
  /** How long the single calls took, in microseconds; on one thread only. */
  readonly callUs: {
    readonly mean: number;
    readonly p10: number;
    readonly p50: number;
    readonly p90: number;
  } | null;
  /** CPU time of all threads of the process, in milliseconds. */
  readonly cpuMs: number;
  /** Cores that other processes kept busy meanwhile. */
  readonly othersCores: number;
}
