import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { promisify } from 'node:util';
import { leavesNothingBehind } from './kit/leftovers.ts';

leavesNothingBehind();

const run = promisify(execFile);
const root = join(import.meta.dirname, '../../..');

/** The built package, as users get it, on each line of Node that is supported, with each version of undici. */
describe('the built package', () => {
  for (const node of [20, 22, 24, 26]) {
    for (const undici of [7, 8]) {
      if (undici === 8 && node === 20) continue; // it needs a later one
      const binary = join(root, 'node_modules', node === 24 ? 'node' : `node-${node}`, 'bin/node');
      const missing = !existsSync(binary) && `there is no ${binary}: npm install brings it`;
      it(`works on Node ${node} with undici ${undici}`, { skip: missing, timeout: 60_000 }, async () => {
        const program = join(import.meta.dirname, 'fixtures/versions.mjs');
        const flags = undici === 7 ? ['--import', join(import.meta.dirname, 'fixtures/undici-7.mjs')] : [];
        const options = { cwd: import.meta.dirname, timeout: 60_000 };
        const { stdout } = await run(binary, [...flags, program], options);
        assert.equal(stdout.trim(), `Node ${node}, undici ${undici}`);
      });
    }
  }
});
