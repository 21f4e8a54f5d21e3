/** Runs an example as its users do: in a process of its own, on a free port. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, type TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { PoolStats } from 'hotlane';

type Example = 'fastify' | 'hono';

/** The same tests for each of the examples, which promise the same; both at once, since most of it is waiting. */
export function describeExamples(what: string, tests: (example: Example) => void): void {
  describe(`an example ${what}`, { concurrency: true }, () => {
    for (const example of ['fastify', 'hono'] as const) {
      describe(example, { concurrency: 1 }, () => tests(example));
    }
  });
}

const faults = new URL('./fixtures/faults.mjs', import.meta.url).href;

export class ExampleServer {
  readonly url: string;
  readonly #child: ChildProcess;
  readonly #output: string[];
  readonly exited: Promise<number | string | null>;

  private constructor(
    url: string,
    child: ChildProcess,
    output: string[],
    exited: Promise<number | string | null>,
  ) {
    this.url = url;
    this.#child = child;
    this.#output = output;
    this.exited = exited;
  }

  /** Resolves when it listens. Whoever starts it must end it. */
  static async start(example: Example, env: Record<string, string> = {}): Promise<ExampleServer> {
    const program = fileURLToPath(new URL(`../${example}/server.ts`, import.meta.url));
    const child = spawn(process.execPath, ['--conditions=hotlane-source', `--import=${faults}`, program], {
      env: { ...process.env, PORT: '0', LANES: '2', MAX_QUEUE: '8', DEADLINE_MS: '60000', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true, // a process group of its own, so that a test can see whether anything is left of it
    });
    const output: string[] = [];
    for (const stream of [child.stdout!, child.stderr!])
      stream.setEncoding('utf8').on('data', text => output.push(text));
    const exited = new Promise<number | string | null>((resolve, reject) => {
      child.on('error', reject).on('close', (code, signal) => resolve(code ?? signal));
    });
    for (;;) {
      const url = /listening on (http:\S+)\n/.exec(output.join(''))?.[1];
      if (url !== undefined) return new ExampleServer(url, child, output, exited);
      const ended = await Promise.race([exited, pause(5, undefined)]);
      if (ended !== undefined) throw new Error(`it ended instead, with ${ended}: ${output.join('')}`);
    }
  }

  /** Ends it by force, if it has not ended by itself. */
  async end(): Promise<void> {
    this.kill('SIGKILL');
    await this.exited;
  }

  get output(): string {
    return this.#output.join('');
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Whether any process of its group is alive. */
  leftBehind(): boolean {
    try {
      process.kill(-this.#child.pid!, 0);
      return true;
    } catch {
      return false;
    }
  }

  async stats(): Promise<PoolStats> {
    return (await fetch(`${this.url}/stats`)).json() as Promise<PoolStats>;
  }

  /** Resolves when the pool's figures are such. */
  async until(such: (stats: PoolStats) => boolean): Promise<PoolStats> {
    for (;;) {
      const stats = await this.stats();
      if (such(stats)) return stats;
      await pause(5);
    }
  }

  hash(password: unknown): Promise<Response> {
    return fetch(`${this.url}/hash`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ password }),
    });
  }
}

/** What holds lanes until the test lets them go: `password` blocks the lane that hashes it. */
export function makeGate(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'hotlane-examples-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const gate = join(folder, 'gate');
  return { password: `gate:${gate}`, open: () => writeFileSync(gate, '') };
}
