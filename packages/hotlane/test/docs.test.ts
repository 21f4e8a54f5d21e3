import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { describe, it } from 'node:test';

const root = join(import.meta.dirname, '../../..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');

describe('the pages', () => {
  const pages = [
    ...readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' }).map(name => `docs/${name}`),
    ...readdirSync(join(root, 'packages')).map(name => `packages/${name}/README.md`),
    ...['README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md', 'lab/README.md'],
  ].filter(name => name.endsWith('.md'));
  /** All links of a page to files: the file from the root, and the heading in it. */
  const links = (page: string) =>
    [...read(page).matchAll(/\]\(([^)#\s]*)(?:#([^)]*))?\)/g)]
      .filter(([, target]) => !/^https?:/.test(target))
      .map(([, target, heading]) => ({
        file: target === '' ? page : posix.join(posix.dirname(page), target),
        heading,
      }));

  it('have no link that leads nowhere', () => {
    for (const page of pages) {
      for (const { file, heading } of links(page)) {
        assert.ok(existsSync(join(root, file)), `${page} links to ${file}`);
        if (heading === undefined) continue;
        const headings = [...read(file).matchAll(/^#+ (.*)$/gm)].map(([, text]) =>
          text
            .toLowerCase()
            .replace(/[^\w\s-]/g, '')
            .replace(/\s/g, '-'),
        );
        assert.ok(headings.includes(heading), `${page} links to ${file}#${heading}`);
      }
    }
  });

  it('are all in the list of pages', () => {
    const listed = links('docs/README.md').map(({ file }) => file);
    for (const page of pages.filter(name => name.startsWith('docs/') && name !== 'docs/README.md')) {
      assert.ok(listed.includes(page), `docs/README.md has no link to ${page}`);
    }
    assert.ok(links('README.md').some(({ file }) => file === 'docs/README.md'));
  });

  it('on failure name for each row a test that is there', () => {
    const rows = read('docs/concepts/failure.md')
      .split('\n')
      .filter(line => line.startsWith('| ') && !/^\| (---|what happens) \|/.test(line));
    assert.ok(rows.length > 25, `${rows.length} rows`);
    for (const row of rows) {
      const [, name, file] =
        /\[([^\]]+)\]\(\.\.\/\.\.\/([^)]+)\) \|$/.exec(row) ?? assert.fail(`no test: ${row}`);
      assert.ok(read(file).includes(name), `${file} has no test "${name}"`);
    }
  });

  it('on errors are there for each code, with causes and a cure', () => {
    const source = read('packages/hotlane/src/errors.ts');
    const union = /export type ErrorCode =([^;]*);/.exec(source)![1];
    const codes = [...union.matchAll(/'(\w+)'/g)].map(([, code]) => code);
    assert.ok(codes.length >= 10);
    const list = read('docs/reference/errors/README.md');
    for (const code of codes) {
      const page = read(`docs/reference/errors/${code}.md`);
      assert.match(page, new RegExp(`^# \`ERR_HOTLANE_${code}\``));
      assert.match(page, /\n## Causes\n[^#]+\n## Cure\n/);
      assert.ok(list.includes(`${code}.md`), code);
    }
    const pages = readdirSync(join(root, 'docs/reference/errors')).filter(name => name !== 'README.md');
    assert.deepEqual(pages.sort(), codes.map(code => `${code}.md`).sort());
  });
});
