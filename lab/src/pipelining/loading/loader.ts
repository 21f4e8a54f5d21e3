import type { ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Network } from '../network/network.ts';
import { end } from '../server/start-server.ts';
import type { Answer, Loaded, LoadTask, Rated, RateTask, Task } from './messages.ts';

/** The process at the client's end of a network. */
export class Loader implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #answers: AsyncIterator<string>;

  private constructor(child: ChildProcess) {
    this.#child = child;
    this.#answers = createInterface({ input: child.stdout! })[Symbol.asyncIterator]();
    // What is written to a process that has ended shows as the missing answer.
    child.stdin!.on('error', () => {});
  }

  /** @param manifest a file with the pages */
  static start(network: Network, manifest: string): Loader {
    const entry = fileURLToPath(new URL('./load-entry.ts', import.meta.url));
    const child = network.spawnClient(process.execPath, [...process.execArgv, entry, manifest], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    return new Loader(child);
  }

  /** @throws Error when the page does not load */
  load(task: Omit<LoadTask, 'do'>): Promise<Loaded> {
    return this.#ask<Loaded>({ do: 'load', ...task });
  }

  rate(task: Omit<RateTask, 'do'>): Promise<Rated> {
    return this.#ask<Rated>({ do: 'rate', ...task });
  }

  async #ask<T>(task: Task): Promise<T> {
    this.#child.stdin!.write(`${JSON.stringify(task)}\n`);
    const { value, done } = await this.#answers.next();
    if (done === true) throw new Error('The loader ended without an answer.');
    const answer = JSON.parse(value) as Answer;
    if (!answer.ok) throw new Error(answer.why);
    return answer.result as T;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.stdin!.end();
    await end(this.#child);
  }
}
