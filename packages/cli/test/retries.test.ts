import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { Output } from '../src/output.ts';
import { pauseMs } from '../src/retries.ts';
import { Run } from '../src/run.ts';
import { Cli, makeFolder, makeGate, runCli, tasks } from './cli.ts';

test('an input whose call failed is tried again, and the output tells the last outcome and how many calls it took', async t => {
  const { env, started } = makeGate(t);
  const args = ['map', tasks('flaky'), '--retries', '2', '-'];
  const { code, results, stderr } = await runCli(args, { env, stdin: 'a:2\nb:0\nc:9\n' });
  assert.deepEqual(results, [
    { input: 'a:2', value: 3, attempts: 3 },
    { input: 'b:0', value: 1 },
    { input: 'c:9', error: { name: 'Error', message: 'call 3 failed' }, attempts: 3 },
  ]);
  assert.equal(started().length, 3 + 1 + 3);
  assert.match(stderr, /^hotlane: 2 done, 1 failed, 4 tries again in /m);
  assert.equal(code, 1);
});

test('without --retries nothing is tried again', async t => {
  const { env, started } = makeGate(t);
  const { results, stderr } = await runCli(['map', tasks('failAlways'), '-'], { env, stdin: 'a\n' });
  assert.deepEqual(results, [{ input: 'a', error: { name: 'Error', message: 'no' } }]);
  assert.deepEqual(started(), ['a']);
  assert.match(stderr, /^hotlane: 0 done, 1 failed in /m);
});

test('a call whose lane was lost is tried again', async t => {
  const { env } = makeGate(t);
  const args = ['map', tasks('crashOnce'), '--lanes', '1', '--retries', '1', '-'];
  const { code, results } = await runCli(args, { env, stdin: 'a\n' });
  assert.deepEqual(results, [{ input: 'a', value: 'a', attempts: 2 }]);
  assert.equal(code, 0);
});

test('a call that took too long is tried again', async t => {
  const { env } = makeGate(t);
  const args = ['map', tasks('hangOnce'), '--lanes', '1', '--retries', '9', '--deadline', '1s', '-'];
  const { code, results } = await runCli(args, { env, stdin: 'a\n' });
  assert.equal(results[0].value, 'a');
  assert.ok(results[0].attempts >= 2);
  assert.equal(code, 0);
});

test('an input for which no call can be made is not tried again', async t => {
  const args = ['map', tasks('size'), '--retries', '3', 'gone.txt'];
  const { results, stderr } = await runCli(args, { cwd: makeFolder(t) });
  assert.equal(results[0].error.code, 'ENOENT');
  assert.equal(results[0].attempts, undefined);
  assert.match(stderr, /^hotlane: 0 done, 1 failed in /m);
});

for (const [signal, exitCode] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const) {
  test(`after ${signal} nothing is tried again: what failed has failed`, async t => {
    const gate = makeGate(t);
    const cli = new Cli(['map', tasks('failAlways'), '--retries', '1000', '-'], {
      env: gate.env,
      stdin: 'a\n',
    });
    await gate.untilStarted(3);
    cli.child.kill(signal);
    const { code, results, stderr } = await cli.ended;
    assert.equal(code, exitCode);
    assert.equal(cli.leftBehind(), false);
    if (signal === 'SIGTERM' && results.length === 0) {
      // The third call had begun, and was given up before it failed.
      assert.match(stderr, /: 0 done, .*1 given up/);
      return;
    }
    assert.deepEqual(results[0].error, { name: 'Error', message: 'no' });
    assert.ok(results[0].attempts >= 3);
    assert.match(stderr, /: 0 done, 1 failed, \d+ tries again in /);
  });
}

/** A run on one lane, whose calls the test settles. */
function runOnOneLane(inputs: readonly string[], retries: number) {
  const calls: string[] = [];
  const open: { resolve: (json: string) => void; reject: (error: Error) => void }[] = [];
  const stream = new PassThrough();
  const run = new Run(
    {
      total: inputs.length,
      stop() {},
      async *[Symbol.asyncIterator]() {
        for (const text of inputs) yield { text };
      },
    },
    new Output(stream, { stepAside() {}, comeBack() {} }),
    {
      ordered: true,
      ahead: false,
      retries,
      lanes: () => ({ capacity: 1, abandoned: 0 }),
      onProblem() {},
      call: input => {
        calls.push(input);
        return new Promise((resolve, reject) => open.push({ resolve, reject }));
      },
    },
  );
  const ended = run.start();
  const turn = () => new Promise<void>(resolve => setImmediate(resolve));
  const settle = async (outcome: 'value' | 'error') => {
    await turn();
    const call = open.shift()!;
    if (outcome === 'value') call.resolve('1');
    else call.reject(new Error('no'));
    await turn();
  };
  return { run, calls, settle, ended, turn };
}

test('what waits for another try holds up no other input, and takes its turn before new ones', async t => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { calls, settle, ended, run } = runOnOneLane(['a', 'b', 'c', 'd'], 1);
  await settle('error');
  assert.deepEqual(calls, ['a', 'b'], 'b is called while a rests');
  await settle('value');
  assert.deepEqual(calls, ['a', 'b', 'c']);
  t.mock.timers.tick(pauseMs(1));
  assert.deepEqual(calls, ['a', 'b', 'c'], 'a waits for the lane');
  await settle('value');
  assert.deepEqual(calls, ['a', 'b', 'c', 'a']);
  await settle('value');
  await settle('value');
  await ended;
  assert.deepEqual(calls, ['a', 'b', 'c', 'a', 'd']);
  assert.deepEqual([run.done, run.failed, run.retried], [4, 0, 1]);
});

test('the pause before another try grows, up to a bound', async t => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { calls, settle, ended } = runOnOneLane(['a'], 9);
  let last = 0;
  for (let attempt = 1; attempt <= 9; attempt++) {
    await settle('error');
    assert.equal(calls.length, attempt);
    const pause = pauseMs(attempt);
    assert.ok(pause > last || pause === 5_000, `${pause} after ${last}`);
    t.mock.timers.tick(pause - 1);
    assert.equal(calls.length, attempt, 'it was called before the pause was over');
    t.mock.timers.tick(1);
    assert.equal(calls.length, attempt + 1);
    last = pause;
  }
  assert.equal(last, 5_000);
  await settle('error');
  await ended;
});

test('what was running when the run was stopped, and fails, has failed', async () => {
  const { calls, settle, ended, run, turn } = runOnOneLane(['a', 'b'], 9);
  await turn();
  run.stop();
  await settle('error');
  await ended;
  assert.deepEqual(calls, ['a']);
  assert.deepEqual([run.done, run.failed, run.retried], [0, 1, 0]);
});
