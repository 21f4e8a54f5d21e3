import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { SnippetProject } from './docs-project.ts';
import { readSnippets } from './docs-snippets.ts';

const root = join(import.meta.dirname, '../../..');
const names = (folder: string) => readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' });
const pages = [
  'README.md',
  ...names('docs').map(name => `docs/${name}`),
  ...readdirSync(join(root, 'packages')).map(name => `packages/${name}/README.md`),
].filter(name => name.endsWith('.md'));

/** Of all the fences on all pages; each says why. */
const MOST_NOT_RUN = 5;

const snippets = pages.map(page => readSnippets(page, readFileSync(join(root, page), 'utf8')));
const programs = snippets.flatMap(page => page.programs);

describe('the code on the pages', () => {
  let project: SnippetProject;
  before(() => {
    project = new SnippetProject(programs);
  });
  after(() => project.remove());

  it('is found: each fence is a file, or a fragment with code around it, or says why it is not run', t => {
    assert.deepEqual(
      snippets.flatMap(page => page.mistakes),
      [],
    );
    const notRun = snippets.flatMap(page => page.notRun);
    for (const each of notRun) t.diagnostic(each);
    t.diagnostic(`${programs.length} programs, ${notRun.length} fences that are not run`);
    assert.ok(notRun.length <= MOST_NOT_RUN, `${notRun.length} fences are not run`);
    assert.ok(programs.length > 10, `only ${programs.length} programs`);
  });

  it('compiles', async () => {
    const messages = await project.compile();
    assert.ok(messages.length === 0, `\n${messages.join('\n')}`);
  });

  describe('runs and prints what the page says', { concurrency: 2 }, () => {
    for (const program of programs) {
      it(`${program.at}, ${program.main}`, async () => {
        const wrong = await project.run(program);
        assert.ok(wrong === null, `${program.at}: ${wrong}`);
      });
    }
  });
});

describe('a page', () => {
  const page = (...lines: string[]) => readSnippets('page.md', lines.join('\n'));

  it('with a fence that is neither named nor explained is a mistake, with its line', () => {
    const { mistakes } = page('# Page', '', '```ts', 'await pool.call.add(1, 2);', '```');
    assert.equal(mistakes.length, 1);
    assert.match(mistakes[0], /^page\.md:4: no name in the first line of this fence/);
  });

  it('with a file that no program uses is a mistake', () => {
    const { mistakes } = page('```ts', '// tasks.ts', 'export const x = 1;', '```');
    assert.deepEqual(mistakes, ['page.md:2: no program uses tasks.ts']);
  });

  it('puts a fragment into the code around it and knows where each line stands', () => {
    const { programs, mistakes } = page(
      '<!-- around',
      "import { x } from './tasks.ts';",
      '// fence',
      'console.log(y);',
      '-->',
      '```ts',
      'const y = x;',
      '```',
    );
    assert.deepEqual(mistakes, []);
    assert.deepEqual(programs[0].files.get('main.ts'), {
      text: "import { x } from './tasks.ts';\nconst y = x;\nconsole.log(y);",
      lines: [2, 7, 4],
    });
  });
});

describe('wrong code on a page', () => {
  const lines = [
    '```ts',
    '// tasks.ts',
    'export const one = (n: number) => n;',
    '```',
    '',
    '```ts',
    '// main.ts',
    "import { one } from './tasks.ts';",
    "console.log(one('1'));",
    '',
    "throw new Error('struck');",
    '```',
  ];
  const { programs } = readSnippets('page.md', lines.join('\n'));
  let project: SnippetProject;
  before(() => {
    project = new SnippetProject(programs);
  });
  after(() => project.remove());

  it('is told by the compiler with its line on the page', async () => {
    const messages = await project.compile();
    assert.equal(messages.length, 1);
    assert.match(messages[0], /^page\.md:9 \(main\.ts\): error TS2345/);
  });

  it('is told with its line on the page when it throws', async () => {
    const wrong = await project.run(programs[0]);
    assert.match(wrong!, /^It ended with 1\.\n1\npage\.md:11 \(main\.ts\)\n/);
  });

  it('is told when it prints something else', async () => {
    const { programs } = readSnippets(
      'page.md',
      "```ts\n// main.ts\nconsole.log('a');\n```\n```text\nb\n```",
    );
    const project = new SnippetProject(programs);
    const wrong = await project.run(programs[0]);
    project.remove();
    assert.equal(wrong, 'It prints\na\n\nand the page says\nb');
  });
});
