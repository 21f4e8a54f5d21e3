import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Cli, makeFolder, makeGate, runCli, tasks } from './cli.ts';

/** What `--json` printed, which is the last line on stderr. */
const summaryOf = (stderr: string) => JSON.parse(stderr.trimEnd().split('\n').at(-1)!);

test('--json prints one line on stderr with the counts, the times and the exit code, and no progress', async () => {
  const { code, stderr } = await runCli(['map', tasks('sleepMs'), '--json', '--lanes', '3', '-'], {
    stdin: '1\n2500\n1\n',
  });
  assert.match(stderr, /^\{[^\n]*\}\n$/, 'expected one line');
  const { seconds, perSecond, latencyMs, ...counts } = summaryOf(stderr);
  assert.deepEqual(counts, {
    done: 3,
    failed: 0,
    retried: 0,
    reused: 0,
    givenUp: 0,
    notStarted: 0,
    lanes: 3,
    exitCode: 0,
  });
  assert.ok(seconds > 0 && perSecond > 0);
  assert.deepEqual(Object.keys(latencyMs), ['p50', 'p90', 'p99', 'max']);
  assert.ok(
    latencyMs.p50 <= latencyMs.p90 && latencyMs.p90 <= latencyMs.p99 && latencyMs.p99 <= latencyMs.max,
  );
  assert.ok(latencyMs.p50 < latencyMs.max, 'of calls of 1 ms and of 2,500 ms');
  assert.equal(code, 0);
});

test('--json counts failures and tries again, and tells the exit code that the shell gets', async t => {
  const { env } = makeGate(t);
  const { code, stderr } = await runCli(['map', tasks('flaky'), '--json', '--retries', '1', '-'], {
    env,
    stdin: 'a:1\nb:5\nc:0\n',
  });
  const { done, failed, retried, exitCode } = summaryOf(stderr);
  assert.deepEqual({ done, failed, retried, exitCode }, { done: 2, failed: 1, retried: 2, exitCode: 1 });
  assert.equal(code, 1);
});

test('--json counts what came from the journal, and has no latency when no call was made', async t => {
  const cwd = makeFolder(t);
  const args = ['map', tasks('echo'), '--json', '--journal', 'j', '-'];
  const first = summaryOf((await runCli(args, { cwd, stdin: 'a\nb\n' })).stderr);
  assert.deepEqual([first.done, first.reused], [2, 0]);
  const second = summaryOf((await runCli(args, { cwd, stdin: 'a\nb\n' })).stderr);
  assert.deepEqual([second.done, second.reused, second.perSecond, second.latencyMs], [2, 2, 0, null]);
  const third = summaryOf((await runCli(args, { cwd, stdin: 'a\nb\nc\n' })).stderr);
  assert.deepEqual([third.done, third.reused], [3, 2]);
  assert.ok(third.perSecond > 0);
});

test('--json tells after a signal what was given up, and what was not started', async t => {
  const gate = makeGate(t);
  const cwd = makeFolder(t, { a: '', b: '', c: '' });
  const cli = new Cli(['map', tasks('forever'), '--json', '--lanes', '1', '*'], { cwd, env: gate.env });
  await gate.untilStarted(1);
  cli.child.kill('SIGTERM');
  const { code, stderr } = await cli.ended;
  const { done, givenUp, notStarted, exitCode } = summaryOf(stderr);
  assert.deepEqual(
    { done, givenUp, notStarted, exitCode },
    { done: 0, givenUp: 1, notStarted: 2, exitCode: 143 },
  );
  assert.equal(code, 143);
});

test('--json says null for what was left of a stdin that was not read to its end', async () => {
  const cli = new Cli(['map', tasks('echo'), '--json', '-']);
  cli.child.stdin!.write('a\n');
  await cli.until(({ stdout }) => stdout.includes('"a"'));
  cli.child.kill('SIGINT');
  const { stderr } = await cli.ended;
  const { done, notStarted, exitCode } = summaryOf(stderr);
  assert.deepEqual({ done, notStarted, exitCode }, { done: 1, notStarted: null, exitCode: 130 });
});

test('--json says its line also when the reader of stdout goes away', async t => {
  const gate = makeGate(t);
  const stdin = Array.from({ length: 50_000 }, (_, i) => `${i}\n`).join('');
  const cli = new Cli(['map', tasks('echo'), '--json', '-'], { env: gate.env, stdin }, false);
  cli.child.stdout!.once('data', () => cli.child.stdout!.destroy());
  const { code, stderr } = await cli.ended;
  assert.match(stderr, /^\{[^\n]*\}\n$/);
  assert.equal(summaryOf(stderr).exitCode, 141);
  assert.equal(code, 141);
});
