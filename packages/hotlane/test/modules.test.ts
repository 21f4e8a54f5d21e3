import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { after, describe, it } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { createPool } from 'hotlane';
import { code, fixture, leavesNothingBehind, PLACEMENTS } from './support.ts';

leavesNothingBehind();

const directory = mkdtempSync(join(tmpdir(), 'hotlane-modules-'));
after(() => rmSync(directory, { recursive: true }));

function write(name: string, text: string): string {
  const path = join(directory, name);
  mkdirSync(join(path, '..'), { recursive: true });
  writeFileSync(path, text);
  return path;
}

async function callOnce(
  module: string | URL,
  placement: 'thread' | 'inline',
  name: string,
  ...args: unknown[]
): Promise<unknown> {
  await using pool = createPool(module, { placement });
  return await pool.call[name](...args);
}

for (const placement of PLACEMENTS) {
  describe(`task modules, ${placement}`, () => {
    it('can be TypeScript, from source', async () => {
      assert.equal(await callOnce(fixture('tasks.ts'), placement, 'add', 1, 2), 3);
    });

    it('can be ES modules, with a default export', async () => {
      const path = write('esm.mjs', 'export default x => x * 2; export const triple = x => x * 3;');
      assert.equal(await callOnce(path, placement, 'default', 4), 8);
      assert.equal(await callOnce(path, placement, 'triple', 4), 12);
    });

    it('can be CommonJS: an object, a function, and names that only run time shows', async () => {
      const object = write(
        'object.cjs',
        'const name = "hid" + "den"; module.exports = { double: x => x * 2, [name]: x => x + 1 };',
      );
      assert.equal(await callOnce(object, placement, 'double', 4), 8);
      assert.equal(await callOnce(object, placement, 'hidden', 4), 5);
      const fn = write('function.cjs', 'module.exports = x => x * 5;');
      assert.equal(await callOnce(fn, placement, 'default', 4), 20);
    });

    it('of ES modules, only exports count: not what a default export holds', async () => {
      const path = write('holder.mjs', 'export default { secret: () => 1 };');
      await assert.rejects(callOnce(path, placement, 'secret'), code('NO_FUNCTION'));
    });

    it('are named by a URL, a file URL as text, an absolute and a relative path', async () => {
      const path = write('named.mjs', 'export const one = () => 1;');
      const relativePath = relative(process.cwd(), path);
      const names = [
        pathToFileURL(path),
        pathToFileURL(path).href,
        path,
        relativePath.startsWith('.') ? relativePath : `./${relativePath}`,
      ];
      for (const name of names) assert.equal(await callOnce(name, placement, 'one'), 1);
    });

    it('can be packages, named as in an import, and built-in modules', async () => {
      assert.equal(
        await callOnce('pure-rand/distribution/uniformInt', placement, 'nope').catch(e => e.code),
        'ERR_HOTLANE_NO_FUNCTION',
      );
      const packed = (await callOnce('node:zlib', placement, 'gzipSync', 'text')) as Uint8Array;
      assert.deepEqual([...packed.subarray(0, 2)], [0x1f, 0x8b]);
    });

    it('can be packages that export to `import` only, subpaths included', async () => {
      const cwd = process.cwd();
      write('node_modules/esm-only/main.js', 'export const one = () => 1;');
      write('node_modules/esm-only/other.js', 'export const two = () => 2;');
      const exports = { '.': { import: './main.js' }, './other': { node: { import: './other.js' } } };
      write(
        'node_modules/esm-only/package.json',
        JSON.stringify({ name: 'esm-only', type: 'module', exports }),
      );
      process.chdir(directory);
      try {
        assert.equal(await callOnce('esm-only', placement, 'one'), 1);
        assert.equal(await callOnce('esm-only/other', placement, 'two'), 2);
        await assert.rejects(
          callOnce('esm-only/none', placement, 'f'),
          code('LANE_START', /"esm-only\/none"/),
        );
      } finally {
        process.chdir(cwd);
      }
    });

    it('that are missing: the error names what was looked for', async () => {
      const missing = join(directory, 'missing.mjs');
      await assert.rejects(
        callOnce(missing, placement, 'f'),
        code('LANE_START', new RegExp(`looked for ${missing}`)),
      );
      await assert.rejects(
        callOnce('no-such-package', placement, 'f'),
        code('LANE_START', /"no-such-package"/),
      );
      await assert.rejects(callOnce(directory, placement, 'f'), code('LANE_START', /is a directory/));
    });

    it('that are there but miss a dependency: the error names the dependency', async () => {
      const path = write('broken-import.mjs', 'import "./not-there.mjs"; export const f = () => 1;');
      await assert.rejects(callOnce(path, placement, 'f'), code('LANE_START', /not-there\.mjs/));
    });

    it('that are there but miss a package, or a file that they require: the error names that', async () => {
      const esm = write('needs-package.mjs', 'import "left-padd"; export const f = () => 1;');
      await assert.rejects(
        callOnce(esm, placement, 'f'),
        code('LANE_START', /needs-package\.mjs failed to load.*left-padd/),
      );
      const cjs = write('needs-file.cjs', 'require("./lib/nope"); exports.f = () => 1;');
      await assert.rejects(
        callOnce(cjs, placement, 'f'),
        code('LANE_START', /needs-file\.cjs failed to load.*lib\/nope/),
      );
    });

    it('that throw, or do not parse: the error says so and has the cause', async () => {
      const throws = write('throws.mjs', 'throw new RangeError("at load");');
      await assert.rejects(callOnce(throws, placement, 'f'), (error: Error) => {
        assert.ok(error.cause instanceof RangeError);
        return code('LANE_START', /RangeError: at load/)(error);
      });
      const broken = write('broken.mjs', 'export const = 1;');
      await assert.rejects(callOnce(broken, placement, 'f'), code('LANE_START', /SyntaxError/));
    });

    it('that never finish loading: LANE_START after startMs', async () => {
      const path = write('endless.mjs', 'await new Promise(() => {}); export const f = () => 1;');
      const pool = createPool(path, { placement, startMs: 300 });
      await assert.rejects(pool.call.f(), code('LANE_START', /startMs.*top-level await/));
      await pool.close();
    });

    it('that export `then` are refused, whatever it would do', async () => {
      const path = write('then.mjs', 'export function then() {}; export const f = () => 1;');
      await assert.rejects(callOnce(path, placement, 'f'), code('LANE_START', /`then`/));
    });

    it('that fail to load fail all calls that wait, and are tried again for later ones', async () => {
      const path = join(directory, `late-${placement}.mjs`);
      const pool = createPool(path, { placement });
      const calls = [1, 2, 3].map(() => assert.rejects(pool.call.f(), code('LANE_START')));
      await Promise.all(calls);
      if (placement === 'thread') {
        // In one thread, Node remembers that a module is missing.
        write(`late-${placement}.mjs`, 'export const f = () => "there now";');
        assert.equal(await pool.call.f(), 'there now');
      }
      await pool.close();
    });
  });
}

describe('a reference that can be no module', () => {
  it('is refused when the pool is made', () => {
    for (const bad of [
      undefined,
      null,
      7,
      '',
      {},
      'https://example.com/x.js',
      new URL('http://example.com/x.js'),
    ]) {
      assert.throws(() => createPool(bad as string), code('OPTION', /Task module: expected/));
    }
    assert.doesNotThrow(() => fileURLToPath(fixture('tasks.ts')));
  });
});
