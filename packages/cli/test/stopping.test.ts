import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { closeSync, existsSync, openSync } from 'node:fs';
import { test } from 'node:test';
import { Cli, makeFolder, makeGate, nodeArgs, tasks } from './cli.ts';

const TEN = Object.fromEntries(Array.from({ length: 10 }, (_, i) => [`${i}.txt`, '']));

test('Ctrl-C lets the running calls finish, writes their results, starts no others, and says what is left', async t => {
  const gate = makeGate(t);
  const cli = new Cli(['map', tasks('gated'), '--lanes', '2', '*.txt'], {
    cwd: makeFolder(t, TEN),
    env: gate.env,
  });
  await gate.untilStarted(2);
  cli.child.kill('SIGINT');
  await cli.until(({ stderr }) => stderr.includes('press Ctrl-C again to stop now'));
  assert.match(cli.stderr, /^hotlane: interrupted: 0 done, 2 still running, 8 not started; press/m);
  gate.open();
  const { code, results, stderr } = await cli.ended;
  assert.deepEqual(
    results.map(r => r.value),
    ['0.txt', '1.txt'],
  );
  assert.deepEqual(gate.started().sort(), ['0.txt', '1.txt']);
  assert.match(stderr, /^hotlane: interrupted: 2 done, 0 failed in .*, 8 not started$/m);
  assert.equal(code, 130);
});

test('a second Ctrl-C stops now, and keeps the results that were finished', async t => {
  const gate = makeGate(t);
  const cli = new Cli(['map', tasks('gateFirst'), '--lanes', '2', '-'], { env: gate.env });
  cli.child.stdin!.write('0\na\nb\n'); // what follows the first is finished, and waits for it
  await gate.untilStarted(3);
  await gate.untilQuiet();
  cli.child.kill('SIGINT');
  await cli.until(({ stderr }) => stderr.includes('press Ctrl-C again'));
  cli.child.kill('SIGINT');
  const { code, results, stderr } = await cli.ended;
  assert.deepEqual(
    results.map(r => r.value),
    ['a', 'b'],
  );
  assert.match(stderr, /^hotlane: stopped: 2 done, 0 failed .*1 given up, the rest of stdin not read$/m);
  assert.equal(code, 130);
  assert.equal(cli.leftBehind(), false);
});

test('Ctrl-C ends a command that waits for lines on stdin', async () => {
  const cli = new Cli(['map', tasks('echo'), '-']);
  cli.child.stdin!.write('a\n');
  await cli.until(({ stdout }) => stdout.includes('"a"'));
  cli.child.kill('SIGINT');
  const { code, stderr } = await cli.ended;
  assert.match(stderr, /^hotlane: interrupted: 1 done, 0 failed in .*, the rest of stdin not read$/m);
  assert.equal(code, 130);
});

test('Ctrl-C ends a command whose module does not finish loading', async t => {
  const cwd = makeFolder(t);
  const { writeFileSync } = await import('node:fs');
  writeFileSync(
    `${cwd}/stuck.mjs`,
    "import { writeFileSync } from 'node:fs'; writeFileSync('loading', ''); await new Promise(() => setInterval(() => {}, 1e6));",
  );
  const cli = new Cli(['map', './stuck.mjs', '-'], { cwd });
  while (!existsSync(`${cwd}/loading`)) await new Promise(resolve => setTimeout(resolve, 10));
  cli.child.kill('SIGINT');
  const { code, stderr } = await cli.ended;
  assert.equal(stderr, 'hotlane: interrupted before the first input\n');
  assert.equal(code, 130);
});

test('SIGTERM stops now', async t => {
  const gate = makeGate(t);
  const cli = new Cli(['map', tasks('forever'), '--lanes', '2', '*.txt'], {
    cwd: makeFolder(t, TEN),
    env: gate.env,
  });
  await gate.untilStarted(2);
  cli.child.kill('SIGTERM');
  const { code, stdout, stderr } = await cli.ended;
  assert.equal(stdout, '');
  assert.match(stderr, /^hotlane: stopped: 0 done, 0 failed .*2 given up, 8 not started$/m);
  assert.equal(code, 143);
  assert.equal(cli.leftBehind(), false);
});

test('SIGTERM stops a function that never lets go of its thread', async t => {
  const cwd = makeFolder(t, {
    'spin.js':
      "import { writeFileSync } from 'node:fs'; export default () => { writeFileSync('spinning', ''); for (;;); };",
  });
  const cli = new Cli(['map', './spin.js', '-'], { cwd, stdin: 'a\n' });
  while (!existsSync(`${cwd}/spinning`)) await new Promise(resolve => setTimeout(resolve, 10));
  cli.child.kill('SIGTERM');
  assert.equal((await cli.ended).code, 143);
  assert.equal(cli.leftBehind(), false);
});

test('when the reader of stdout goes away it ends quietly, with the code of a broken pipe', async t => {
  const gate = makeGate(t);
  const stdin = Array.from({ length: 200_000 }, (_, i) => `${i}\n`).join('');
  const cli = new Cli(['map', tasks('logged'), '--lanes', '2', '-'], { env: gate.env, stdin }, false);
  cli.child.stdout!.once('data', () => cli.child.stdout!.destroy());
  const { code, stderr } = await cli.ended;
  assert.equal(stderr, '');
  assert.equal(code, 141);
  assert.ok(gate.started().length < 200_000, 'it went on to the end');
  assert.equal(cli.leftBehind(), false);
});

test('when the reader of stdout goes away calls that run for ever are stopped', async t => {
  const cwd = makeFolder(t, {
    'first.js': "export default x => (x === 'a' ? x : new Promise(() => setInterval(() => {}, 1e6)));",
  });
  const cli = new Cli(
    ['map', './first.js', '--lanes', '1', '--unordered', '--concurrency', '2', '-'],
    { cwd },
    false,
  );
  cli.child.stdin!.write('x\na\n');
  await new Promise<void>(resolve => cli.child.stdout!.once('data', () => resolve()));
  cli.child.stdout!.destroy();
  cli.child.stdin!.write('a\n'); // only a write can tell that nobody reads
  assert.equal((await cli.ended).code, 141);
});

test('results that cannot be written are told in one line, with exit code 1', {
  skip: !existsSync('/dev/full') && 'there is no /dev/full',
}, () => {
  const full = openSync('/dev/full', 'w');
  const { status, stderr } = spawnSync(process.execPath, [...nodeArgs, 'map', tasks('echo'), '-q', '-'], {
    stdio: ['pipe', full, 'pipe'],
    input: 'a\nb\n',
    encoding: 'utf8',
  });
  closeSync(full);
  assert.match(stderr, /^hotlane: cannot write the results: ENOSPC[^\n]*\n$/);
  assert.equal(status, 1);
});

for (const placement of ['thread', 'inline']) {
  test(`it ends by itself, also when the module holds timers: ${placement}`, async t => {
    const cwd = makeFolder(t, { 'holds.js': 'setInterval(() => {}, 1_000); export default x => x;' });
    const cli = new Cli(['map', './holds.js', '--placement', placement, '-'], { cwd, stdin: 'a\n' });
    assert.equal((await cli.ended).code, 0);
    assert.equal(cli.leftBehind(), false);
  });
}
