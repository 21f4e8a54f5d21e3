/** Runs the real command in a process of its own. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';

export const bin = fileURLToPath(new URL('../src/bin.ts', import.meta.url));
export const nodeArgs = ['--conditions=hotlane-source', bin];
export const fixture = (name: string) => fileURLToPath(new URL(`./fixtures/${name}`, import.meta.url));
export const tasks = (exportName: string) => `${fixture('tasks.js')}#${exportName}`;

export interface Options {
  readonly cwd?: string;
  readonly env?: Record<string, string>;
  /** All of stdin; without it stdin is left open. */
  readonly stdin?: string | Uint8Array;
  readonly uid?: number;
}

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** The lines of stdout, parsed. */
  readonly results: any[];
}

/** What a test that failed did not wait for must not outlive it. */
const alive = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of alive) child.kill('SIGKILL');
});
// So ends a file whose time is up: without this there would be no 'exit'.
process.once('SIGTERM', () => process.exit(143));

export class Cli {
  readonly child: ChildProcess;
  stdout = '';
  stderr = '';
  readonly ended: Promise<Ended>;
  #changed: (() => void)[] = [];

  /** @param readStdout false leaves stdout to the test */
  constructor(args: readonly string[], { cwd, env, stdin, uid }: Options = {}, readStdout = true) {
    this.child = spawn(process.execPath, [...nodeArgs, ...args], {
      cwd,
      env: { ...process.env, ...env },
      uid,
      detached: true, // a process group of its own, so that a test can see whether anything is left of it
    });
    const { child } = this;
    alive.add(child);
    child.on('close', () => alive.delete(child));
    child.stderr!.setEncoding('utf8').on('data', text => {
      this.stderr += text;
      for (const look of this.#changed) look();
    });
    if (readStdout) {
      child.stdout!.setEncoding('utf8').on('data', text => {
        this.stdout += text;
        for (const look of this.#changed) look();
      });
    }
    child.stdin!.on('error', () => {}); // it need not read all of it
    if (stdin !== undefined) child.stdin!.end(stdin);
    this.ended = new Promise((resolve, reject) => {
      child.on('error', reject);
      child.on('close', code =>
        resolve({ code, stdout: this.stdout, stderr: this.stderr, results: parse(this.stdout) }),
      );
    });
  }

  /** Resolves when the test is true of what was printed so far. */
  async until(test: (cli: Cli) => boolean): Promise<void> {
    if (test(this)) return;
    await Promise.race([
      new Promise<void>(resolve => this.#changed.push(() => test(this) && resolve())),
      this.ended.then(ended => {
        if (!test(this)) throw new Error(`it ended instead, with ${ended.code}: ${ended.stderr}`);
      }),
    ]);
  }

  /** Whether any process of its group is alive. */
  leftBehind(): boolean {
    try {
      process.kill(-this.child.pid!, 0);
      return true;
    } catch {
      return false;
    }
  }
}

export function runCli(args: readonly string[], options: Options = {}): Promise<Ended> {
  return new Cli(args, { stdin: '', ...options }).ended;
}

function parse(stdout: string): any[] {
  return stdout
    .split('\n')
    .filter(line => line.startsWith('{') && line.endsWith('}'))
    .map(line => JSON.parse(line));
}

/** A folder for one test, removed after it. */
export function makeFolder(t: TestContext, files: Record<string, string> = {}): string {
  const folder = mkdtempSync(join(tmpdir(), 'hotlane-cli-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
}

/** Environment for the fixtures that write down what they are called with, and wait. */
export function makeGate(t: TestContext) {
  const folder = makeFolder(t, { log: '' });
  const log = join(folder, 'log');
  const gate = join(folder, 'gate');
  const started = () => readFileSync(log, 'utf8').split('\n').slice(0, -1);
  return {
    env: { HOTLANE_TEST_LOG: log, HOTLANE_TEST_GATE: gate },
    open: () => writeFileSync(gate, ''),
    close: () => rmSync(gate),
    started,
    /** Resolves when so many calls have started. */
    async untilStarted(count: number): Promise<void> {
      while (started().length < count) await new Promise(resolve => setTimeout(resolve, 10));
    },
    /** Resolves when no more calls have started for a while. */
    async untilQuiet(): Promise<string[]> {
      for (let last = -1, same = 0; same < 5; ) {
        await new Promise(resolve => setTimeout(resolve, 100));
        const now = started().length;
        same = now === last && now > 0 ? same + 1 : 0;
        last = now;
      }
      return started();
    },
  };
}
