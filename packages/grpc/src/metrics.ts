/** What a handler records of the load that its call made. A lane notes it, and the host tells it to grpc-js's own recorder. */
import type { ServerUnaryCall } from '@grpc/grpc-js';

type Recorder = Omit<
  ReturnType<ServerUnaryCall<unknown, unknown>['getMetricsRecorder']>,
  'serialize' // grpc-js's own, for when it has ended the call
>;

/** Which of the recorder's functions, and what it was given. */
export type Recorded = [fn: keyof Recorder, ...given: (string | number)[]];

/** In lanes, what `call.getMetricsRecorder()` gives. */
export class LaneRecorder implements Recorder {
  /** The last of each counts, as in grpc-js: a long stream may record often. */
  readonly #last = new Map<string, Recorded>();

  recordRequestCostMetric(name: string, value: number): void {
    this.#named('recordRequestCostMetric', name, value);
  }

  recordUtilizationMetric(name: string, value: number): void {
    this.#named('recordUtilizationMetric', name, value);
  }

  recordNamedMetric(name: string, value: number): void {
    this.#named('recordNamedMetric', name, value);
  }

  recordCPUUtilizationMetric(value: number): void {
    this.#plain('recordCPUUtilizationMetric', value);
  }

  recordMemoryUtilizationMetric(value: number): void {
    this.#plain('recordMemoryUtilizationMetric', value);
  }

  recordApplicationUtilizationMetric(value: number): void {
    this.#plain('recordApplicationUtilizationMetric', value);
  }

  recordQpsMetric(value: number): void {
    this.#plain('recordQpsMetric', value);
  }

  recordEpsMetric(value: number): void {
    this.#plain('recordEpsMetric', value);
  }

  recorded(): Recorded[] {
    return [...this.#last.values()];
  }

  #named(fn: keyof Recorder, name: string, value: number): void {
    this.#last.set(`${fn} ${name}`, [fn, name, value]);
  }

  #plain(fn: keyof Recorder, value: number): void {
    this.#last.set(fn, [fn, value]);
  }
}

interface HasRecorder {
  /** Not before grpc-js 1.13. */
  getMetricsRecorder?(): Recorder;
}

export function record(call: HasRecorder, recorded: readonly Recorded[]): void {
  const recorder = call.getMetricsRecorder?.();
  if (recorder === undefined) return;
  for (const [fn, ...given] of recorded) (recorder[fn] as (...given: unknown[]) => void)(...given);
}
