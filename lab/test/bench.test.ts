import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { chromium } from 'playwright-core';
import { judgeBars, ratiosOf } from '../src/harness/judge.ts';
import type { StudyResults } from '../src/harness/run-study.ts';
import type { Study } from '../src/harness/study.ts';
import { renderText } from '../src/harness/text-report.ts';
import { rowsOf, runLab } from './lab.ts';

const CHROMIUM = '/usr/bin/chromium';
const FLAGS = [
  '--no-sandbox',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--no-first-run',
];

let folder: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hotlane-lab-'));
});
after(() => rm(folder, { recursive: true }));

describe('the bench', () => {
  const out = () => join(folder, 'bench');

  test('runs every way to measure with all its contenders, and writes results, tables and a report', async () => {
    const { code, stdout, stderr } = await runLab(
      'lab.ts',
      'bench',
      '--smoke',
      '--seed',
      '5',
      '--out',
      out(),
    );
    assert.equal(code, 0, stdout + stderr);
    for (const part of ['machine ', 'versions ', 'commit ', 'seed 5', 'control ', 'hotlane is better by'])
      assert.ok(stdout.includes(part), `${part}\n${stdout}`);
    assert.ok(rowsOf(stdout, 'hotlane') >= 13, stdout);

    const results = JSON.parse(await readFile(join(out(), 'results.json'), 'utf8'));
    assert.equal(results.schema, 'hotlane-study-1');
    assert.equal(results.seed, 5);
    assert.equal(results.machine.node, process.version);
    assert.match(results.command, /^node lab\/src\/lab\.ts bench --smoke/);
    const groups = new Set(Object.values<{ group: string }>(results.workloads).map(({ group }) => group));
    assert.deepEqual(
      [...groups],
      ['Calls', 'Real work', 'Fairness', 'Waiting', 'Idle', 'Cold', 'Streams', 'Blocking', 'Fleet'],
    );
    for (const { workload, contender, figures, failures } of results.cells) {
      assert.deepEqual(failures, [], `${workload} ${contender}`);
      for (const name of Object.keys(results.workloads[workload].metrics)) {
        const isNative = contender.startsWith('c-');
        assert.ok(
          isNative || typeof figures[name]?.median === 'number' || figures[name]?.median === null,
          `${workload} ${contender} ${name}`,
        );
      }
    }
    assert.ok((await readFile(join(out(), 'table.txt'), 'utf8')).includes('x => x + 1, 1 in flight'));
  });

  const why = existsSync(CHROMIUM) ? false : `needs ${CHROMIUM}: apt-get install chromium`;
  test('draws its report in a real browser, without a network, in light and in dark', {
    skip: why,
  }, async () => {
    const browser = await chromium.launch({ executablePath: CHROMIUM, args: FLAGS });
    try {
      const page = await browser.newPage({ viewport: { width: 1240, height: 900 } });
      const trouble: string[] = [];
      page.on('pageerror', error => trouble.push(error.message));
      page.on('console', message => message.type() === 'error' && trouble.push(message.text()));
      page.on('request', request => {
        if (!/^(file|data):/.test(request.url())) trouble.push(`it asked for ${request.url()}`);
      });
      await page.goto(pathToFileURL(join(out(), 'report.html')).href);
      await page.waitForFunction(() => document.documentElement.dataset.charts !== undefined);
      assert.ok(Number(await page.evaluate(() => document.documentElement.dataset.charts)) >= 8);
      const isDrawn = () =>
        [...document.querySelectorAll('canvas')].every(canvas => {
          const { data } = canvas.getContext('2d')!.getImageData(0, 0, canvas.width, canvas.height);
          return data.some(byte => byte !== 0);
        });
      assert.ok(await page.evaluate(isDrawn), 'every chart has something in it');
      const ground = () => getComputedStyle(document.body).backgroundColor;
      const light = await page.evaluate(ground);
      await page.emulateMedia({ colorScheme: 'dark' });
      assert.notEqual(await page.evaluate(ground), light);
      assert.ok(await page.evaluate(isDrawn), 'and again in the dark');
      assert.deepEqual(trouble, []);
    } finally {
      await browser.close();
    }
  });

  test('refuses what it does not know, and says what it does', async () => {
    const unknown = await runLab('lab.ts', 'bench', '--fast');
    assert.equal(unknown.code, 2);
    assert.match(unknown.stderr, /There is no option `--fast`\. Known are --quick, --smoke, --out/);
    const workload = await runLab('lab.ts', 'bench', '--workload', 'sleep');
    assert.equal(workload.code, 2);
    assert.match(workload.stderr, /there is no `sleep`\. Known are noop-1, /);
    const study = await runLab('lab.ts', 'benches');
    assert.equal(study.code, 2);
    assert.match(study.stderr, /There is no study `benches`\. Known are bench/);
  });

  test('explains itself', async () => {
    const { code, stdout } = await runLab('lab.ts', 'bench', '--help');
    assert.equal(code, 0);
    assert.match(stdout, /--out DIR.*Workloads: noop-1/s);
  });
});

describe('a bar', () => {
  const metrics = {
    rate: { title: 'calls/s', better: 'more', unit: '1/s' },
    late: { title: 'late', better: 'less', unit: 'µs' },
  } as const;
  const study = {
    subject: 'us',
    workloads: { w: { metrics }, v: { metrics } },
    bars: [
      { what: 'twice as many', workload: 'w', metric: 'rate', against: { contender: 'them' }, wanted: 2 },
      { what: 'half as late', workload: 'w', metric: 'late', against: { contender: 'them' }, wanted: 2 },
      { what: 'at most 15', workload: 'w', metric: 'late', against: 'absolute', wanted: 15 },
      { what: 'as on the other', workload: 'w', metric: 'rate', against: { workload: 'v' }, wanted: 1 },
    ],
  } as unknown as Study<unknown>;
  const run = (workload: string, contender: string, ...rounds: [rate: number, late: number][]) => ({
    cell: { workload, contender },
    outcomes: rounds.map(([rate, late]) => ({
      ok: true as const,
      lingered: false,
      result: { figures: { rate, late }, othersCores: 0 },
    })),
  });

  test('is met by the median, missed within the spread if one round reaches it, missed otherwise', () => {
    const runs = [
      run('w', 'us', [200, 10], [190, 12], [180, 30]),
      run('w', 'them', [100, 20], [100, 20], [100, 20]),
      run('v', 'us', [500, 1], [500, 1], [500, 1]),
    ];
    const verdicts = judgeBars(study, runs).map(({ what, verdict, got }) => [what, verdict, got]);
    assert.deepEqual(verdicts, [
      ['twice as many', 'missed within the spread', 1.9],
      ['half as late', 'missed within the spread', 20 / 12],
      ['at most 15', 'met', 12],
      ['as on the other', 'missed', 0.38],
    ]);
    assert.equal(ratiosOf(study, runs)[0].ratios.rate.median, 1.9);
  });

  test('is not judged where a run failed', () => {
    const failed = { ...run('w', 'them'), outcomes: [{ ok: false as const, failure: 'it hung' }] };
    const [first] = judgeBars(study, [run('w', 'us', [1, 1]), failed]);
    assert.equal(first.verdict, 'not measured');
  });
});

describe('a loss', () => {
  test('is told by its contender, but not when that is a variant of the one that lost', () => {
    const metrics = { rate: { title: 'calls/s', better: 'more', unit: '1/s' } };
    const half = { median: 0.5, min: 0.5, max: 0.5, values: [0.5] };
    const control = {
      cpuLoopMs: half,
      awaitsPerSecond: half,
      othersCores: 0,
    };
    const text = renderText({
      subject: 'us',
      mode: 'full',
      workloads: { w: { group: 'Calls', title: 'a call', metrics } },
      contenders: {
        us: { name: 'us', settings: 'plain' },
        tuned: { name: 'us, tuned', settings: 'tuned', variantOf: 'us' },
        them: { name: 'them', settings: 'plain' },
      },
      cells: [],
      ratios: ['tuned', 'them'].map(contender => ({ workload: 'w', contender, ratios: { rate: half } })),
      bars: [],
      control: { before: control, after: control, noise: { tooNoisy: false, reasons: [] } },
    } as unknown as StudyResults);
    assert.match(text, /where us loses .*\n.*\na call +them +calls\/s +2\.00 ×/);
    assert.doesNotMatch(text, /us, tuned +calls/);
  });
});

describe('README’s figures', () => {
  test('are those of the committed result', async () => {
    const { code, stderr } = await runLab('readme.ts');
    assert.equal(code, 0, stderr);
    const bad = await runLab('readme.ts', '--force');
    assert.equal(bad.code, 2);
  });
});
