import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { judgeBars } from '../src/harness/judge.ts';
import type { Study } from '../src/harness/study.ts';
import { barsFor, ceiling } from '../src/server-workers/bars.ts';
import { prepareGo } from '../src/server-workers/processes.ts';
import { workloads } from '../src/server-workers/workloads.ts';
import { rowsOf, runLab } from './lab.ts';

const go = await prepareGo();

describe('the study of server workers', () => {
  test('drives every server, and writes results, tables and a report', async t => {
    const out = await mkdtemp(join(tmpdir(), 'hotlane-server-workers-'));
    t.after(() => rm(out, { recursive: true }));
    const { code, stdout, stderr } = await runLab('lab.ts', 'server-workers', '--smoke', '--out', out);
    assert.equal(code, 0, stdout + stderr);
    for (const name of ['grpc-js, inline', 'worker per call', 'postMessage, 2 in turn', 'connect-node']) {
      assert.ok(rowsOf(stdout, name) >= 1, `${name}\n${stdout}`);
    }
    assert.ok(rowsOf(stdout, 'hotlane, 2 lanes') >= 6, stdout);
    if ('missing' in go) t.diagnostic(`No rows of grpc-go, and a client in Node: ${go.missing}`);
    else assert.ok(rowsOf(stdout, 'grpc-go') >= 2, stdout);

    const results = JSON.parse(await readFile(join(out, 'results.json'), 'utf8'));
    for (const { workload, contender, figures, failures } of results.cells) {
      assert.deepEqual(failures, [], `${workload} ${contender}`);
      // To start a thread for each call takes longer than a smoke run has.
      if (contender === 'spawn') continue;
      const [first] = Object.values<{ median: number }>(figures);
      assert.equal(typeof first?.median, 'number', `${workload} ${contender}`);
    }
    assert.match(await readFile(join(out, 'report.html'), 'utf8'), /p50 by calls in flight/);
  });

  test('has a client for where there is no Go, and says that it is used', async t => {
    const out = await mkdtemp(join(tmpdir(), 'hotlane-server-workers-'));
    t.after(() => rm(out, { recursive: true }));
    process.env.HOTLANE_LAB_NO_GO = '1';
    t.after(() => delete process.env.HOTLANE_LAB_NO_GO);
    const chosen = ['connections-64', 'slow-beside'].flatMap(key => ['--workload', key]);
    const two = ['inline', 'lanes-2'].flatMap(key => ['--contender', key]);
    const run = await runLab('lab.ts', 'server-workers', '--smoke', '--out', out, ...chosen, ...two);
    assert.equal(run.code, 0, run.stdout + run.stderr);
    assert.match(run.stderr, /One client in Node, on grpc-js, drives all servers/);
    assert.ok(rowsOf(run.stdout, 'hotlane, 2 lanes') >= 2, run.stdout);
    assert.equal(rowsOf(run.stdout, 'grpc-go'), 0);
  });
});

describe('its bars', () => {
  const figures: Record<string, Record<string, number>> = {
    'calls-8 inline': { rate: 10_000, cpu: 60 },
    'calls-8 auto': { rate: 9_800 },
    'calls-8 lanes-1': { rate: 8_000, cpu: 100 },
    'calls-8 post-message': { rate: 8_000 },
    'cpu-2 inline': { rate: 490, cpu: 2_060, clientCpu: 40 },
    'cpu-2 lanes-2': { rate: 880 },
    'slow-beside lanes-2': { p50: 900 },
    'slow-alone lanes-2': { p50: 500 },
    'large-1m inline': { rate: 100 },
    'large-1m lanes-2': { rate: 101 },
    'recycling recycled': { dip: 0.8 },
    'recycling lanes-2': { dip: 0.82 },
  };
  const runs = Object.entries(figures).map(([key, its]) => {
    const [workload, contender] = key.split(' ') as [string, string];
    const outcome = { ok: true as const, lingered: false, result: { figures: its, othersCores: 0 } };
    return { cell: { workload, contender }, outcomes: [outcome] };
  });
  const judged = (cores: number) => {
    const study = { subject: 'lanes-2', workloads, bars: barsFor(cores) } as unknown as Study<unknown>;
    return judgeBars(study, runs).map(({ verdict }) => verdict);
  };

  test('are each judged by their own contender', () => {
    assert.deepEqual(judged(2), ['met', 'missed', 'missed', 'missed', 'met', 'met', 'met', 'met']);
  });

  test('have a ceiling from what handling and handing over cost, shared by the cores', () => {
    const figure = (workload: string, contender: string, metric: string) =>
      figures[`${workload} ${contender}`]?.[metric] ?? null;
    assert.equal(Math.round(ceiling(figure, 2)!), 935); // 2 ÷ (2,060 + 40 + 40 µs)
    assert.equal(Math.round(ceiling(figure, 8)!), 990); // the two lanes alone: 2 ÷ (2,000 + 20 µs)
    assert.equal(
      ceiling(() => null, 2),
      null,
    );
  });
});
