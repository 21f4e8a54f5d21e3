import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

const MOST_STDERR = 4_000;
/** How long a process may take to end by itself once its stdin is closed. */
const EXIT_GRACE_MS = 5_000;

/**
 * A process that takes commands as lines of JSON and answers each with one, in any language. It ends when its stdin is closed, so
 * it does not outlive this process.
 */
export class JsonProcess {
  readonly #child: ChildProcess;
  readonly #waiting: { resolve(answer: any): void; reject(error: Error): void }[] = [];
  readonly #ended: Promise<void>;
  #failure: Error | null = null;
  #stderr = '';

  constructor(command: string, args: readonly string[]) {
    this.#child = spawn(command, args, { stdio: ['pipe', 'pipe', 'pipe'] });
    createInterface({ input: this.#child.stdout! }).on('line', line => this.#take(line));
    this.#child.stderr!.setEncoding('utf8').on('data', text => {
      this.#stderr = (this.#stderr + text).slice(-MOST_STDERR);
    });
    this.#child.stdin!.on('error', () => {}); // that it is gone is told below
    this.#ended = new Promise(resolve => {
      this.#child.on('error', error => {
        this.#fail(error);
        resolve();
      });
      this.#child.on('close', (code, signal) => {
        this.#fail(
          new Error(`A process ended (${signal ?? `exit code ${code}`}). ${this.#stderr}`.trimEnd()),
        );
        resolve();
      });
    });
  }

  /** The next line that it writes, which nothing was asked for. @throws Error when it ends */
  hear<A>(): Promise<A> {
    return new Promise((resolve, reject) => {
      if (this.#failure !== null) reject(this.#failure);
      else this.#waiting.push({ resolve, reject });
    });
  }

  /** @throws Error when it answers with an `error`, or ends */
  ask<A>(command: object): Promise<A> {
    const answer = this.hear<A>();
    this.#child.stdin!.write(`${JSON.stringify(command)}\n`);
    return answer;
  }

  async close(): Promise<void> {
    this.#child.stdin!.end();
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), EXIT_GRACE_MS);
    await this.#ended;
    clearTimeout(timer);
  }

  #take(line: string): void {
    const waiting = this.#waiting.shift();
    if (waiting === undefined) return;
    try {
      const answer = JSON.parse(line);
      if (typeof answer.error === 'string') waiting.reject(new Error(answer.error));
      else waiting.resolve(answer);
    } catch {
      waiting.reject(new Error(`Expected a line of JSON, got: ${line}`));
    }
  }

  #fail(error: Error): void {
    this.#failure ??= error;
    for (const { reject } of this.#waiting.splice(0)) reject(this.#failure);
  }
}

/** The other side of it, in Node: answers each line, one after the other, and returns when there are no more. */
export async function answerLines<C>(answer: (command: C) => Promise<object> | object): Promise<void> {
  for await (const line of createInterface({ input: process.stdin })) {
    let came: object;
    try {
      came = await answer(JSON.parse(line) as C);
    } catch (error) {
      came = { error: error instanceof Error ? (error.stack ?? error.message) : String(error) };
    }
    process.stdout.write(`${JSON.stringify(came)}\n`);
  }
}
