import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { judgeBars } from '../src/harness/judge.ts';
import type { Study } from '../src/harness/study.ts';
import { barsFor, ceiling } from '../src/server-workers/bars.ts';
import { readGhz, readGrpcGo } from '../src/server-workers/drivers.ts';
import { EVERY_ALLOCATION, watchHeaps } from '../src/server-workers/heaps.ts';
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

  test('has itself driven by grpc-go’s own client', async t => {
    if ('missing' in go) return t.skip(go.missing);
    const out = await mkdtemp(join(tmpdir(), 'hotlane-server-workers-'));
    t.after(() => rm(out, { recursive: true }));
    const chosen = ['--workload', 'driver-grpc-go', '--contender', 'lanes-1', '--contender', 'go-0'];
    const { code, stdout, stderr } = await runLab(
      'lab.ts',
      'server-workers',
      '--smoke',
      '--out',
      out,
      ...chosen,
    );
    assert.equal(code, 0, stdout + stderr);
    const { cells } = JSON.parse(await readFile(join(out, 'results.json'), 'utf8'));
    assert.equal(cells.length, 2, stderr);
    for (const { contender, figures, failures } of cells) {
      assert.deepEqual(failures, [], contender);
      for (const name of ['rate', 'p50', 'p99', 'cpu', 'clientCpu']) {
        assert.ok(figures[name].median > 0, `${contender} ${name}`);
      }
    }
  });

  test('leaves out what is driven by a load generator that is not there, and says why', async t => {
    const out = await mkdtemp(join(tmpdir(), 'hotlane-server-workers-'));
    t.after(() => rm(out, { recursive: true }));
    process.env.HOTLANE_LAB_NO_GO = '1';
    t.after(() => delete process.env.HOTLANE_LAB_NO_GO);
    const chosen = ['driver-ghz', 'slow-alone'].flatMap(key => ['--workload', key]);
    const two = ['inline', 'lanes-2'].flatMap(key => ['--contender', key]);
    const run = await runLab('lab.ts', 'server-workers', '--smoke', '--out', out, ...chosen, ...two);
    assert.equal(run.code, 0, run.stdout + run.stderr);
    assert.match(run.stderr, /Rows of ghz are left out\. HOTLANE_LAB_NO_GO is set\./);
    assert.doesNotMatch(run.stdout, /by ghz/);
    assert.ok(rowsOf(run.stdout, 'hotlane, 2 lanes') >= 1, run.stdout);
  });
});

describe('what heaps are watched for', () => {
  const OBJECTS = 20_000;
  const code = `
    const { parentPort } = require('node:worker_threads');
    parentPort.on('message', objects => {
      for (let i = 0; i < objects; i++) globalThis.kept = { i };
      parentPort.postMessage('made');
    });`;
  const make = async (worker: Worker) => {
    worker.postMessage(OBJECTS);
    await new Promise(resolve => worker.once('message', resolve));
  };

  test('is every allocation, by thread', async t => {
    const worker = new Worker(code, { eval: true });
    t.after(() => worker.terminate());
    await make(worker);
    const sumUp = await watchHeaps(EVERY_ALLOCATION);
    await make(worker);
    const { host, all } = await sumUp();
    const others = all.allocations - host.allocations;
    // What the thread does to take and send a message comes on top.
    assert.ok(others >= OBJECTS && others < OBJECTS * 1.2, `${others}`);
    assert.ok(host.allocations < OBJECTS / 10, `${host.allocations}`);
    assert.ok(all.bytes - host.bytes > others * 16, `${all.bytes - host.bytes}`);
  });

  test('is the bytes, estimated from a few of them', async () => {
    const sumUp = await watchHeaps(1024);
    const kept = Array.from({ length: OBJECTS }, () => new Array(10).fill(0));
    const { host, all } = await sumUp();
    assert.deepEqual(host, all);
    const each = host.bytes / kept.length;
    assert.ok(each > 100 && each < 180, `${each}`); // ten elements of 8 bytes, their head, and that of the array
    assert.ok(host.allocations < OBJECTS / 2, `${host.allocations}`);
  });

  test('is not told without what a worker had that has ended', async () => {
    const worker = new Worker(code, { eval: true });
    await make(worker);
    const sumUp = await watchHeaps(EVERY_ALLOCATION);
    await worker.terminate();
    await assert.rejects(sumUp(), /A worker ended while its heap was watched/);
  });
});

describe('load generators of others', () => {
  test('are understood: grpc-go’s benchmark client', () => {
    const stdout = `qps: 5072
Latency: (50/90/99 %ile): 1.017769ms/2.44182ms/12.158995ms
Client CPU utilization: 333.205751ms
Client CPU profile: /tmp/bench.cpu
Client Mem Profile: /tmp/bench.mem
`;
    assert.deepEqual(readGrpcGo(stdout, 2), {
      calls: 10_144,
      allCalls: 10_144,
      perSecond: 5_072,
      p50Us: 1_017.769,
      p90Us: 2_441.82,
      p99Us: 12_158.995,
    });
    const other = stdout.replace(/1\.017769ms.*/, '479.011µs/1.2s/999ns');
    const { p50Us, p90Us, p99Us } = readGrpcGo(other, 1);
    assert.deepEqual([p50Us, p90Us, p99Us], [479.011, 1_200_000, 0.999]);
    assert.throws(() => readGrpcGo(stdout.replace('qps', 'QPS'), 1), /Not understood: QPS: 5072/);
    assert.throws(() => readGrpcGo(stdout.replace('2.44182ms', '1m2s'), 1), /Not understood: 1m2s/);
  });

  test('are understood: ghz', () => {
    // The calls one by one, which are many, and the histogram are cut.
    const stdout = `{"date":"2026-11-21T23:53:12Z","endReason":"timeout","options":{"call":"grpc.testing.BenchmarkService/UnaryCall","host":"127.0.0.1:41069","proto":"bench.proto","insecure":true,"concurrency":8,"connections":1,"duration":1000000000},"count":4109,"total":1000213614,"average":1900451,"fastest":277212,"slowest":45996256,"rps":4108.122447531493,"errorDistribution":{},"statusCodeDistribution":{"OK":4109},"latencyDistribution":[{"percentage":10,"latency":844148},{"percentage":25,"latency":1025387},{"percentage":50,"latency":1235340},{"percentage":75,"latency":1580854},{"percentage":90,"latency":2876664},{"percentage":95,"latency":5437498},{"percentage":99,"latency":19872734}],"histogram":[],"details":[{"timestamp":"2026-11-21T23:53:11.521838784Z","latency":21302192,"error":"","status":"OK"}]}`;
    assert.deepEqual(readGhz(stdout), {
      calls: 4_109,
      allCalls: 4_109,
      perSecond: 4108.122447531493,
      p50Us: 1_235.34,
      p90Us: 2_876.664,
      p99Us: 19_872.734,
    });
    const failed = `{"date":"2026-11-22T00:04:26Z","endReason":"normal","count":3,"total":3444339,"average":1024168,"fastest":0,"slowest":0,"rps":870.9944056029328,"errorDistribution":{"rpc error: code = DeadlineExceeded desc = context deadline exceeded":3},"statusCodeDistribution":{"DeadlineExceeded":3},"latencyDistribution":null,"histogram":null,"details":[]}`;
    assert.throws(() => readGhz(failed), /A call failed: rpc error: code = DeadlineExceeded/);
    assert.throws(() => readGhz(stdout.replace('"percentage":99', '"percentage":98')), /Not understood/);
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
