import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';

/** Processes that belong to a network, and are gone when it is. */
export class Children {
  readonly #running = new Map<ChildProcess, Promise<void>>();

  spawn(command: string, args: readonly string[], options: SpawnOptions = {}): ChildProcess {
    const child = spawn(command, args, options);
    const ended = Promise.withResolvers<void>();
    // One that could not be started has no id, and never exits.
    if (child.pid !== undefined) this.#running.set(child, ended.promise);
    child.once('exit', () => {
      this.#running.delete(child);
      ended.resolve();
    });
    return child;
  }

  /** Kills those that still run, and resolves when they have ended. */
  async end(): Promise<void> {
    const running = [...this.#running];
    for (const [child] of running) child.kill('SIGKILL');
    await Promise.all(running.map(([, ended]) => ended));
  }
}
