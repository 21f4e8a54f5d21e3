import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fixture, makeFolder, runCli, tasks } from './cli.ts';

const MODULE = tasks('echo');

const WRONG: [behaviour: string, args: string[], line: RegExp][] = [
  ['no module', ['map'], /expected a module: hotlane map <module/],
  ['no inputs', ['map', MODULE], /no inputs: expected paths, globs .*- for lines on stdin/],
  ['a glob that matches nothing', ['map', MODULE, 'zz*.q'], /no file matches zz\*\.q, in /],
  ['only !globs', ['map', MODULE, '!*.js'], /no inputs: expected .* besides those that begin with '!'/],
  ['- beside other inputs', ['map', MODULE, '-', 'a'], /'-' .*stands alone/],
  [
    'a missing module',
    ['map', './gone.js', 'a'],
    /cannot find the module \.\/gone\.js: looked for \/.*gone\.js$/,
  ],
  ['a missing package', ['map', 'no-such-pkg', 'a'], /no-such-pkg: .*a package of that name from \//],
  ['a module without its ending', ['map', fixture('tasks'), 'a'], /did you mean .*tasks\.js\?/],
  ['a directory as module', ['map', fixture('.'), 'a'], /is not a file; name a module's file/],
  [
    'a module from the network',
    ['map', 'https://localhost/x.js', 'a'],
    /Code is loaded only from this machine/,
  ],
  ['a URL that is none', ['map', 'file://host:99999/x', 'a'], /got "file:\/\/host:99999\/x"/],
  ['an empty export', ['map', 'tasks.js#', 'a'], /expected module#export, .*got 'tasks\.js#'/],
  ['a missing export', ['map', tasks('ecko'), '-'], /has no export 'ecko'; its functions are: .*echo/],
  [
    'a missing default export',
    ['map', fixture('common.cjs'), '-'],
    /no default export; name a function, e\.g\. .*#shout/,
  ],
  ['an export that is a class', ['map', tasks('Shape'), '-'], /exports 'Shape', but as a class/],
  [
    'an export that is a value',
    ['map', tasks('notAFunction'), '-'],
    /exports 'notAFunction', but as a value/,
  ],
  [
    'a syntax error',
    ['map', fixture('broken-syntax.js'), '-'],
    /cannot load .*: SyntaxError: .* \(node --check .* shows where\)$/,
  ],
  [
    'a missing dependency',
    ['map', fixture('needs-missing.js'), '-'],
    /cannot load .*: Error: .*'no-such-dependency'/,
  ],
  [
    'a module that throws',
    ['map', fixture('throws.js'), '-'],
    /cannot load .*: Error: the module is not in the mood$/,
  ],
  ['a module that exits', ['map', fixture('exits.js'), '-'], /cannot load .*exited with code 3/],
  [
    'an unknown option',
    ['map', MODULE, '--lane', '2', '-'],
    /unknown option --lane; did you mean --lanes\? expected --lanes, /,
  ],
  ['an unknown short option', ['map', MODULE, '-x', '-'], /unknown option -x; expected --lanes, /],
  [
    'lanes that are no number',
    ['map', MODULE, '--lanes', 'many', '-'],
    /--lanes expects a whole number from 1 to 1024, got 'many'/,
  ],
  ['no lanes', ['map', MODULE, '--lanes=0', '-'], /--lanes expects .* got '0'/],
  ['a missing value', ['map', MODULE, '-', '--lanes'], /--lanes expects a value, e\.g\. --lanes 4/],
  ['a value too much', ['map', MODULE, '-', '--quiet=yes'], /--quiet takes no value, got 'yes'/],
  ['an option given twice', ['map', MODULE, '-', '--lanes=1', '--lanes=2'], /--lanes was given twice/],
  [
    'an unknown placement',
    ['map', MODULE, '--placement', 'process', '-'],
    /--placement expects thread or inline, got 'process'/,
  ],
  [
    'a deadline of nothing',
    ['map', MODULE, '--deadline', '0', '-'],
    /--deadline expects milliseconds above 0 .* got '0'/,
  ],
  ['a deadline in lightyears', ['map', MODULE, '--deadline', '5ly', '-'], /--deadline expects .* got '5ly'/],
  [
    'retries that are no number',
    ['map', MODULE, '--retries=-1', '-'],
    /--retries expects a whole number from 0 to 1000, got '-1'/,
  ],
  ['a missing journal', ['map', MODULE, '-', '--journal'], /--journal expects a value, e\.g\. --journal \w+/],
  ['a journal without a name', ['map', MODULE, '--journal=', '-'], /--journal expects the name of a file/],
  [
    'a journal in a folder that is not there',
    ['map', MODULE, '--journal', 'no/such/folder/j', '-'],
    /cannot open the journal no\/such\/folder\/j: ENOENT/,
  ],
  [
    'a journal that is a directory',
    ['map', MODULE, '--journal', fixture('.'), '-'],
    /the journal .* is a directory; expected the name of a file/,
  ],
  [
    'a journal that is no journal',
    ['map', MODULE, '--journal', fixture('common.cjs'), '-'],
    /common\.cjs is not a journal: expected its first line to begin with .*, got "module.*; name another file/,
  ],
  [
    'a summary and none',
    ['map', MODULE, '--json', '-q', '-'],
    /--json asks for a summary and --quiet for none; give one of them/,
  ],
  [
    'streams with tries again',
    ['map', MODULE, '--stream', '--retries', '1', '-'],
    /--stream cannot be given with --retries: items that are in the output cannot be taken back/,
  ],
  [
    'streams with a journal',
    ['map', MODULE, '--stream', '--journal', 'j', '-'],
    /--stream cannot be given with --journal, which holds one result for each input/,
  ],
  ['an unknown command', ['mpa'], /unknown command 'mpa'; did you mean 'map'\?/],
  [
    'a forgotten command',
    ['./t.js#f', 'a', 'b'],
    /'\.\/t\.js#f' is not a command; did you mean: hotlane map \.\/t\.js#f a b$/,
  ],
  ['an option for a command', ['--lanes', '2'], /unknown option --lanes; expected a command first/],
];

for (const [behaviour, args, line] of WRONG) {
  test(`${behaviour} gives one line that says so, and exit code 2`, async () => {
    const { code, stdout, stderr } = await runCli(args, { stdin: 'a\nb\nc\n' });
    assert.match(stderr, /^hotlane: [^\n]*\n$/, 'expected one line on stderr');
    assert.match(stderr.trimEnd(), line);
    assert.equal(stdout, '');
    assert.equal(code, 2);
  });
}

test('a deadline may have a unit', async () => {
  for (const deadline of ['60000', '60000ms', '60s', '1m', '1.5m']) {
    const { code, stderr } = await runCli(['map', MODULE, '--deadline', deadline, '-'], { stdin: 'a\n' });
    assert.equal(code, 0, `${deadline}: ${stderr}`);
  }
});

test('without a command the commands are listed on stderr, and the exit code is 2', async () => {
  const { code, stdout, stderr } = await runCli([]);
  assert.match(stderr, /^ {2}map <module/m);
  assert.equal(stdout, '');
  assert.equal(code, 2);
});

test('--help lists the commands on stdout', async () => {
  for (const args of [['--help'], ['-h'], ['help']]) {
    const { code, stdout } = await runCli(args);
    assert.match(stdout, /^Commands:\n {2}map <module/m);
    assert.equal(code, 0);
  }
});

test('map --help names every option, and shows examples', async () => {
  for (const args of [
    ['map', '--help'],
    ['map', '-h'],
    ['help', 'map'],
  ]) {
    const { code, stdout } = await runCli(args);
    for (const option of [
      'lanes',
      'concurrency',
      'placement',
      'deadline',
      'retries',
      'journal',
      'stream',
      'unordered',
      'trace',
      'quiet',
      'json',
      'help',
      'version',
    ]) {
      assert.match(stdout, new RegExp(`^  (-\\w, )?--${option}\\b`, 'm'), option);
    }
    assert.match(stdout, /^Examples:\n {2}hotlane map /m);
    for (const line of stdout.split('\n')) assert.ok(line.length <= 90, line);
    assert.equal(code, 0);
  }
});

test('--version prints the version of the package', async () => {
  const { createRequire } = await import('node:module');
  const { version } = createRequire(import.meta.url)('../package.json');
  for (const args of [['--version'], ['-v'], ['map', '--version']]) {
    assert.equal((await runCli(args)).stdout, `${version}\n`);
  }
});

test('a missing export is told once, and no input is run', async t => {
  const cwd = makeFolder(t, Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`${i}.txt`, ''])));
  const { code, stdout, stderr } = await runCli(['map', tasks('ecko'), '*.txt'], { cwd });
  assert.equal(stderr.split('\n').length, 2);
  assert.equal(stdout, '');
  assert.equal(code, 2);
});
