import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { rowsOf, runLab } from './lab.ts';

let folder: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hotlane-lab-'));
});
after(() => rm(folder, { recursive: true }));

describe('npm start', () => {
  test('does both jobs in three ways with equal results', async () => {
    const json = join(folder, 'start.json');
    const { code, stdout, stderr } = await runLab('start/main.ts', '--quick', '--json', json);
    assert.equal(code, 0, stdout + stderr);
    assert.equal(rowsOf(stdout, 'one thread'), 2, stdout);
    assert.equal(rowsOf(stdout, 'hotlane'), 2, stdout);
    assert.equal(rowsOf(stdout, 'piscina'), 2, stdout);
    assert.equal(stdout.match(/All results are equal/g)?.length, 2, stdout);
    assert.match(stdout, /^verdict .* over one thread/m);

    const results = JSON.parse(await readFile(json, 'utf8'));
    assert.deepEqual(
      results.jobs.map((job: { key: string }) => job.key),
      ['compress', 'suggest'],
    );
    for (const job of results.jobs) assert.equal(job.resultsEqual, true, JSON.stringify(job));
  });

  test('refuses an option that it does not know', async () => {
    const { code, stderr } = await runLab('start/main.ts', '--all');
    assert.equal(code, 2);
    assert.match(stderr, /There is no option `--all`/);
  });
});
