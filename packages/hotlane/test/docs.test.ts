import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';

const root = join(import.meta.dirname, '../../..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');

describe('the pages', () => {
  it('have no link that leads nowhere', () => {
    const pages = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
      .filter(name => name.endsWith('.md'))
      .map(name => `docs/${name}`);
    pages.push('README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md', 'packages/cli/README.md', 'lab/README.md');
    for (const page of pages) {
      for (const [, target] of read(page).matchAll(/\]\(([^)#]+)(?:#[^)]*)?\)/g)) {
        if (/^https?:/.test(target)) continue;
        assert.ok(existsSync(join(root, dirname(page), target)), `${page} links to ${target}`);
      }
    }
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
