/**
 * The code on the pages, taken out of them as programs that can be compiled and run.
 *
 * A fence of TypeScript or JavaScript is one of these:
 *
 * - A file: its first line is a comment with a name, `// tasks.ts`. `main.…` is a program, also in a folder
 *   (`after/main.ts`); it runs with the files above it that it and they name.
 * - A fragment: in front of it stands a comment `<!-- around …code… -->`, which the reader does not see. The line
 *   `// fence` in it stands for the fence; the whole is a program.
 * - Neither: in front of it stands `<!-- not run: why -->`.
 *
 * `<!-- file tasks.ts …code… -->` is a file that the reader does not see. What a program prints stands in the ```text
 * fence after it, or in a comment `<!-- prints … -->`; `…` there stands for anything in a line, and alone in a line
 * for any lines. What `before/main.ts` prints is what `after/main.ts` prints.
 */
import { posix } from 'node:path';

/** A file to write: each line of it stands somewhere on the page. */
export interface File {
  readonly text: string;
  /** For each line of the text, its line on the page, counted from 1. */
  readonly lines: readonly number[];
}

export interface Program {
  /** Page and line, for messages: `docs/guide/README.md:12`. */
  readonly at: string;
  /** What to run; one of `files`. */
  readonly main: string;
  readonly files: ReadonlyMap<string, File>;
  prints: string;
}

export interface Snippets {
  readonly programs: readonly Program[];
  /** Fences that say that they are not run: where and why. */
  readonly notRun: readonly string[];
  /** What is wrong on the page itself. */
  readonly mistakes: readonly string[];
}

interface Block {
  readonly kind: 'fence' | 'comment';
  /** A fence's language; a comment's first line. */
  readonly head: string;
  readonly lines: readonly string[];
  /** The page's line of `lines[0]`, counted from 1. */
  readonly first: number;
}

const CODE = /^(ts|mts|cts|js|mjs|cjs|tsx|jsx|typescript|javascript|jsonc)$/;
const NAME = /^\/\/ ((?:[\w-]+\/)*[\w.-]+\.(?:[mc]?[jt]s|json))\b/;

export function readSnippets(page: string, markdown: string): Snippets {
  const reader = new Reader(page);
  for (const block of blocks(markdown)) reader.read(block);
  reader.end();
  return reader;
}

class Reader implements Snippets {
  readonly programs: Program[] = [];
  readonly notRun: string[] = [];
  readonly mistakes: string[] = [];
  readonly #page: string;
  readonly #files = new Map<string, File>();
  readonly #used = new Set<File>();
  /** The comment that belongs to the next fence. */
  #before: Block | null = null;
  /** The program whose output may come next. */
  #last: Program | null = null;

  constructor(page: string) {
    this.#page = page;
  }

  read(block: Block): void {
    if (block.kind === 'comment') {
      this.#readComment(block);
      return;
    }
    const comment = this.#before;
    this.#before = null;
    const isCode = CODE.test(block.head);
    if (isCode) this.#readCode(block, comment);
    else if (block.head === 'text' && this.#last !== null) this.#last.prints = block.lines.join('\n');
    if (!isCode) this.#last = null;
    if (!isCode && comment !== null)
      this.#mistake(block.first, `the comment "${comment.head}" stands before no code`);
  }

  /** What shows only when the whole page was read. */
  end(): void {
    for (const name of this.#files.keys()) this.#checkUse(name);
    const after = this.programs.find(({ main }) => posix.dirname(main) === 'after');
    for (const program of this.programs) {
      if (posix.dirname(program.main) !== 'before') continue;
      if (after === undefined) this.mistakes.push(`${program.at}: a program before, and none after`);
      else program.prints = after.prints;
    }
  }

  #readComment(block: Block): void {
    const { head, lines, first } = block;
    const [, word, rest] = /^(around|file|prints|not run:)\s*(.*)$/.exec(head) ?? [];
    if (word === 'file') this.#addFile(rest, numbered(lines, first));
    else if (word === 'prints') {
      if (this.#last === null) this.#mistake(first, 'there is no program before this output');
      else this.#last.prints = lines.join('\n');
    } else if (word !== undefined) {
      if (word === 'not run:' && rest.length < 10) this.#mistake(first, 'it does not say why');
      this.#before = block;
    }
  }

  #readCode(block: Block, comment: Block | null): void {
    const { head, lines, first } = block;
    this.#last = null;
    if (comment?.head.startsWith('not run')) {
      this.notRun.push(`${this.#page}:${first}: ${comment.head}`);
      return;
    }
    const name = NAME.exec(lines[0] ?? '')?.[1];
    if (comment === null) {
      if (name !== undefined) this.#addFile(name, numbered(lines, first));
      else
        this.#mistake(first, 'no name in the first line of this fence and no comment "around" or "not run"');
      return;
    }
    const file = wrapped(comment, block);
    if (file === null) this.#mistake(first, 'the comment before it has no line "// fence"');
    else this.#addFile(name ?? (/^m?js/.test(head) ? 'main.mjs' : 'main.ts'), file, first);
  }

  #addFile(name: string, file: File, line = file.lines[0]): void {
    this.#checkUse(name);
    this.#files.set(name, file);
    this.#last = null;
    if (!/(^|\/)main\.\w+$/.test(name)) return;
    const files = reach(name, this.#files);
    for (const each of files.values()) this.#used.add(each);
    this.#last = { at: `${this.#page}:${line}`, main: name, files, prints: '' };
    this.programs.push(this.#last);
  }

  #checkUse(name: string): void {
    const file = this.#files.get(name);
    if (file !== undefined && !this.#used.has(file)) this.#mistake(file.lines[0], `no program uses ${name}`);
  }

  #mistake(line: number, what: string): void {
    this.mistakes.push(`${this.#page}:${line}: ${what}`);
  }
}

/** The fences and the comments of a page, in their order. */
function* blocks(markdown: string): Generator<Block> {
  const lines = markdown.split('\n');
  for (let i = 0; i < lines.length; i++) {
    const fence = /^\s*(`{3,})(\w*)/.exec(lines[i]);
    const isComment = lines[i].startsWith('<!--');
    if (fence === null && !isComment) continue;
    const start = i;
    if (fence !== null) {
      do i++;
      while (i < lines.length && !lines[i].trimStart().startsWith(fence[1]));
      yield { kind: 'fence', head: fence[2], lines: lines.slice(start + 1, i), first: start + 2 };
    } else {
      while (i < lines.length - 1 && !lines[i].includes('-->')) i++;
      const all = lines.slice(start, i + 1);
      all[all.length - 1] = all.at(-1)!.replace(/\s*-->.*$/, '');
      const head = all[0].replace(/^<!--\s*/, '');
      if (all.at(-1) === '') all.pop();
      yield { kind: 'comment', head, lines: all.slice(1), first: start + 2 };
    }
  }
}

function numbered(lines: readonly string[], first: number): File {
  return { text: lines.join('\n'), lines: lines.map((_, i) => first + i) };
}

/** The fence's lines in place of the line `// fence` of the comment. */
function wrapped(comment: Block, fence: Block): File | null {
  const index = comment.lines.findIndex(line => line.trim() === '// fence');
  if (index < 0) return null;
  const outer = numbered(comment.lines, comment.first).lines;
  const inner = numbered(fence.lines, fence.first).lines;
  return {
    text: [...comment.lines.slice(0, index), ...fence.lines, ...comment.lines.slice(index + 1)].join('\n'),
    lines: [...outer.slice(0, index), ...inner, ...outer.slice(index + 1)],
  };
}

/** A file, and those that it names by a relative path, and those that they name. */
function reach(main: string, files: ReadonlyMap<string, File>): Map<string, File> {
  const reached = new Map<string, File>();
  const visit = (name: string) => {
    const file = files.get(name);
    if (file === undefined || reached.has(name)) return;
    reached.set(name, file);
    for (const [, path] of file.text.matchAll(/['"](\.{1,2}\/[\w./-]+)['"#]/g)) {
      visit(posix.join(posix.dirname(name), path));
    }
  };
  visit(main);
  return reached;
}

/** Whether a program printed what the page says. */
export function matches(printed: string, expected: string): boolean {
  const pattern = expected
    .trimEnd()
    .split('\n')
    .map(line => (line.trim() === '…' ? '(?:.*\\n)*?' : `${line.split('…').map(quote).join('.*')}\\n`))
    .join('');
  return new RegExp(`^${pattern}$`).test(printed.trimEnd() === '' ? '\n' : `${printed.trimEnd()}\n`);
}

function quote(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
}
