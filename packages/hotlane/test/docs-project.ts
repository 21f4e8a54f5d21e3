import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { matches, type Program } from './docs-snippets.ts';

const root = join(import.meta.dirname, '../../..');
const TSC = join(root, 'node_modules/typescript/bin/tsc');

/** What is checked of users' code: as strict as can be, for Node alone. */
const TSCONFIG = {
  compilerOptions: {
    target: 'es2023',
    lib: ['es2024', 'esnext.disposable'],
    module: 'nodenext',
    moduleDetection: 'force',
    types: ['node'],
    strict: true,
    verbatimModuleSyntax: true,
    erasableSyntaxOnly: true,
    allowImportingTsExtensions: true,
    allowJs: true,
    checkJs: true,
    customConditions: ['hotlane-source'],
    skipLibCheck: true,
    noEmit: true,
  },
};

/** A folder outside of the repository in which programs of the pages find its packages. */
export class SnippetProject {
  readonly #root = realpathSync(mkdtempSync(join(tmpdir(), 'hotlane-docs-')));
  /** All programs load the same library from source: compiled once, it halves what a program takes. */
  readonly #cache = join(this.#root, 'cache');
  readonly #folders = new Map<Program, string>();

  constructor(programs: readonly Program[]) {
    symlinkSync(join(root, 'node_modules'), join(this.#root, 'node_modules'), 'junction');
    this.#write('package.json', JSON.stringify({ type: 'module' }));
    this.#write('tsconfig.json', JSON.stringify(TSCONFIG));
    for (const program of programs) {
      const folder = program.at.replace(/[^\w]+/g, '-');
      this.#folders.set(program, folder);
      for (const [name, { text }] of program.files) this.#write(`${folder}/${name}`, text);
    }
  }

  /** What the compiler has to say about all of it, each with its page and line. */
  async compile(): Promise<string[]> {
    const { stdout, stderr } = await run(
      [TSC, '-p', this.#root, '--pretty', 'false'],
      this.#root,
      this.#cache,
    );
    const messages = `${stdout}${stderr}`.split('\n').filter(line => line !== '');
    // Plain JavaScript says nothing of its parameters' types.
    return messages
      .filter(line => !/\.m?js\(\d+,\d+\): error TS7\d\d\d:/.test(line))
      .map(line => this.#onPages(line));
  }

  /** Runs a program. @returns what is wrong with it; null when nothing is */
  async run(program: Program): Promise<string | null> {
    const folder = join(this.#root, this.#folders.get(program)!);
    const { stdout, stderr, failure } = await run(
      ['--conditions=hotlane-source', program.main],
      folder,
      this.#cache,
    );
    if (failure !== null || stderr !== '')
      return this.#onPages(`${failure ?? 'It warns:'}\n${stdout}${stderr}`);
    if (matches(stdout, program.prints)) return null;
    return `It prints\n${stdout}\nand the page says\n${program.prints}`;
  }

  remove(): void {
    rmSync(this.#root, { recursive: true, force: true });
  }

  /** Puts pages and their lines for the files that were written. */
  #onPages(text: string): string {
    for (const [{ at, files }, folder] of this.#folders) {
      if (!text.includes(folder)) continue;
      const page = at.replace(/:\d+$/, '');
      for (const [name, { lines }] of files) {
        const path = `(?:file://)?(?:${this.#root}/)?${folder}/${name.replaceAll('.', '\\.')}`;
        text = text.replace(
          new RegExp(`${path}(?:\\((\\d+),\\d+\\)|:(\\d+)(?::\\d+)?)?`, 'g'),
          (_, a, b) => `${page}:${lines[Number(a ?? b ?? 1) - 1] ?? '?'} (${name})`,
        );
      }
    }
    return text;
  }

  #write(name: string, text: string): void {
    const path = join(this.#root, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }
}

interface Run {
  readonly stdout: string;
  readonly stderr: string;
  readonly failure: string | null;
}

function run(args: readonly string[], cwd: string, cache: string): Promise<Run> {
  // A program that uses `node:test` is a run of its own, not a part of this one.
  const { NODE_TEST_CONTEXT, NODE_OPTIONS, ...rest } = process.env;
  const env = { ...rest, NODE_COMPILE_CACHE: cache };
  const options = { cwd, env, timeout: 120_000, killSignal: 'SIGKILL' } as const;
  return new Promise(resolve => {
    execFile(process.execPath, args, options, (error, stdout, stderr) => {
      const failure = error && (error.killed ? 'It does not end.' : `It ended with ${error.code}.`);
      resolve({ stdout, stderr, failure });
    });
  });
}
