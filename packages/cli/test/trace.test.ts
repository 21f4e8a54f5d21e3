import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import type { TraceEvent, TraceFile } from '../src/trace-file.ts';
import { TraceRows } from '../src/trace-rows.ts';
import { Cli, fixture, makeFolder, makeGate, nodeArgs, runCli, tasks } from './cli.ts';
import { checkTrace, type Event, rowsOf } from './trace-checker.ts';

const read = (cwd: string): Event[] => JSON.parse(readFileSync(join(cwd, 't.json'), 'utf8'));
const ofPhase = (events: readonly Event[], ph: string) => events.filter(event => event.ph === ph);
const M = { ph: 'M', name: 'thread_name', ts: 0, pid: 1, tid: 1, args: { name: 'r' } };
const X = { ph: 'X', name: 'f', ts: 1, dur: 2, pid: 1, tid: 1 };
const b = { ph: 'b', name: 'l', cat: 'c', id: '1', ts: 1, pid: 1, tid: 1 };

test('the checker knows what the format does not allow', () => {
  checkTrace([M, X, { ...X, ts: 3 }, b, { ...b, ph: 'e' }]);
  const wrong: Event[][] = [
    [X],
    [M, { ...X, ph: 'Z' }],
    [M, { ...X, dur: -1 }],
    [M, { ...X, ts: -1 }],
    [M, { ...X, ts: null as never }],
    [M, { ...X, dur: undefined } as never, X],
    [M, X, { ...X, ts: 2.999 }],
    [M, { ...X, pid: 2 }],
    [M, b],
    [M, b, b],
    [M, { ...b, ph: 'e' }],
    [M, b, { ...b, ph: 'e', ts: 0 }],
    [M, { ...M, ph: 'C', args: { running: 'x' } }],
    [{ ...M, args: {} }],
  ];
  for (const events of wrong) assert.throws(() => checkTrace(events), JSON.stringify(events));
});

test('a run gives a trace: each call on the row of its lane, the lives of lanes, and how many calls wait', async t => {
  const cwd = makeFolder(t);
  const stdin = Array.from({ length: 60 }, (_, i) => `${i % 5}\n`).join('');
  const args = ['map', tasks('sleepMs'), '--trace', 't.json', '--json', '--lanes', '2', '-'];
  const { code, results, stderr } = await runCli(args, { cwd, stdin });
  assert.equal(code, 0);
  const events = read(cwd);
  checkTrace(events);
  const calls = ofPhase(events, 'X');
  assert.deepEqual(calls.map(call => call.args.input).sort(), results.map(result => result.input).sort());
  for (const { name, args } of calls) assert.deepEqual([name, args.status], ['sleepMs', 'done']);
  const longest = Math.max(...calls.map(call => call.dur!));
  const { latencyMs } = JSON.parse(stderr.trimEnd().split('\n').at(-1)!);
  assert.ok(longest <= latencyMs.max * 1_001, 'longer than from the call to its result');
  assert.ok(longest > latencyMs.max, 'not in microseconds');
  assert.deepEqual(
    [...rowsOf(events)]
      .filter(([tid]) => tid !== 0)
      .map(([, name]) => name)
      .sort(),
    ['lane 1', 'lane 2'],
  );
  assert.equal(events.find(event => event.name === 'process_name')!.args.name, 'hotlane map');
  for (const lane of ['lane 1', 'lane 2']) {
    const life = events.filter(event => event.cat === 'lane' && event.id === lane);
    assert.equal(life[0]!.ph + life.at(-1)!.ph, 'be');
  }
  assert.ok(events.some(event => event.cat === 'lane' && event.args?.state === 'up'));
  const counts = ofPhase(events, 'C');
  assert.ok(counts.some(({ args }) => args.running > 0) && counts.at(-1)!.args.running === 0);
  for (const { args } of counts) assert.deepEqual(Object.keys(args), ['queued', 'running']);
});

test('a lane that runs several calls at once has a row for each', async t => {
  const cwd = makeFolder(t);
  const stdin = Array.from({ length: 60 }, (_, i) => `${(i * 7) % 13}\n`).join('');
  const args = ['map', tasks('sleepMs'), '--trace', 't.json', '--lanes', '1', '--concurrency', '3', '-'];
  await runCli(args, { cwd, stdin });
  const events = read(cwd);
  checkTrace(events);
  assert.equal(ofPhase(events, 'X').length, 60);
  const rows = [...rowsOf(events).values()].slice(1);
  assert.ok(rows.includes('lane 1') && rows.includes('lane 1 (2)') && rows.includes('lane 1 (3)'), `${rows}`);
});

test('calls that do not overlap need one row, and never more are needed than run at once', () => {
  const call = fc.record({ start: fc.nat(1_000), length: fc.nat(100) });
  fc.assert(
    fc.property(fc.array(call, { maxLength: 80 }), given => {
      const calls = given.map(({ start, length }) => ({ start, end: start + length + 1 }));
      calls.sort((a, b) => a.end - b.end);
      const events: TraceEvent[] = [];
      const rows = new TraceRows({ add: (event: TraceEvent) => events.push(event) } as unknown as TraceFile);
      const ends = new Map<number, number>();
      for (const { start, end } of calls) {
        const tid = rows.take(1, start, end);
        assert.ok((ends.get(tid) ?? 0) <= start, 'two at once on one row');
        ends.set(tid, end);
      }
      const most = Math.max(
        1,
        ...calls.map(({ start }) => calls.filter(one => one.start <= start && start < one.end).length),
      );
      const named = events.filter(event => event.name === 'thread_name');
      assert.ok(calls.length === 0 || named.length <= most, `${named.length} rows for ${most} at once`);
    }),
  );
});

test('what failed is told, and a call whose lane was lost is there although nobody knows when it ran', async t => {
  const cwd = makeFolder(t);
  const args = (name: string) => ['map', tasks(name), '--trace', 't.json', '--lanes', '1', '-'];
  await runCli(args('failOdd'), { cwd, stdin: '1\n2\n' });
  const failed = read(cwd);
  checkTrace(failed);
  assert.deepEqual(
    ofPhase(failed, 'X').map(({ args }) => [args.input, args.status]),
    [
      ['1', 'failed'],
      ['2', 'done'],
    ],
  );
  await runCli(args('crash'), { cwd, stdin: 'a\ncrash\nb\n' });
  const lost = read(cwd);
  checkTrace(lost);
  assert.deepEqual(
    ofPhase(lost, 'X').map(({ args }) => args.input),
    ['a', 'b'],
  );
  const call = lost.find(event => event.cat === 'not finished')!;
  assert.deepEqual(call.args, { input: 'crash', status: 'failed', code: 'ERR_HOTLANE_LANE_LOST' });
  assert.ok(lost.some(event => event.ph === 'e' && /code 7/.test(event.args?.cause)));
});

test('a long input is cut in its event', async t => {
  const cwd = makeFolder(t);
  await runCli(['map', tasks('echo'), '--trace', 't.json', '-'], { cwd, stdin: `${'x'.repeat(5_000)}\n` });
  assert.equal(ofPhase(read(cwd), 'X')[0]!.args.input, `${'x'.repeat(200)}…`);
});

test('streams are spans of their own, since nobody tells which lane they ran on', async t => {
  const cwd = makeFolder(t);
  const args = ['map', `${fixture('streams.js')}#thenThrow`, '--stream', '--trace', 't.json', '-'];
  await runCli(args, { cwd, stdin: '2\n3\n' });
  const events = read(cwd);
  checkTrace(events);
  const streams = events.filter(event => event.cat === 'stream' && event.ph === 'b');
  assert.deepEqual(streams.map(({ name, args }) => [name, args.input, args.status]).sort(), [
    ['thenThrow', '2', 'done'],
    ['thenThrow', '3', 'failed'],
  ]);
});

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  test(`after ${signal} the trace is whole`, async t => {
    const cwd = makeFolder(t);
    const gate = makeGate(t);
    const cli = new Cli(['map', tasks('gateFirst'), '--trace', 't.json', '--lanes', '2', '-'], {
      cwd,
      env: gate.env,
    });
    cli.child.stdin!.write('0\na\nb\n');
    await gate.untilStarted(3);
    await gate.untilQuiet();
    cli.child.kill(signal);
    gate.open();
    await cli.ended;
    const events = read(cwd);
    checkTrace(events);
    assert.ok(['a', 'b'].every(input => ofPhase(events, 'X').some(call => call.args.input === input)));
  });
}

test('after kill -9 all that is missing is the end of the list', async t => {
  const cwd = makeFolder(t);
  const stdin = Array.from({ length: 300_000 }, (_, i) => `${i}\n`).join('');
  const cli = new Cli(['map', tasks('echo'), '--trace', 't.json', '--lanes', '2', '-'], { cwd, stdin });
  const file = join(cwd, 't.json');
  while (!existsSync(file) || statSync(file).size < 300_000)
    await new Promise(resolve => setTimeout(resolve, 5));
  cli.child.kill('SIGKILL');
  await cli.ended;
  const events: Event[] = JSON.parse(`${readFileSync(file, 'utf8')}]`);
  assert.ok(ofPhase(events, 'X').length > 500);
});

test('without --trace nobody listens to what the pool tells', async t => {
  const cwd = makeFolder(t);
  const args = ['map', tasks('isWatched'), '--placement', 'inline', '-'];
  assert.equal((await runCli(args, { stdin: 'a\n' })).results[0].value, false);
  assert.equal((await runCli([...args, '--trace', 't.json'], { cwd, stdin: 'a\n' })).results[0].value, true);
});

for (const [what, name, line] of [
  ['in a folder that is not there', 'no/such/t.json', /cannot write the trace no\/such\/t\.json: ENOENT/],
  ['that is a directory', '.', /cannot write the trace \.: expected the name of a file, got something else/],
  ['that is the journal', './j', /the trace \.\/j is the journal; name another file/],
  ['that is the module', 'm.mjs', /the trace m\.mjs is the module; name another file/],
  ['without a name', '', /--trace expects the name of a file/],
] as const) {
  test(`a trace ${what} is refused before anything is run`, async t => {
    const source = 'export default () => { throw new Error("it ran"); };';
    const cwd = makeFolder(t, { 'm.mjs': source, j: '' });
    const args = ['map', './m.mjs', '--journal', 'j', `--trace=${name}`, '-'];
    const { code, stdout, stderr } = await runCli(args, { cwd, stdin: 'a\n' });
    assert.match(stderr, /^hotlane: [^\n]*\n$/);
    assert.match(stderr, line);
    assert.equal(stdout, '');
    assert.equal(code, 2);
    assert.equal(readFileSync(join(cwd, 'm.mjs'), 'utf8'), source);
    assert.ok(!existsSync(join(cwd, 'j.lock')), 'the journal is still locked');
  });
}

test('a trace that is the file where the results go is refused', t => {
  const cwd = makeFolder(t, { 'out.json': 'kept' });
  const out = openSync(join(cwd, 'out.json'), 'a');
  const { status, stderr } = spawnSync(
    process.execPath,
    [...nodeArgs, 'map', tasks('echo'), '--trace', 'out.json', '-'],
    { cwd, stdio: ['pipe', out, 'pipe'], input: 'a\n', encoding: 'utf8' },
  );
  closeSync(out);
  assert.equal(stderr, 'hotlane: the trace out.json is where the results go; name another file\n');
  assert.equal(status, 2);
  assert.equal(readFileSync(join(cwd, 'out.json'), 'utf8'), 'kept');
});
