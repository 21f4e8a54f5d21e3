import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { LockHeldError, takeLock } from '../src/lock.ts';
import { Cli, makeFolder, makeGate, runCli, tasks } from './cli.ts';

const ARGS = ['map', tasks('gated'), '--lanes', '1', '--journal', 'j', '-'];

test('a second run with the same journal is refused while the first one runs, and not after it', async t => {
  const gate = makeGate(t);
  const cwd = makeFolder(t);
  const first = new Cli(ARGS, { cwd, env: gate.env, stdin: 'a\n' });
  await gate.untilStarted(1);
  const second = await runCli(ARGS, { cwd, env: gate.env, stdin: 'a\n' });
  assert.match(
    second.stderr,
    new RegExp(
      `^hotlane: the journal j is in use by process ${first.child.pid} on \\S+; wait for its end, or [^\\n]*\\n$`,
    ),
  );
  assert.deepEqual([second.code, second.stdout], [2, '']);
  gate.open();
  assert.equal((await first.ended).code, 0);
  const third = await runCli(ARGS, { cwd, env: gate.env, stdin: 'a\n' });
  assert.deepEqual(third.results, [{ input: 'a', value: 'a' }]);
  assert.equal(gate.started().length, 1);
  assert.deepEqual(readdirSync(cwd), ['j']);
});

test('a killed run does not keep its lock, and of many that come for it one gets it', async t => {
  const gate = makeGate(t);
  const cwd = makeFolder(t);
  const killed = new Cli(ARGS, { cwd, env: gate.env, stdin: 'a\n' });
  await gate.untilStarted(1);
  killed.child.kill('SIGKILL');
  await killed.ended;
  assert.ok(readdirSync(cwd).includes('j.lock'), 'expected the lock of a killed process');
  const all = Array.from({ length: 4 }, () => new Cli(ARGS, { cwd, env: gate.env, stdin: 'a\n' }));
  let refused = 0;
  for (const cli of all) void cli.ended.then(({ code }) => code === 2 && refused++);
  await gate.untilStarted(2);
  while (refused < 3) await new Promise(resolve => setTimeout(resolve, 10));
  gate.open();
  const codes = await Promise.all(all.map(async cli => (await cli.ended).code));
  assert.deepEqual(codes.sort(), [0, 2, 2, 2]);
  assert.equal(gate.started().length, 2);
  assert.deepEqual(readdirSync(cwd), ['j']);
});

/** A lock as some process left it. */
function leaveLock(path: string, owner: unknown): void {
  mkdirSync(path);
  writeFileSync(join(path, 'left'), typeof owner === 'string' ? owner : JSON.stringify(owner));
}

test('a process that was given the number of a dead one is not taken for it', t => {
  const path = join(makeFolder(t), 'lock');
  leaveLock(path, { host: hostname(), pid: process.pid, started: 'long ago' });
  takeLock(path)();
  assert.deepEqual(readdirSync(join(path, '..')), []);
});

test('a lock is held against its own process too, until it is let go of', t => {
  const path = join(makeFolder(t), 'lock');
  const letGo = takeLock(path);
  const [name] = readdirSync(path);
  const owner = JSON.parse(readFileSync(join(path, name!), 'utf8'));
  assert.deepEqual([owner.host, owner.pid], [hostname(), process.pid]);
  assert.throws(() => takeLock(path), LockHeldError);
  letGo();
  takeLock(path)();
  assert.deepEqual(readdirSync(join(path, '..')), []);
});

test('a process whose start nobody can tell is alive while its number is in use', t => {
  const path = join(makeFolder(t), 'lock');
  leaveLock(path, { host: hostname(), pid: process.pid, started: null });
  assert.throws(() => takeLock(path), LockHeldError);
});

test('the lock of another machine is never taken for one of the dead', t => {
  const path = join(makeFolder(t), 'lock');
  leaveLock(path, { host: 'another', pid: 2 ** 22 + 1, started: 'x' });
  assert.throws(
    () => takeLock(path),
    (error: LockHeldError) => error.owner.host === 'another',
  );
});

test("what a power cut leaves of a lock is in nobody's way", t => {
  for (const text of ['', '\0\0\0', '{"host":', 'null', '{}']) {
    const path = join(makeFolder(t), 'lock');
    leaveLock(path, text);
    takeLock(path)();
  }
  const path = join(makeFolder(t), 'lock');
  mkdirSync(path);
  takeLock(path)();
});

test('a file in the place of the lock is left alone', t => {
  const folder = makeFolder(t, { lock: 'mine' });
  assert.throws(() => takeLock(join(folder, 'lock')), /ENOTDIR|EEXIST/);
  assert.deepEqual(readdirSync(folder), ['lock']);
  assert.equal(readFileSync(join(folder, 'lock'), 'utf8'), 'mine');
});
