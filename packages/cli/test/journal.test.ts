import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Cli, fixture, makeFolder, makeGate, nodeArgs, runCli, tasks } from './cli.ts';

const linesOf = (path: string) => readFileSync(path, 'utf8').split('\n').slice(0, -1);

test('the same command again gives the same output, and runs nothing', async t => {
  const { env, started } = makeGate(t);
  const cwd = makeFolder(t);
  const args = ['map', tasks('unique'), '--lanes', '2', '--journal', 'j', '-'];
  const stdin = 'a\n\nb\nä "quoted" \u2028\n';
  const first = await runCli(args, { cwd, env, stdin });
  const again = await runCli(args, { cwd, env, stdin });
  assert.equal(again.stdout, first.stdout);
  assert.equal(started().length, 4);
  assert.equal(linesOf(join(cwd, 'j')).length, 5);
  assert.match(again.stderr, /^hotlane: 4 done \(4 from the journal\), 0 failed in /m);
  assert.deepEqual([first.code, again.code], [0, 0]);
  assert.deepEqual(readdirSync(cwd), ['j'], 'it left a file behind');
});

test('inputs that failed are done again, those that did not are not', async t => {
  const { env, started } = makeGate(t);
  const cwd = makeFolder(t);
  const args = ['map', tasks('flaky'), '--journal', 'j', '-'];
  const stdin = 'a:0\nb:1\nc:0\n';
  const first = await runCli(args, { cwd, env, stdin });
  assert.match(first.results[1].error.message, /call 1 failed/);
  const again = await runCli(args, { cwd, env, stdin });
  assert.deepEqual(again.results, [
    { input: 'a:0', value: 1 },
    { input: 'b:1', value: 2 },
    { input: 'c:0', value: 1 },
  ]);
  assert.deepEqual(started().sort(), ['a:0', 'b:1', 'b:1', 'c:0']);
  assert.deepEqual([first.code, again.code], [1, 0]);
});

test('how many calls an input took is told again', async t => {
  const { env } = makeGate(t);
  const cwd = makeFolder(t);
  const args = ['map', tasks('flaky'), '--retries', '1', '--journal', 'j', '-'];
  await runCli(args, { cwd, env, stdin: 'a:1\n' });
  const { results } = await runCli(args, { cwd, env, stdin: 'a:1\n' });
  assert.deepEqual(results, [{ input: 'a:1', value: 2, attempts: 2 }]);
});

test('an input that is given several times has a result for each time, whatever stands between', async t => {
  const { env, started } = makeGate(t);
  const cwd = makeFolder(t);
  const args = ['map', tasks('unique'), '--lanes', '2', '--journal', 'j', '-'];
  const first = await runCli(args, { cwd, env, stdin: 'a\nb\na\na\n' });
  const [a1, b1, a2, a3] = first.results;
  const { results } = await runCli(args, { cwd, env, stdin: 'x\na\na\nb\na\nb\na\n' });
  assert.deepEqual([results[1], results[2], results[3], results[4]], [a1, a2, b1, a3]);
  assert.deepEqual(started().slice(4).sort(), ['a', 'b', 'x']);
  assert.deepEqual(
    results.map(r => r.input),
    ['x', 'a', 'a', 'b', 'a', 'b', 'a'],
  );
});

test('files that were added or have gone since do no harm', async t => {
  const { env, started } = makeGate(t);
  const cwd = makeFolder(t, { 'b.txt': '', 'c.txt': '', 'd.txt': '' });
  const args = ['map', tasks('unique'), '--journal', 'j', '*.txt'];
  const [, c, d] = (await runCli(args, { cwd, env })).results;
  rmSync(join(cwd, 'b.txt'));
  writeFileSync(join(cwd, 'a.txt'), '');
  const { results } = await runCli(args, { cwd, env });
  assert.deepEqual(
    results.map(r => r.input),
    ['a.txt', 'c.txt', 'd.txt'],
  );
  assert.deepEqual(results.slice(1), [c, d]);
  assert.deepEqual(started().slice(3), ['a.txt']);
});

test('a file that has a result need not be there any more', async t => {
  const { env } = makeGate(t);
  const cwd = makeFolder(t, { a: '' });
  const args = ['map', tasks('unique'), '--journal', 'j', 'a'];
  const first = await runCli(args, { cwd, env });
  rmSync(join(cwd, 'a'));
  const again = await runCli(args, { cwd, env });
  assert.equal(again.stdout, first.stdout);
  assert.equal(again.code, 0);
});

test('a line that is not UTF-8 does not take the result of one that looks like it', async t => {
  const cwd = makeFolder(t);
  const args = ['map', tasks('echo'), '-q', '--journal', 'j', '-'];
  await runCli(args, { cwd, stdin: 'z\ufffdwei\n' });
  const { results } = await runCli(args, {
    cwd,
    stdin: Buffer.from('z\xffwei\nz\xef\xbf\xbdwei\n', 'latin1'),
  });
  assert.equal(results[0].error.code, 'EILSEQ');
  assert.equal(results[1].value, 'z\ufffdwei');
});

test('with --unordered what the journal holds does not wait for what runs', async t => {
  const gate = makeGate(t);
  const cwd = makeFolder(t);
  const args = ['map', tasks('gated'), '--lanes', '2', '--unordered', '--journal', 'j', '-'];
  gate.open();
  await runCli(args, { cwd, env: gate.env, stdin: 'b\nc\n' });
  gate.close();
  const cli = new Cli(args, { cwd, env: gate.env, stdin: 'a\nb\nc\n' });
  await cli.until(({ stdout }) => stdout.includes('"c"'));
  gate.open();
  assert.deepEqual(
    (await cli.ended).results.map(r => r.input),
    ['b', 'c', 'a'],
  );
});

test('the journal holds results that wait in memory for a slower one before them', async t => {
  const gate = makeGate(t);
  const cwd = makeFolder(t);
  const args = ['map', tasks('gateFirst'), '--lanes', '2', '--journal', 'j', '-'];
  const cli = new Cli(args, { cwd, env: gate.env, stdin: '0\na\nb\n' });
  while (!existsSync(join(cwd, 'j')) || linesOf(join(cwd, 'j')).length < 3)
    await new Promise(resolve => setTimeout(resolve, 10));
  assert.equal(cli.stdout, '');
  cli.child.kill('SIGKILL');
  await cli.ended;
  gate.open();
  const { results } = await runCli(args, { cwd, env: gate.env, stdin: '0\na\nb\n' });
  assert.deepEqual(
    results.map(r => r.value),
    ['0', 'a', 'b'],
  );
  assert.deepEqual(gate.started().sort(), ['0', '0', 'a', 'b']);
});

/** A journal of `echo` with three results, and the command that goes on with it. */
async function makeJournal(t: Parameters<typeof makeFolder>[0]) {
  const cwd = makeFolder(t);
  const path = join(cwd, 'j');
  const run = (name = 'echo', folder = cwd) =>
    runCli(['map', tasks(name), '-q', '--journal', path, '-'], { cwd: folder, stdin: 'a\nb\nc\n' });
  await run();
  const text = readFileSync(path, 'utf8');
  return { cwd, path, run, text, lines: text.split('\n').slice(0, -1) };
}

/** Runs, and expects one line on stderr, exit code 2, and the journal left as it is. */
async function expectRefusal(
  { path, run }: Awaited<ReturnType<typeof makeJournal>>,
  line: RegExp,
  ...args: Parameters<typeof run>
) {
  const before = readFileSync(path, 'utf8');
  const { code, stdout, stderr } = await run(...args);
  assert.match(stderr, /^hotlane: [^\n]*\n$/, 'expected one line on stderr');
  assert.match(stderr, line);
  assert.equal(stdout, '');
  assert.equal(code, 2);
  assert.equal(readFileSync(path, 'utf8'), before, 'it changed the journal');
  assert.equal(existsSync(`${path}.lock`), false, 'it left its lock');
}

test('the journal of another function is refused, with a line that names both', async t => {
  const line =
    /the journal \S*j holds results of file:\S*#echo, expected file:\S*#default; name another file/;
  await expectRefusal(await makeJournal(t), line, 'default');
});

test('the journal of another directory is refused, since relative inputs mean other files there', async t => {
  const journal = await makeJournal(t);
  const other = makeFolder(t);
  const line =
    /holds results from the directory (\S+), expected (\S+), where relative .*; run it there, name/;
  await expectRefusal(journal, line, 'echo', other);
});

test('the journal of a later hotlane is refused', async t => {
  const journal = await makeJournal(t);
  writeFileSync(journal.path, journal.text.replace('"format":1', '"format":2'));
  await expectRefusal(journal, /has format 2, expected 1, .*; name another file .*, or use the hotlane that/);
});

test('a journal whose first line is damaged is refused, and nothing is cut off', async t => {
  const journal = await makeJournal(t);
  for (const text of [journal.text.slice(1), `\n${journal.text}`, 'no line end', '\0\0\0', '[]\n']) {
    writeFileSync(journal.path, text);
    await expectRefusal(journal, /is not a journal: expected its first line to begin with .*, got "/);
  }
});

test('a damaged line in the middle is an error with its number and what to do', async t => {
  const journal = await makeJournal(t);
  const [header, a, b, c] = journal.lines;
  for (const damaged of [
    b!.slice(0, -3),
    '',
    '{"nth":1,"input":"b"}',
    '{"nth":1,"input":2,"value":2}',
    '{"nth":"1","input":"b","value":2}',
    `${b}${b}`,
    '\0\0\0',
    `${header}`,
  ]) {
    writeFileSync(journal.path, [header, a, damaged, c, ''].join('\n'));
    await expectRefusal(
      journal,
      /line 3 of the journal \S*j is damaged: expected .*, got .*; delete the line/,
    );
  }
  writeFileSync(
    journal.path,
    Buffer.from([header, a, b!.replace('"b"}', '"\xff"}'), c, ''].join('\n'), 'latin1'),
  );
  const { code } = await journal.run();
  assert.equal(code, 2, 'bytes that are no text went unseen');
});

test('what is unreadable at the end is cut off with a line on stderr, and done again', async t => {
  const { path, run, text, lines } = await makeJournal(t);
  for (const tail of ['{"nth":1,"inp', '\0\0\0\0', '{}\n{"nth":', lines[3]!]) {
    writeFileSync(path, `${lines.slice(0, 3).join('\n')}\n${tail}`);
    const { code, results, stderr } = await run();
    const line = `cut off the last ${tail.length} bytes of the journal ${path}: no whole results; they are done again`;
    assert.equal(stderr, `hotlane: ${line}\n`);
    assert.equal(results.length, 3);
    assert.equal(readFileSync(path, 'utf8'), text);
    assert.equal(code, 0);
  }
});

test('a line that is deleted from the journal is done again', async t => {
  const { path, run, lines } = await makeJournal(t);
  writeFileSync(path, [lines[0], lines[1], lines[3], ''].join('\n'));
  const { code, results } = await run();
  assert.deepEqual([code, results.length], [0, 3]);
  assert.deepEqual(linesOf(path), [lines[0], lines[1], lines[3], lines[2]]);
});

test('when nothing could be run there is no journal', async t => {
  const cwd = makeFolder(t);
  const { code } = await runCli(['map', fixture('throws.js'), '--journal', 'j', '-'], { cwd, stdin: 'a\n' });
  assert.equal(code, 2);
  assert.deepEqual(readdirSync(cwd), []);
});

test('the file that stdout goes to is refused as a journal', async t => {
  const { spawnSync } = await import('node:child_process');
  const { closeSync, openSync } = await import('node:fs');
  const path = join(makeFolder(t), 'j');
  const out = openSync(path, 'a');
  const { status, stderr } = spawnSync(
    process.execPath,
    [...nodeArgs, 'map', tasks('echo'), '--journal', path, '-'],
    { stdio: ['pipe', out, 'pipe'], input: 'a\n', encoding: 'utf8' },
  );
  closeSync(out);
  assert.match(
    stderr,
    /^hotlane: the journal \S*j is the file that stdout goes to; give each a file of its own\n$/,
  );
  assert.equal(readFileSync(path, 'utf8'), '');
  assert.equal(status, 2);
});

test('a journal that cannot be written ends the run with one line, and can be gone on with', async t => {
  const { spawnSync } = await import('node:child_process');
  const gate = makeGate(t);
  const cwd = makeFolder(t);
  mkdirSync(join(cwd, 'out'));
  const input = Array.from({ length: 100 }, (_, i) => `${i}\n`).join('');
  const args = [...nodeArgs, 'map', tasks('bulky'), '-q', '--journal', 'j', '-']; // 50 kB each
  const words = [process.execPath, ...args].map(word => `'${word}'`).join(' ');
  const { status, stderr } = spawnSync('sh', ['-c', `ulimit -f 400; exec ${words}`], {
    cwd,
    env: { ...process.env, ...gate.env },
    input,
    encoding: 'utf8',
  });
  assert.match(stderr, /^hotlane: cannot write the journal j: EFBIG[^\n]*\n$/);
  assert.equal(status, 1);
  const started = gate.started().length;
  assert.ok(started < 100, 'it went on to the end');
  const { code, results } = await runCli(['map', tasks('bulky'), '--journal', 'j', '-'], {
    cwd,
    env: gate.env,
    stdin: input,
  });
  assert.deepEqual([code, results.length], [0, 100]);
  assert.ok(gate.started().length < started + 100, 'nothing was taken from the journal');
});
