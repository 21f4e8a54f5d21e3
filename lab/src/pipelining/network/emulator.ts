import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { access, mkdir, readdir, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const source = fileURLToPath(new URL('./emulator/', import.meta.url));
const cache = fileURLToPath(new URL('../../../out/network/', import.meta.url));

/** As `main.go` takes it. */
export interface EmulatorConfig {
  readonly down: Shape;
  readonly up: Shape;
  readonly loss: Loss;
  readonly initcwnd: number;
  readonly congestion: string;
}

export interface Shape {
  readonly kbit: number;
  readonly delayMs: number;
  readonly queueBytes: number;
}

export interface Loss {
  readonly percent: number;
  readonly seed: number;
}

/** What the emulator says first: the network is there. */
export interface Hello {
  readonly serverHost: string;
  /** Paths of the namespaces of the two ends. */
  readonly client: string;
  readonly server: string;
  readonly congestion: string;
}

export type EmulatorRequest =
  | { readonly do: 'start'; readonly pcap: string }
  | { readonly do: 'stop' }
  | { readonly do: 'loss'; readonly loss: Loss };

let built: Promise<string> | undefined;

/** Builds the emulator unless this very source was built before. @returns its path */
export function buildEmulator(): Promise<string> {
  built ??= build();
  return built;
}

async function build(): Promise<string> {
  const hash = createHash('sha256').update(process.arch);
  for (const file of (await readdir(source)).sort()) {
    hash.update(`\n${file}\n`).update(await readFile(join(source, file)));
  }
  const binary = join(cache, `emulator-${hash.digest('hex').slice(0, 16)}`);
  if (await isThere(binary, constants.X_OK)) return binary;
  await mkdir(cache, { recursive: true });
  // Two processes may be at it at the same time: each whole binary takes the place of the one before.
  const mine = `${binary}.${process.pid}`;
  const env = { ...process.env, CGO_ENABLED: '0', GOTOOLCHAIN: 'local', GOWORK: 'off', GOFLAGS: '' };
  await run('go', ['build', '-trimpath', '-o', mine, '.'], { cwd: source, env });
  await rename(mine, binary);
  return binary;
}

/** @returns null when networks can be emulated here, else a sentence that says what is missing */
export async function whyNoEmulator(): Promise<string | null> {
  if (process.platform !== 'linux') return 'Packets can be emulated on Linux only.';
  if (process.getuid?.() !== 0)
    return 'Emulating packets takes root, for network namespaces and TUN devices.';
  if (!(await isThere('/dev/net/tun', constants.R_OK | constants.W_OK)))
    return 'Emulating packets takes /dev/net/tun, which is not there.';
  if (!(await isRunnable('ip', ['-Version'])))
    return 'Emulating packets takes the command `ip` (package iproute2), which is not there.';
  let binary: string;
  try {
    binary = await buildEmulator();
  } catch (error) {
    const { code, stderr } = error as { code?: unknown; stderr?: string };
    if (code === 'ENOENT')
      return 'Emulating packets takes Go, to build the emulator; the command `go` is not there.';
    return `The network emulator could not be built: ${stderr?.trim() || error}.`;
  }
  // Root may still not be allowed to, as in many containers.
  try {
    const shape = { kbit: 1_000, delayMs: 1, queueBytes: 10_000 };
    const loss = { percent: 0, seed: 0 };
    const emulator = await Emulator.start(binary, {
      down: shape,
      up: shape,
      loss,
      initcwnd: 0,
      congestion: '',
    });
    await emulator.close();
    return null;
  } catch (error) {
    return (error as Error).message;
  }
}

/** The process that holds a network. It ends, and the network with it, when its stdin is closed, as it is when we end. */
export class Emulator {
  readonly binary: string;
  #hello: Hello | null = null;
  readonly #child: ChildProcess;
  readonly #exit: Promise<void>;
  #failure: Error | null = null;
  /** Who waits for an answer, in the order of what was asked. */
  readonly #waiting: PromiseWithResolvers<unknown>[] = [];
  #stdout: string[] = [];
  #stderr = '';

  /** @throws Error when there can be no network */
  static async start(binary: string, config: EmulatorConfig): Promise<Emulator> {
    const emulator = new Emulator(binary, config);
    emulator.#hello = (await emulator.#answer()) as Hello;
    return emulator;
  }

  private constructor(binary: string, config: EmulatorConfig) {
    this.binary = binary;
    this.#child = spawn(binary, [JSON.stringify(config)], { stdio: 'pipe' });
    this.#child.stdout!.setEncoding('utf8').on('data', (text: string) => this.#take(text));
    this.#child.stderr!.setEncoding('utf8').on('data', (text: string) => {
      this.#stderr = (this.#stderr + text).slice(-2_000);
    });
    // Who asks one that is gone hears of it by its exit.
    this.#child.stdin!.on('error', () => {});
    this.#exit = new Promise(resolve => {
      const fail = (why: string) => {
        this.#failure ??= new Error(`The network emulator ended: ${this.#stderr.trim() || why}.`);
        for (const { reject } of this.#waiting.splice(0)) reject(this.#failure);
        resolve();
      };
      this.#child.on('error', error => fail(error.message));
      this.#child.on('close', (code, signal) => fail(signal ?? `exit code ${code}`));
    });
  }

  get hello(): Hello {
    return this.#hello!;
  }

  /** Resolves, and never rejects, when it has ended. */
  get ended(): Promise<void> {
    return this.#exit;
  }

  /** @throws Error with what the emulator says, or that it has ended */
  async ask<Answer>(request: EmulatorRequest): Promise<Answer> {
    if (this.#failure !== null) throw this.#failure;
    this.#child.stdin!.write(`${JSON.stringify(request)}\n`);
    const answer = (await this.#answer()) as { error?: string };
    if (answer.error !== undefined) throw new Error(`The network emulator: ${answer.error}.`);
    return answer as Answer;
  }

  /** Ends it, and all processes at the ends of its network. */
  async close(): Promise<void> {
    this.#child.stdin!.end();
    await this.#exit;
  }

  #answer(): Promise<unknown> {
    const waits = Promise.withResolvers<unknown>();
    if (this.#failure === null) this.#waiting.push(waits);
    else waits.reject(this.#failure);
    return waits.promise;
  }

  #take(text: string): void {
    // A line can be megabytes long: its parts are joined once.
    let from = 0;
    for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', from)) {
      this.#stdout.push(text.slice(from, end));
      this.#waiting.shift()?.resolve(JSON.parse(this.#stdout.join('')));
      this.#stdout = [];
      from = end + 1;
    }
    this.#stdout.push(text.slice(from));
  }
}

async function isThere(path: string, mode: number): Promise<boolean> {
  return access(path, mode).then(
    () => true,
    () => false,
  );
}

async function isRunnable(command: string, args: readonly string[]): Promise<boolean> {
  return run(command, args).then(
    () => true,
    () => false,
  );
}
