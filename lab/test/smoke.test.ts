import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';

interface Run {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command of the lab as a user would, from the repository's root. */
function runLab(script: string, ...args: string[]): Promise<Run> {
  const file = fileURLToPath(new URL(`../src/${script}`, import.meta.url));
  const cwd = fileURLToPath(new URL('../..', import.meta.url));
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [file, ...args], { cwd, stdio: ['ignore', 'pipe', 'pipe'] });
    let stdout = '';
    let stderr = '';
    child.stdout.setEncoding('utf8').on('data', text => {
      stdout += text;
    });
    child.stderr.setEncoding('utf8').on('data', text => {
      stderr += text;
    });
    child.on('error', reject);
    child.on('close', code => resolve({ code, stdout, stderr }));
  });
}

/** How many rows of the tables begin with a name. */
function rowsOf(stdout: string, name: string): number {
  return stdout.split('\n').filter(line => line.startsWith(`${name} `) && /\d/.test(line)).length;
}

const WORKLOADS = ['noop-1', 'noop-64', 'noop-1000', 'object-64'];
const CONTENDERS = ['hotlane', 'piscina-default', 'piscina-tuned', 'post-message', 'same-thread'];

let folder: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hotlane-lab-'));
});
after(() => rm(folder, { recursive: true }));

describe('the bench', () => {
  test('runs every contender on every workload and prints a row for each', async () => {
    const json = join(folder, 'bench.json');
    const { code, stdout, stderr } = await runLab('bench/main.ts', '--smoke', '--seed', '5', '--json', json);
    assert.equal(code, 0, stdout + stderr);
    for (const name of ['hotlane', 'piscina', 'piscina tuned', 'postMessage', 'same thread']) {
      // "piscina" is also how the rows of "piscina tuned" begin.
      const rows = name === 'piscina' ? 2 * WORKLOADS.length : WORKLOADS.length;
      assert.equal(rowsOf(stdout, name), rows, `${name}\n${stdout}`);
    }
    for (const part of ['machine ', 'versions ', 'commit ', 'seed 5', 'control ', 'hotlane is faster by']) {
      assert.ok(stdout.includes(part), `${part}\n${stdout}`);
    }

    const results = JSON.parse(await readFile(json, 'utf8'));
    assert.equal(results.schema, 'hotlane-bench-1');
    assert.equal(results.seed, 5);
    assert.equal(results.machine.node, process.version);
    assert.match(results.command, /^node lab\/src\/bench\/main\.ts --smoke/);
    const cells = results.cells.map(
      (cell: { workload: string; contender: string }) => `${cell.workload} ${cell.contender}`,
    );
    assert.deepEqual(
      cells.sort(),
      WORKLOADS.flatMap(workload => CONTENDERS.map(contender => `${workload} ${contender}`)).sort(),
    );
    for (const cell of results.cells) {
      assert.ok(cell.callsPerSecond.median > 0, JSON.stringify(cell));
      assert.ok(cell.p99Us.median >= cell.p50Us.median, JSON.stringify(cell));
    }
  });

  test('refuses an option that it does not know, and says which it does', async () => {
    const { code, stdout, stderr } = await runLab('bench/main.ts', '--fast');
    assert.equal(code, 2);
    assert.equal(stdout, '');
    assert.match(stderr, /There is no option `--fast`\. Known are --quick, --smoke, --json/);
  });

  test('refuses a workload that it does not have', async () => {
    const { code, stderr } = await runLab('bench/main.ts', '--workload', 'noop-2');
    assert.equal(code, 2);
    assert.match(stderr, /there is no `noop-2`\. Known are noop-1, /);
  });

  test('explains itself', async () => {
    const { code, stdout } = await runLab('bench/main.ts', '--help');
    assert.equal(code, 0);
    assert.match(stdout, /--json FILE/);
  });
});

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
