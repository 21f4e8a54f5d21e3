import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { it } from 'node:test';

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

it('the guide to web servers ends with the files of the Fastify example', () => {
  const files = new Map<string, string>(); // of a name that comes twice the last one counts, as for a reader
  for (const [, name, code] of read('docs/guide/web-server.md').matchAll(
    /^```ts\n\/\/ (\S+)\n([\s\S]*?)^```$/gm,
  )) {
    files.set(name, code);
  }
  assert.equal(files.size, 6);
  for (const [name, code] of files) {
    const path = name === 'server.ts' ? 'fastify/server.ts' : `shared/${name}`;
    // The reader has them all in one folder.
    assert.equal(code, read(`examples/${path}`).replaceAll("'../shared/", "'./"), name);
  }
});
