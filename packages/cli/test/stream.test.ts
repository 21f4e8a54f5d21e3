import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Cli, fixture, makeGate, runCli } from './cli.ts';

const streams = (name: string) => `${fixture('streams.js')}#${name}`;
const line = (input: string, value: unknown) => `${JSON.stringify({ input, value })}\n`;
const linesOf = (input: string, count: number) =>
  Array.from({ length: count }, (_, i) => line(input, i)).join('');

for (const name of ['upTo', 'upToLater']) {
  test(`each item is a line, in the order of the inputs and of the items: ${name}`, async () => {
    const args = ['map', streams(name), '--stream', '--lanes', '3', '-'];
    const { code, stdout, stderr } = await runCli(args, { stdin: '40\n2\n0\n3\n' });
    assert.equal(stdout, ['40', '2', '0', '3'].map(n => linesOf(n, Number(n))).join(''));
    assert.match(stderr, /^hotlane: 4 done, 0 failed, 45 items in /m);
    assert.equal(code, 0);
  });
}

for (const [name, values] of [
  ['list', ['a', 'b']],
  ['promised', [['ab', '1']]],
  ['readable', ['YWI=']],
] as const) {
  test(`what can be iterated is as good as a generator: ${name}`, async () => {
    const { stdout } = await runCli(['map', streams(name), '--stream', '-'], { stdin: 'ab\n' });
    assert.equal(stdout, values.map(value => line('ab', value)).join(''));
  });
}

test('an input whose generator throws has its items, then its error, in its place', async () => {
  const args = ['map', streams('thenThrow'), '--stream', '-'];
  const { code, results } = await runCli(args, { stdin: '1\n3\n2\n' });
  assert.deepEqual(results, [
    { input: '1', value: 0 },
    { input: '1', error: { name: 'RangeError', message: '1 is odd', code: 'ODD' } },
    { input: '3', value: 0 },
    { input: '3', value: 1 },
    { input: '3', value: 2 },
    { input: '3', error: { name: 'RangeError', message: '3 is odd', code: 'ODD' } },
    { input: '2', value: 0 },
    { input: '2', value: 1 },
  ]);
  assert.equal(code, 1);
});

test('items are written as values are, and one that cannot be ends its stream', async () => {
  const args = ['map', streams('odd'), '--stream', '-'];
  const { results } = await runCli(args, { stdin: 'a\nloop\npromise\n' });
  assert.deepEqual(
    results.map(r => r.value ?? r.error?.message ?? null),
    [
      { bytes: 'AQ==' },
      null,
      { bytes: 'AQ==' },
      null,
      'the result cannot be written as JSON: it contains itself',
      { bytes: 'AQ==' },
      null,
      'an item is a promise; make the function an async generator, which awaits its items',
    ],
  );
});

test('a function that throws before it gives anything fails its input', async () => {
  const { code, results } = await runCli(['map', streams('throwAtOnce'), '--stream', '-'], { stdin: 'a\n' });
  assert.deepEqual(results, [{ input: 'a', error: { name: 'TypeError', message: 'at once' } }]);
  assert.equal(code, 1);
});

test('a function that is no generator fails its inputs, and the message says what was expected', async () => {
  const { code, results } = await runCli(['map', streams('letters'), '--stream', '-'], { stdin: 'a\nb\n' });
  for (const { error } of results) {
    assert.equal(error.code, 'ERR_HOTLANE_NO_FUNCTION');
    assert.match(error.message, /^`letters` .* expected a generator, or something else that can be iterated/);
  }
  assert.equal(results.length, 2);
  assert.equal(code, 1);
});

for (const name of ['upTo', 'upToLater', 'readable']) {
  test(`without --stream a generator's input fails, with a hint: ${name}`, async () => {
    const { code, results } = await runCli(['map', streams(name), '-'], { stdin: '1\n' });
    assert.match(results[0].error.message, /is a generator or a stream; give --stream /);
    assert.equal(code, 1);
  });
}

test('a lane that dies ends its stream after the items that came, and the others go on', async () => {
  const args = ['map', streams('crash'), '--stream', '--lanes', '1', '-'];
  const { code, results } = await runCli(args, { stdin: 'a\ncrash\nb\n' });
  assert.deepEqual(
    results.filter(r => r.input !== 'crash').map(r => r.value),
    [1, 1],
  );
  const ends = results.filter(r => r.input === 'crash');
  assert.equal(ends.at(-1).error.code, 'ERR_HOTLANE_LANE_LOST');
  assert.equal(results.at(-1).input, 'b');
  assert.equal(code, 1);
});

test('with --unordered items come as they are given, and those of one input in order', async t => {
  const gate = makeGate(t);
  const args = ['map', streams('gateFirst'), '--stream', '--unordered', '--lanes', '2', '-'];
  const cli = new Cli(args, { env: gate.env, stdin: '0\na\n' });
  const all = (input: string) =>
    Array.from({ length: 20_000 }, (_, i) => line(input, `${input} ${i}`)).join('');
  await cli.until(({ stdout }) => stdout.endsWith(line('a', 'a 19999')));
  assert.ok(cli.stdout === all('a'));
  gate.open();
  const { code, stdout } = await cli.ended;
  assert.ok(stdout === all('a') + all('0'));
  assert.equal(code, 0);
});

test('in order, an input whose turn has not come gives a bounded number of items, and all in the end', async t => {
  const gate = makeGate(t);
  const args = ['map', streams('gateFirst'), '--stream', '--lanes', '3', '-q', '-'];
  const cli = new Cli(args, { env: gate.env, stdin: '0\na\nb\n' });
  const given = await gate.untilQuiet();
  assert.ok(given.length <= 2 * 2 * 1_025, `${given.length} items were given by two inputs`);
  assert.ok(given.length > 1_024, 'they do not run ahead at all');
  assert.equal(cli.stdout, '');
  gate.open();
  const { code, stdout } = await cli.ended;
  const all = (input: string) =>
    Array.from({ length: 20_000 }, (_, i) => line(input, `${input} ${i}`)).join('');
  assert.ok(stdout === all('0') + all('a') + all('b'));
  assert.equal(code, 0);
});

for (const order of [[], ['--unordered']]) {
  test(`while nobody reads stdout no more items are given ${order}`, async t => {
    const gate = makeGate(t);
    const args = ['map', streams('endless'), '--stream', ...order, '--lanes', '2', '-'];
    const cli = new Cli(args, { env: gate.env, stdin: 'a\nb\n' }, false);
    const given = await gate.untilQuiet();
    assert.ok(given.length < 2 * 3 * 1_024, `${given.length} items of 1 kB were given with nobody reading`);
    let bytes = 0;
    await new Promise<void>(resolve =>
      cli.child.stdout!.on('data', chunk => {
        bytes += chunk.length;
        if (bytes > 20_000_000) resolve();
      }),
    );
    cli.child.kill('SIGTERM');
    assert.equal((await cli.ended).code, 143);
  });
}

test('Ctrl-C lets streams finish, and starts no others', async t => {
  const gate = makeGate(t);
  const cli = new Cli(['map', streams('gated'), '--stream', '--lanes', '1', '-'], { env: gate.env });
  cli.child.stdin!.write('a\nb\n');
  await cli.until(({ stdout }) => stdout.includes(line('a', 1)));
  cli.child.kill('SIGINT');
  await cli.until(({ stderr }) => stderr.includes('press Ctrl-C again'));
  gate.open();
  const { code, stdout, stderr } = await cli.ended;
  assert.equal(stdout, line('a', 1) + line('a', 2));
  assert.deepEqual(gate.started(), ['a', 'a ended']);
  assert.match(
    stderr,
    /^hotlane: interrupted: 1 done, 0 failed, 2 items in .*, the rest of stdin not read$/m,
  );
  assert.equal(code, 130);
});

for (const [how, code] of [
  ['SIGTERM', 143],
  ['a second Ctrl-C', 130],
] as const) {
  test(`${how} gives streams up: what they gave is written, and their generators run their finally`, async t => {
    const gate = makeGate(t);
    const cli = new Cli(['map', streams('endless'), '--stream', '--json', '--lanes', '2', '-'], {
      env: gate.env,
    });
    cli.child.stdin!.write('a\nb\n');
    await cli.until(({ stdout }) => stdout.length > 1_000_000);
    while (!gate.started().includes('b')) await new Promise(resolve => setTimeout(resolve, 10));
    if (code === 143) cli.child.kill('SIGTERM');
    else {
      cli.child.kill('SIGINT');
      await cli.until(({ stderr }) => stderr.includes('press Ctrl-C again'));
      cli.child.kill('SIGINT');
    }
    const ended = await cli.ended;
    assert.equal(ended.code, code);
    assert.ok(ended.stdout.endsWith('}\n'));
    assert.ok(gate.started().includes('a ended') && gate.started().includes('b ended'));
    const { done, failed, givenUp, items } = JSON.parse(ended.stderr.trimEnd().split('\n').at(-1)!);
    assert.deepEqual(
      { done, failed, givenUp, items },
      { done: 0, failed: 0, givenUp: 2, items: ended.results.length },
    );
    assert.equal(cli.leftBehind(), false);
  });
}

test('SIGTERM ends a generator that holds its thread', async t => {
  const gate = makeGate(t);
  const cli = new Cli(['map', streams('stuck'), '--stream', '-'], { env: gate.env, stdin: 'a\n' });
  await gate.untilStarted(1);
  cli.child.kill('SIGTERM');
  assert.equal((await cli.ended).code, 143);
  assert.equal(cli.leftBehind(), false);
});

test('when the reader of stdout goes away endless streams end, with their finally', async t => {
  const gate = makeGate(t);
  const args = ['map', streams('endless'), '--stream', '--lanes', '2', '-'];
  const cli = new Cli(args, { env: gate.env, stdin: 'a\nb\n' }, false);
  await gate.untilStarted(500);
  cli.child.stdout!.once('data', () => cli.child.stdout!.destroy());
  const { code, stderr } = await cli.ended;
  assert.equal(stderr, '');
  assert.equal(code, 141);
  assert.ok(gate.started().includes('a ended'));
  assert.equal(cli.leftBehind(), false);
});

test('a deadline is for the whole stream of an input: its items come, then the error', async () => {
  const args = ['map', streams('slowSecond'), '--stream', '--lanes', '1', '--deadline', '1s', '-'];
  const { code, results } = await runCli(args, { stdin: 'a\nslow\nb\n' });
  assert.deepEqual(
    results.map(r => [r.input, r.value ?? r.error.code]),
    [
      ['a', 1],
      ['a', 2],
      ['slow', 1],
      ['slow', 'ERR_HOTLANE_DEADLINE'],
      ['b', 1],
      ['b', 2],
    ],
  );
  assert.equal(code, 1);
});

test('--json counts the items', async () => {
  const args = ['map', streams('thenThrow'), '--stream', '--json', '-'];
  const { stderr } = await runCli(args, { stdin: '3\n2\n' });
  const { done, failed, items, latencyMs } = JSON.parse(stderr.trimEnd());
  assert.deepEqual({ done, failed, items }, { done: 1, failed: 1, items: 5 });
  assert.ok(latencyMs.p50 > 0);
});

test('in placement inline streams work too', async () => {
  const args = ['map', streams('upTo'), '--stream', '--placement', 'inline', '-'];
  const { code, stdout } = await runCli(args, { stdin: '3000\n2\n' });
  assert.ok(stdout === linesOf('3000', 3_000) + linesOf('2', 2));
  assert.equal(code, 0);
});
