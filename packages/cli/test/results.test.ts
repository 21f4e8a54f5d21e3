import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fixture, makeFolder, runCli, tasks } from './cli.ts';

test('results are one JSON line for each input, in the order of the inputs', async () => {
  const stdin = '80\n5\n40\n1\n';
  const { code, stdout } = await runCli(['map', tasks('sleepMs'), '--lanes', '4', '-'], { stdin });
  assert.equal(stdout, ['80', '5', '40', '1'].map(n => `{"input":"${n}","value":"${n}"}\n`).join(''));
  assert.equal(code, 0);
});

test('with --unordered all results come, a slow one behind those that were faster', async () => {
  const stdin = '700\n1\n2\n3\n';
  const { code, results } = await runCli(['map', tasks('sleepMs'), '--lanes', '2', '--unordered', '-'], {
    stdin,
  });
  assert.deepEqual(
    results.map(r => r.input),
    ['1', '2', '3', '700'],
  );
  assert.equal(code, 0);
});

test('an input whose function throws has its error in its place, and the exit code is 1', async () => {
  const { code, results } = await runCli(['map', tasks('failOdd'), '-'], { stdin: '2\n3\n4\n' });
  assert.deepEqual(results, [
    { input: '2', value: 2 },
    { input: '3', error: { name: 'RangeError', message: '3 is odd', code: 'ODD' } },
    { input: '4', value: 4 },
  ]);
  assert.equal(code, 1);
});

for (const [thrown, message] of [
  ['throwText', 'just a text'],
  ['throwSymbol', 'threw Symbol(mark)'],
] as const) {
  test(`what is thrown need not be an error: ${thrown}`, async () => {
    const { code, results } = await runCli(['map', tasks(thrown), '-'], { stdin: 'a\n' });
    assert.deepEqual(results, [{ input: 'a', error: { name: 'Error', message } }]);
    assert.equal(code, 1);
  });
}

test('a lane that dies fails the call it ran, and the others go on', async () => {
  const { code, results } = await runCli(['map', tasks('crash'), '--lanes', '1', '-'], {
    stdin: 'a\ncrash\nb\n',
  });
  assert.deepEqual(
    results.map(r => r.value ?? r.error.code),
    ['a', 'ERR_HOTLANE_LANE_LOST', 'b'],
  );
  assert.match(results[1].error.message, /`crash`/);
  assert.equal(code, 1);
});

const VALUES: [name: string, value: unknown][] = [
  ['undefined', null],
  ['null', null],
  ['bigint', '12345678901234567890'],
  ['map', [['a', 1]]],
  ['set', [1, 2]],
  ['bytes', 'AQL/'],
  ['buffer', 'aGk='],
  ['floats', [1.5, 2]],
  ['date', '1970-01-01T00:00:00.000Z'],
  ['url', 'http://localhost/x'],
  ['function', null],
  ['symbol', null],
  ['regexp', '/a+/g'],
  ['nan', null],
  ['error', { name: 'TypeError', message: 'inner' }],
  ['nested', { map: [['a', 1]], list: ['1', null] }],
  ['lone', '\ud800'],
  ['line', 'a\nb\u2028'],
];

test('values that JSON cannot hold are written as what the help says', async () => {
  const stdin = VALUES.map(([name]) => `${name}\n`).join('');
  const { code, stdout, results } = await runCli(['map', tasks('value'), '-'], { stdin });
  assert.deepEqual(
    results,
    VALUES.map(([input, value]) => ({ input, value })),
  );
  assert.equal(stdout.trimEnd().split('\n').length, VALUES.length, 'a value took more than one line');
  assert.equal(code, 0);
});

test('a value that contains itself fails its input only', async () => {
  const { code, results } = await runCli(['map', tasks('value'), '-'], { stdin: 'loop\nnull\nmapLoop\n' });
  assert.match(results[0].error.message, /contains itself/);
  assert.equal(results[1].value, null);
  assert.match(results[2].error.message, /contains itself/);
  assert.equal(code, 1);
});

for (const placement of ['thread', 'inline']) {
  test(`what a function prints goes to stderr: ${placement}`, async () => {
    const { stdout, stderr } = await runCli(['map', tasks('printLine'), '--placement', placement, '-'], {
      stdin: 'a\n',
    });
    assert.equal(stdout, '{"input":"a","value":"a"}\n');
    assert.match(stderr, /^printed a$/m);
  });
}

test('what a function in a thread writes to process.stdout goes to stderr too', async () => {
  const { stdout, stderr } = await runCli(['map', tasks('writeLine'), '-'], { stdin: 'a\n' });
  assert.equal(stdout, '{"input":"a","value":"a"}\n');
  assert.match(stderr, /^written a$/m);
});

test('--deadline fails a call that takes longer, with an error that names the function', async () => {
  const args = ['map', tasks('untilAborted'), '--lanes', '1', '--deadline', '200ms', '-'];
  const { code, results } = await runCli(args, { stdin: 'a\nb\n' });
  for (const { error } of results) {
    assert.equal(error.code, 'ERR_HOTLANE_DEADLINE');
    assert.match(error.message, /`untilAborted`.* 200 ms/);
  }
  assert.deepEqual(
    results.map(r => r.input),
    ['a', 'b'],
  );
  assert.equal(code, 1);
});

test('a deadline does not count the time that an input waits for a free lane', async () => {
  const stdin = '300\n'.repeat(8); // on one lane the last one ends at eight times that
  const args = ['map', tasks('sleepMs'), '--lanes', '1', '--deadline', '1500', '-'];
  const { code, results } = await runCli(args, { stdin });
  assert.deepEqual(results, Array(8).fill({ input: '300', value: '300' }));
  assert.equal(code, 0);
});

test('a function that never returns does not take the deadlines of those after it with it', async t => {
  const folder = makeFolder(t, {
    'spin-first.js': "export default x => { if (x === 'spin') for (;;); return x; };",
  });
  const args = ['map', './spin-first.js', '--lanes', '1', '--deadline', '500ms', '-'];
  const { results } = await runCli(args, { stdin: 'spin\na\nb\n', cwd: folder });
  assert.deepEqual(
    results.map(r => r.value ?? r.error.code),
    ['ERR_HOTLANE_DEADLINE', 'a', 'b'],
  );
});

test('--concurrency runs several calls at once in one lane', async t => {
  const folder = makeFolder(t, {
    // The first call returns only once the second has begun.
    'pair.js': `let begin; const second = new Promise(resolve => { begin = resolve; });
      export default async x => { if (x === 'a') await second; else begin(); return x; };`,
  });
  const args = ['map', 'pair.js', '--lanes', '1', '--concurrency', '2', '-'];
  const { code, results } = await runCli(args, { stdin: 'a\nb\n', cwd: folder });
  assert.deepEqual(
    results.map(r => r.value),
    ['a', 'b'],
  );
  assert.equal(code, 0);
});

test('a module is found by path, by path without ./, by file URL, and by package name', async t => {
  const folder = makeFolder(t, { 'own.js': 'export default x => "own " + x;' });
  const { mkdirSync, writeFileSync } = await import('node:fs');
  mkdirSync(`${folder}/node_modules/for-import`, { recursive: true });
  const manifest = { name: 'for-import', type: 'module', exports: { '.': { import: './main.js' } } };
  writeFileSync(`${folder}/node_modules/for-import/package.json`, JSON.stringify(manifest));
  writeFileSync(`${folder}/node_modules/for-import/main.js`, 'export default x => "package " + x;');
  mkdirSync(`${folder}/node_modules/common`, { recursive: true });
  writeFileSync(`${folder}/node_modules/common/index.js`, 'module.exports = x => "common " + x;');
  for (const [reference, value] of [
    ['./own.js', 'own a'],
    ['own.js', 'own a'],
    [`file://${folder}/own.js#default`, 'own a'],
    ['for-import', 'package a'],
    ['common', 'common a'],
    [`${fixture('common.cjs')}#shout`, 'a!'],
    ['node:path#basename', 'a'],
  ] as const) {
    const { code, results, stderr } = await runCli(['map', reference, '-'], { stdin: 'a\n', cwd: folder });
    assert.deepEqual([code, results], [0, [{ input: 'a', value }]], `${reference}: ${stderr}`);
  }
});
