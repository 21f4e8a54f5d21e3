import { EXIT_SIGINT, EXIT_SIGTERM } from './exit-codes.ts';

export interface InterruptHandlers {
  /** The first Ctrl-C: let what runs finish. */
  onDrain(): void;
  /** The second one, or SIGTERM: stop now. */
  onStop(): void;
}

/**
 * What signals ask for.
 *
 *   running ──SIGINT──▶ draining ──SIGINT──▶ stopping
 *      └──────────────SIGTERM────────────────────▲
 */
export class Interrupts {
  state: 'running' | 'draining' | 'stopping' = 'running';
  /** What to exit with because of signals; undefined when there were none. */
  exitCode: number | undefined;
  readonly #handlers: InterruptHandlers;
  readonly #onSigint = () => this.#interrupt();
  readonly #onSigterm = () => this.#stop(EXIT_SIGTERM);

  constructor(handlers: InterruptHandlers) {
    this.#handlers = handlers;
    process.on('SIGINT', this.#onSigint);
    process.on('SIGTERM', this.#onSigterm);
  }

  /** Signals do again what they do by default. */
  release(): void {
    process.off('SIGINT', this.#onSigint);
    process.off('SIGTERM', this.#onSigterm);
  }

  #interrupt(): void {
    if (this.state !== 'running') {
      this.#stop(EXIT_SIGINT);
      return;
    }
    this.state = 'draining';
    this.exitCode = EXIT_SIGINT;
    this.#handlers.onDrain();
  }

  #stop(code: number): void {
    if (this.state === 'stopping') return;
    this.state = 'stopping';
    this.exitCode = code;
    this.#handlers.onStop();
  }
}
