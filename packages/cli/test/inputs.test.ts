import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Cli, fixture, makeFolder, makeGate, nodeArgs, runCli, tasks } from './cli.ts';

const inputsOf = (results: any[]) => results.map(r => r.input);

test('a glob gives the files that match, sorted and each once', async t => {
  const cwd = makeFolder(t, { 'b.txt': '', 'a.txt': '', 'c.md': '' });
  mkdirSync(join(cwd, 'sub.txt'));
  writeFileSync(join(cwd, 'sub.txt', 'd.txt'), '');
  const { results } = await runCli(['map', tasks('echo'), '*.txt', '**/*.txt', './a.*'], { cwd });
  assert.deepEqual(inputsOf(results), ['a.txt', 'b.txt', 'sub.txt/d.txt']);
});

test('an absolute glob gives absolute paths', async t => {
  const cwd = makeFolder(t, { 'a.txt': '' });
  const { results } = await runCli(['map', tasks('echo'), join(cwd, '*.txt')]);
  assert.deepEqual(inputsOf(results), [join(cwd, 'a.txt')]);
});

test("a '!glob' leaves files out of the globs", async t => {
  const cwd = makeFolder(t, { 'a.txt': '', 'b.txt': '' });
  const { results } = await runCli(['map', tasks('echo'), '*.txt', '!b.*'], { cwd });
  assert.deepEqual(inputsOf(results), ['a.txt']);
});

test('paths are passed as they were given, in their order, as often as they were given', async t => {
  const cwd = makeFolder(t, { 'b.txt': 'bb', 'a.txt': 'a' });
  const { code, results } = await runCli(['map', tasks('size'), './b.txt', 'a.txt', './b.txt'], { cwd });
  assert.deepEqual(results, [
    { input: './b.txt', value: 2 },
    { input: 'a.txt', value: 1 },
    { input: './b.txt', value: 2 },
  ]);
  assert.equal(code, 0);
});

test('a file whose name looks like a glob is taken for the file', async t => {
  const cwd = makeFolder(t, { '[id].txt': 'x', 'i.txt': '' });
  const { results } = await runCli(['map', tasks('size'), '[id].txt'], { cwd });
  assert.deepEqual(results, [{ input: '[id].txt', value: 1 }]);
});

test('a missing file fails in its place, with one clear line', async t => {
  const cwd = makeFolder(t, { 'a.txt': 'a' });
  const { code, results, stderr } = await runCli(
    ['map', tasks('size'), '-q', 'a.txt', 'gone.txt', './a.txt'],
    { cwd },
  );
  assert.deepEqual(
    results.map(r => r.value ?? r.error.code),
    [1, 'ENOENT', 1],
  );
  assert.match(stderr, /^hotlane: gone\.txt: no such file[^\n]*\n$/);
  assert.equal(code, 1);
});

test('a directory fails in its place, and the line says how to name the files in it', async t => {
  const cwd = makeFolder(t);
  mkdirSync(join(cwd, 'dir'));
  const { code, results, stderr } = await runCli(['map', tasks('size'), '-q', 'dir/'], { cwd });
  assert.equal(results[0].error.code, 'EISDIR');
  assert.equal(stderr, "hotlane: dir/: is a directory; use 'dir/**' to name the files in it\n");
  assert.equal(code, 1);
});

test('a file that may not be read fails in its place, with one clear line', async t => {
  const root = process.getuid?.() === 0;
  const cwd = makeFolder(t, { 'secret.txt': '', 'echo.mjs': 'export default x => x;' });
  chmodSync(cwd, 0o755);
  chmodSync(join(cwd, 'secret.txt'), 0);
  const { code, results, stderr } = await runCli(['map', './echo.mjs', '-q', 'secret.txt'], {
    cwd,
    uid: root ? 65_534 : undefined,
  });
  assert.equal(results[0]?.error.code, 'EACCES', stderr);
  assert.equal(stderr, 'hotlane: secret.txt: may not be read; permission denied\n');
  assert.equal(code, 1);
});

test('a link that points nowhere fails as missing', async t => {
  const cwd = makeFolder(t);
  symlinkSync('nowhere', join(cwd, 'link'));
  const { code, results } = await runCli(['map', tasks('size'), 'link'], { cwd });
  assert.equal(results[0].error.code, 'ENOENT');
  assert.equal(code, 1);
});

test('many bad inputs do not fill the terminal', async () => {
  const names = Array.from({ length: 50 }, (_, i) => `gone-${i}`);
  const { results, stderr } = await runCli(['map', tasks('size'), '-q', ...names]);
  assert.deepEqual(
    results.map(r => r.error.code),
    Array(50).fill('ENOENT'),
  );
  assert.equal(stderr.trimEnd().split('\n').length, 11);
});

test('each line on stdin is an input: empty ones, ones that end in CRLF, and a last one without an end', async () => {
  const { code, results } = await runCli(['map', tasks('echo'), '-'], {
    stdin: 'a\r\n\nb\rc\n  d \r\n\r\ne',
  });
  assert.deepEqual(inputsOf(results), ['a', '', 'b\rc', '  d ', '', 'e']);
  assert.equal(code, 0);
});

test('an empty stdin is no inputs, and that is fine', async () => {
  const { code, stdout } = await runCli(['map', tasks('echo'), '-'], { stdin: '' });
  assert.equal(stdout, '');
  assert.equal(code, 0);
});

test('a line that is not UTF-8 fails in its place, with its number and the byte', async () => {
  const stdin = Buffer.from('eins\nz\xffwei\ndrei\n', 'latin1');
  const { code, results, stderr } = await runCli(['map', tasks('echo'), '-q', '-'], { stdin });
  assert.deepEqual(
    results.map(r => r.value ?? r.error.code),
    ['eins', 'EILSEQ', 'drei'],
  );
  assert.equal(stderr, 'hotlane: line 2 is not valid UTF-8: 0xff at byte 6 of stdin\n');
  assert.equal(code, 1);
});

test('results come while stdin is still open', async () => {
  const cli = new Cli(['map', tasks('echo'), '-']);
  cli.child.stdin!.write('first\n');
  await cli.until(({ stdout }) => stdout.includes('"first"'));
  cli.child.stdin!.write('second\n');
  await cli.until(({ stdout }) => stdout.includes('"second"'));
  cli.child.stdin!.end();
  assert.equal((await cli.ended).code, 0);
});

test('200,000 lines: while one call is slow only a bounded number run ahead of it, then all come in order', async t => {
  const count = 200_000;
  const gate = makeGate(t);
  const stdin = Array.from({ length: count }, (_, i) => `${i}\n`).join('');
  const cli = new Cli(['map', tasks('gateFirst'), '--lanes', '2', '-q', '-'], { env: gate.env, stdin });
  const ahead = await gate.untilQuiet();
  assert.ok(ahead.length <= 4_096 + 256 + 2, `${ahead.length} calls ran while the first one was waiting`);
  assert.equal(cli.stdout, '', 'a result came before the first');
  gate.open();
  const { code, stdout } = await cli.ended;
  assert.ok(stdout === Array.from({ length: count }, (_, i) => `{"input":"${i}","value":"${i}"}\n`).join(''));
  assert.equal(code, 0);
});

test('while nobody reads stdout no more inputs are taken', async t => {
  const gate = makeGate(t);
  const stdin = Array.from({ length: 2_000 }, (_, i) => `${i}\n`).join(''); // 100 MB of results
  const cli = new Cli(['map', tasks('bulky'), '--lanes', '2', '-q', '-'], { env: gate.env, stdin }, false);
  const before = await gate.untilQuiet();
  assert.ok(before.length < 400, `${before.length} calls ran with nobody reading`);
  let bytes = 0;
  cli.child.stdout!.on('data', chunk => {
    bytes += chunk.length;
  });
  assert.equal((await cli.ended).code, 0);
  assert.ok(bytes > 2_000 * 50_000);
});

test('stdin that is a directory is refused', async () => {
  const { spawnSync } = await import('node:child_process');
  const { openSync, closeSync } = await import('node:fs');
  const folder = openSync(fixture('.'), 'r');
  const { status, stderr } = spawnSync(process.execPath, [...nodeArgs, 'map', tasks('echo'), '-'], {
    stdio: [folder, 'pipe', 'pipe'],
    encoding: 'utf8',
  });
  closeSync(folder);
  assert.equal(stderr, 'hotlane: stdin is a directory; expected lines of text\n');
  assert.equal(status, 2);
});
