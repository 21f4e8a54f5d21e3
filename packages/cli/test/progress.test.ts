import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { perTime, span } from '../src/progress.ts';
import { barLine } from '../src/progress-bar.ts';
import { Rate } from '../src/rate.ts';
import { makeFolder, makeGate, nodeArgs, runCli, tasks } from './cli.ts';

const SUMMARY = /^hotlane: (\d+) done, (\d+) failed in [\d.]+ s \([\d.]+\/(s|min)\)$/m;

test('the last line on stderr counts done, failed, seconds and rate', async () => {
  const { stderr } = await runCli(['map', tasks('failOdd'), '-'], { stdin: '1\n2\n4\n' });
  assert.deepEqual(SUMMARY.exec(stderr)?.slice(1, 3), ['2', '1']);
});

test('without a terminal there is a line of progress now and then, with total and ETA for files', async t => {
  const cwd = makeFolder(t, { 1: '', 2: '', 4000: '' });
  const { stderr } = await runCli(['map', tasks('sleepMs'), '--lanes', '2', '1', '2', '4000'], { cwd });
  assert.match(stderr, /^hotlane: 2 of 3, 0 failed, [\d.]+\/(s|min), ETA \w+, 2 lanes$/m);
  assert.match(stderr, SUMMARY);
});

test('without a terminal the lines for stdin count, since there is no total', async () => {
  const { stderr } = await runCli(['map', tasks('sleepMs'), '--lanes', '1', '-'], { stdin: '1\n3000\n' });
  assert.match(stderr, /^hotlane: 1 inputs, 0 failed, [\d.]+\/(s|min), 1 lane$/m);
});

test('--quiet prints neither progress nor summary', async () => {
  const { stderr } = await runCli(['map', tasks('sleepMs'), '--quiet', '-'], { stdin: '2500\n' });
  assert.equal(stderr, '');
});

const noScript =
  spawnSync('script', ['--version']).status !== 0 &&
  'there is no `script` of util-linux to make a terminal with';
const quoted = (words: readonly string[]) =>
  words.map(word => `'${word.replaceAll("'", "'\\''")}'`).join(' ');
const command = (...args: string[]) => quoted([process.execPath, ...nodeArgs, ...args]);

/** Runs a shell's command on a terminal of its own. */
function onTerminal(line: string, env: Record<string, string> = {}) {
  const child = spawn('script', ['-qec', `stty cols 100; ${line}`, '/dev/null'], {
    env: { ...process.env, TERM: 'xterm', SHELL: '/bin/sh', ...env },
  });
  let screen = '';
  child.stdout.setEncoding('utf8').on('data', text => {
    screen += text;
  });
  const ended = new Promise<{ code: number | null; screen: string }>(resolve =>
    child.on('close', code => resolve({ code, screen })),
  );
  return { child, ended, screen: () => screen };
}

test('on a terminal a bar shows done, total, rate, ETA, failures and lanes, and leaves only the summary', {
  skip: noScript,
}, async t => {
  const cwd = makeFolder(t, { 1: '', 2: '', 1200: '' });
  const { ended } = onTerminal(
    `cd ${quoted([cwd])}; ${command('map', tasks('sleepMs'), '--lanes', '2', '1', '2', 'gone', '1200')} > out`,
  );
  const { code, screen } = await ended;
  assert.match(screen, /\[=+-+\] +75% {2}3\/4 {2}[\d.]+\/(s|min) {2}ETA \w+ {2}1 failed {2}2 lanes/);
  assert.match(screen.replace(/\r/g, ''), /\x1b\[2?Khotlane: 3 done, 1 failed in [^\n]*\n$/);
  assert.ok(
    !screen.includes('\x1b[?25l') && !screen.includes('\x1b[?7l'),
    'it changed the settings of the terminal',
  );
  assert.equal(readFileSync(join(cwd, 'out'), 'utf8').trimEnd().split('\n').length, 4);
  assert.equal(code, 1);
});

test('on a terminal results and bar do not mix', { skip: noScript }, async () => {
  const { ended } = onTerminal(`seq 200 260 | ${command('map', tasks('sleepMs'), '--lanes', '8', '-')}`);
  const { screen } = await ended;
  // What a line shows is what was printed after it was last cleared.
  const shown = screen.split('\n').map(line =>
    line
      .replace(/\r$/, '')
      .split(/\r|\x1b\[1?G|\x1b\[[0-2]?K/)
      .at(-1),
  );
  for (let n = 200; n <= 260; n++) assert.ok(shown.includes(`{"input":"${n}","value":"${n}"}`), `${n}`);
  assert.match(screen, /\d+ inputs {2}/);
});

test('Ctrl-C on a terminal drains', { skip: noScript }, async t => {
  const gate = makeGate(t);
  const cwd = makeFolder(t, { a: '', b: '', c: '' });
  const line = `cd ${quoted([cwd])}; ${command('map', tasks('gated'), '--lanes', '1', 'a', 'b', 'c')} > out; echo code $?`;
  const { child, ended, screen } = onTerminal(`trap : INT; ${line}`, gate.env);
  await gate.untilStarted(1);
  child.stdin.write('\x03');
  while (!screen().includes('press Ctrl-C again')) await new Promise(resolve => setTimeout(resolve, 10));
  gate.open();
  assert.match((await ended).screen, /interrupted: 1 done, 0 failed .*2 not started\r\ncode 130/);
  assert.equal(readFileSync(join(cwd, 'out'), 'utf8'), '{"input":"a","value":"a"}\n');
});

test('the bar fits into any terminal, and keeps the count to the last', () => {
  const draw = (share: number, size: number) => '='.repeat(Math.round(share * size)).padEnd(size, '-');
  fc.assert(
    fc.property(
      fc.record({
        done: fc.nat(1e7),
        failed: fc.nat(1e6),
        reused: fc.nat(1e6),
        running: fc.nat(100),
        more: fc.option(fc.nat(1e7)),
        lanes: fc.nat(1024),
      }),
      fc.integer({ min: 25, max: 300 }),
      ({ done, failed, reused, running, more, lanes }, columns) => {
        const rate = new Rate(0);
        rate.sample(1_000, done + failed);
        const total = more === null ? undefined : done + failed + more;
        const line = barLine({ done, failed, reused, running, total, lanes }, rate, columns, draw);
        assert.ok(line.length < columns, line);
        assert.ok(line.includes(String(done + failed)), line);
      },
    ),
  );
});

test('rates and times are short to read', () => {
  assert.deepEqual([0, 1234.5, 12, 3.42, 0.5, 0.02].map(perTime), [
    '0.0/s',
    '1235/s',
    '12/s',
    '3.4/s',
    '30/min',
    '1.2/min',
  ]);
  assert.deepEqual([0.2, 59.5, 187, 7_500].map(span), ['1s', '1m 00s', '3m 07s', '2h 05m']);
});

test('the rate is of the last seconds, and for slow work of as long as it takes to tell', () => {
  const rate = new Rate(0);
  for (let s = 1; s <= 60; s++) rate.sample(s * 1_000, s * 100); // 100/s
  for (let s = 61; s <= 120; s++) rate.sample(s * 1_000, 6_000 + (s - 60) * 10); // then 10/s
  assert.equal(rate.perSecond, 10);
  assert.equal(rate.secondsFor(50), 5);
  const slow = new Rate(0);
  for (let s = 1; s <= 7_200; s++) slow.sample(s * 1_000, Math.floor(s / 60)); // 1/min
  assert.ok(Math.abs(slow.perSecond - 1 / 60) < 1 / 300, `${slow.perSecond}`);
  assert.equal(new Rate(0).secondsFor(3), undefined);
});
