/** What is used of the DOM; so that neither this package nor programs for Node need its types. */

export interface WebWorker {
  postMessage(message: unknown, transfer: never): void;
  terminate(): void;
  addEventListener(type: 'message' | 'messageerror' | 'error', listener: (event: never) => void): void;
}

export interface LockManager {
  request(name: string, inside: () => unknown): Promise<unknown>;
}

/** Of a worker whose script failed; without a message where it could not be loaded. */
export interface WorkerError {
  readonly message?: string;
  readonly filename?: string;
  readonly lineno?: number;
}
