import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { fixture } from './kit/serve.ts';

test('a service that was closed leaves no thread, and nothing that keeps the process', async () => {
  // Without the condition of the tests: the package as it is built.
  const { stdout, stderr } = await promisify(execFile)(
    process.execPath,
    [fileURLToPath(fixture('once.mjs'))],
    { timeout: 30_000 },
  );
  assert.deepEqual([stdout, stderr], ['lanes! auto! inline!\n', '']);
});
