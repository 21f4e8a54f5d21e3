import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { promisify } from 'node:util';

const run = promisify(execFile);
const root = join(import.meta.dirname, '../../..');

/** The built core, as users get it, on each line of Node that is supported. */
describe('the built core', () => {
  for (const major of [20, 22, 24, 26]) {
    const binary = join(root, 'node_modules', major === 24 ? 'node' : `node-${major}`, 'bin/node');
    const missing = !existsSync(binary) && `there is no ${binary}: npm install brings it`;
    it(`works on Node ${major}`, { skip: missing, timeout: 60_000 }, async () => {
      const program = join(import.meta.dirname, 'fixtures/built-smoke.mjs');
      const { stdout } = await run(binary, [program], { cwd: import.meta.dirname, timeout: 60_000 });
      assert.equal(stdout.trim(), `v${major} ok`);
    });
  }
});
