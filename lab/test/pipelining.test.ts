import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { judgePipelining } from '../src/pipelining/bars.ts';
import { type Figures, planGroups, type Run, type Setting } from '../src/pipelining/cells.ts';
import { contenders } from '../src/pipelining/contenders/all.ts';
import { OneForOne } from '../src/pipelining/contenders/one-for-one.ts';
import { floorMs } from '../src/pipelining/floor.ts';
import { Discovery } from '../src/pipelining/loading/discovery.ts';
import { loadPage } from '../src/pipelining/loading/load-page.ts';
import { openLoopback } from '../src/pipelining/loopback.ts';
import { mixes, PLAIN, parseMix, waitMsOf } from '../src/pipelining/mixes.ts';
import { canEmulate } from '../src/pipelining/network/network.ts';
import { PROFILES } from '../src/pipelining/network/profiles.ts';
import { type Page, type PageObject, pageBytes } from '../src/pipelining/pages/page.ts';
import { firstFit, readCss } from '../src/pipelining/pages/read-css.ts';
import { readHtml } from '../src/pipelining/pages/read-html.ts';
import { exhausts, wavesOf } from '../src/pipelining/pages/waves.ts';
import type { RateResult } from '../src/pipelining/rates.ts';
import { findNginx } from '../src/pipelining/server/start-server.ts';
import { fillShelf } from '../src/pipelining/shelf.ts';
import { type Shelf, Site } from '../src/pipelining/site.ts';
import { runLab } from './lab.ts';

let folder: string;
let shelf: Shelf;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hotlane-pipelining-'));
  shelf = fillShelf(folder, ['wiki', 'portal', 'agency']);
});
after(() => rm(folder, { recursive: true }));

const pageOf = (name: string) => shelf.pages.find(page => page.name === name)!;

describe('pages', () => {
  test('those of 2008 have about 50 objects and 300 kB, the one of today about 150', () => {
    for (const name of ['wiki', 'portal']) {
      const page = pageOf(name);
      assert.ok(Math.abs(page.objects.length - 50) <= 5, `${name}: ${page.objects.length} objects`);
      assert.ok(Math.abs(pageBytes(page) / 300_000 - 1) < 0.1, `${name}: ${pageBytes(page)} bytes`);
    }
    assert.ok(Math.abs(pageOf('agency').objects.length - 150) <= 15);
  });

  test('the wiki exhausts four connections with four requests each, the portal does not', () => {
    assert.equal(exhausts(pageOf('wiki'), 4, 4), true, wavesOf(pageOf('wiki')).join());
    assert.equal(exhausts(pageOf('portal'), 4, 4), false, wavesOf(pageOf('portal')).join());
    assert.ok(wavesOf(pageOf('portal')).length > wavesOf(pageOf('wiki')).length);
  });

  test('every object lies where the server shows it, and all are found', () => {
    for (const page of shelf.pages) {
      for (const { path, bytes } of page.objects)
        assert.equal(readFileSync(join(shelf.root, path)).length, bytes, path);
      assert.equal(
        wavesOf(page).reduce((sum, wave) => sum + wave, 0),
        page.objects.length,
      );
    }
  });

  test('a document names scripts, styles and images in its order, and which scripts hold its parser', () => {
    const html =
      '<link rel="stylesheet" href="a.css"><script src="b.js"></script><script async src="c.js"></script><style>@import "d.css";</style><img src="e.png"><img src="data:,">';
    const { named, styles } = readHtml(html);
    assert.deepEqual(
      named.map(({ url, kind, holdsParser }) => [url, kind, holdsParser]),
      [
        ['a.css', 'stylesheet', false],
        ['b.js', 'script', true],
        ['c.js', 'script', false],
        ['e.png', 'image', false],
      ],
    );
    assert.equal(html.slice(0, named[1]!.atCharacter).endsWith('<script src="b.js"></script>'), true);
    assert.deepEqual(readCss(styles[0]!.css).imports, ['d.css']);
  });

  test('a stylesheet brings the images of rules that fit an element, not of those for later', () => {
    const css =
      '@import url("x.css"); /* url(no.png) */ .a::before { background: url(a.png) } .a:hover { background: url(hover.png) } .b { background: url("b.png") } @media screen { #c, .d { background: url(data:,) , url(c.gif) } }';
    const { imports, images } = readCss(css);
    assert.deepEqual(imports, ['x.css']);
    const { tree } = readHtml('<p class="a"></p><div id="c"></div>');
    const shown = images.filter(({ selector }) => firstFit(selector, tree) !== null).map(({ url }) => url);
    assert.deepEqual(shown, ['a.png', 'c.gif']);
  });
});

describe('discovery', () => {
  const object = (path: string, rest: Partial<PageObject>): PageObject => ({
    path,
    kind: 'image',
    bytes: 10,
    sha256: '',
    from: '/doc',
    atByte: 0,
    holdsParser: false,
    ...rest,
  });
  const made = (preloadScanner: boolean): Page => ({
    name: 'made',
    title: 'made',
    preloadScanner,
    objects: [
      object('/doc', { kind: 'document', from: null, bytes: 100 }),
      object('/style', { kind: 'stylesheet', atByte: 10 }),
      object('/imported', { kind: 'stylesheet', from: '/style', atByte: 10 }),
      object('/early-icon', { from: '/style', atByte: 15 }),
      object('/late-icon', { from: '/style', atByte: 80 }),
      object('/script', { kind: 'script', atByte: 20, holdsParser: true }),
      object('/image', { atByte: 50 }),
    ],
  });
  const paths = (found: readonly PageObject[]) => found.map(({ path }) => path);

  test('a script, and the stylesheets before it, hold back what stands behind it', () => {
    const discovery = new Discovery(made(false));
    assert.deepEqual(paths(discovery.begin()), ['/doc']);
    assert.deepEqual(paths(discovery.documentGrew(9)), []);
    assert.deepEqual(paths(discovery.documentGrew(100)), ['/style', '/script']);
    assert.deepEqual(paths(discovery.arrived('/doc')), []);
    assert.deepEqual(paths(discovery.arrived('/script')), []);
    assert.deepEqual(paths(discovery.arrived('/style')), ['/imported', '/early-icon']);
    assert.deepEqual(paths(discovery.arrived('/imported')), ['/image', '/late-icon']);
    assert.equal(discovery.isComplete, false);
    for (const path of ['/early-icon', '/late-icon', '/image']) discovery.arrived(path);
    assert.equal(discovery.isComplete, true);
  });

  test('a preload scanner sees past a script what the document names', () => {
    const discovery = new Discovery(made(true));
    discovery.begin();
    assert.deepEqual(paths(discovery.documentGrew(60)), ['/style', '/script', '/image']);
    assert.deepEqual(paths(discovery.arrived('/style')), ['/imported', '/early-icon']);
  });

  test('loading a page asks for nothing behind a script before the script is there', async () => {
    const page = pageOf('wiki');
    const script = page.objects.find(({ holdsParser }) => holdsParser)!;
    const events: string[] = [];
    const server = createHttpServer((request, response) => {
      events.push(`asked ${request.url}`);
      const answer = () => {
        events.push(`answered ${request.url}`);
        response.end(readFileSync(join(shelf.root, request.url!)));
      };
      if (request.url === script.path) setTimeout(answer, 100);
      else answer();
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { dispatcher, blocking } = await contenders['pool-free']!.open!(origin, 4);
    const { objects, loadMs } = await loadPage({ page, origin, dispatcher, blocking });
    await dispatcher.close();
    server.close();
    assert.equal(objects.length, page.objects.length);
    assert.equal(Math.max(...objects.map(({ doneMs }) => doneMs)), loadMs);
    const behind = page.objects.filter(
      one => one.from === page.objects[0]!.path && one.atByte > script.atByte,
    );
    assert.ok(behind.length > 20);
    for (const { path } of behind)
      assert.ok(events.indexOf(`asked ${path}`) > events.indexOf(`answered ${script.path}`), path);
  });

  test('an object that is not what the page has fails the load', async () => {
    const server = createHttpServer((_, response) => response.end('other')).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { dispatcher, blocking } = await contenders.none!.open!(origin, 1);
    await assert.rejects(
      loadPage({ page: pageOf('wiki'), origin, dispatcher, blocking }),
      /index\.html came as 5 bytes/,
    );
    await dispatcher.close();
    server.close();
  });
});

describe('one for one', () => {
  /** A server that answers when it is told to; requests of each connection in the order in which they came. */
  async function openServer() {
    const connections: { socket: Socket; asked: string[] }[] = [];
    let onRequest = () => {};
    const server = createServer(socket => {
      const connection = { socket, asked: [] as string[] };
      connections.push(connection);
      socket.on('data', data => {
        for (const [, path] of data.toString().matchAll(/^GET (\S+)/gm)) connection.asked.push(path!);
        onRequest();
      });
      socket.on('error', () => {});
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    return {
      origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      connections,
      asked: () => connections.flatMap(({ asked }) => asked).length,
      async until(count: number) {
        const reached = Promise.withResolvers<void>();
        onRequest = () => {
          if (this.asked() >= count) reached.resolve();
        };
        onRequest();
        await reached.promise;
        // What should not come would come now.
        await new Promise(resolve => setTimeout(resolve, 30));
      },
      answer: (path: string) => {
        const { socket } = connections.find(({ asked }) => asked.includes(path))!;
        socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n');
      },
      close: () => server.close(),
    };
  }
  const ask = (dispatcher: OneForOne, origin: string, path: string) =>
    dispatcher.request({ origin, path, method: 'GET' }).then(({ body }) => body.dump());

  test('a connection is filled when it is obtained idle; one with requests outstanding gets one for each answer', async () => {
    const server = await openServer();
    const dispatcher = new OneForOne(server.origin, { connections: 2, quota: 3 });
    const all = ['/1', '/2', '/3', '/4', '/5', '/6', '/7', '/8'].map(path =>
      ask(dispatcher, server.origin, path),
    );
    await server.until(2);
    // Each connection was obtained by one request, when nothing else waited; there is room, and the rest waits.
    assert.equal(server.asked(), 2);

    // Idle again, the first is filled with what waits.
    server.answer('/1');
    await server.until(5);
    const first = server.connections.find(({ asked }) => asked.includes('/1'))!;
    assert.deepEqual(first.asked, ['/1', '/3', '/4', '/5']);

    // One answer, one request.
    server.answer('/3');
    await server.until(6);
    assert.deepEqual(first.asked, ['/1', '/3', '/4', '/5', '/6']);
    assert.equal(server.asked(), 6);

    for (const path of ['/2', '/4', '/5', '/6']) server.answer(path);
    await server.until(8);
    for (const path of ['/7', '/8']) server.answer(path);
    await Promise.all(all);
    await dispatcher.close();
    server.close();
  });

  test('a request that comes while every connection is busy waits, also where there is room', async () => {
    const server = await openServer();
    const dispatcher = new OneForOne(server.origin, { connections: 1, quota: 4 });
    const one = ask(dispatcher, server.origin, '/1');
    await server.until(1);
    const two = ask(dispatcher, server.origin, '/2');
    await server.until(1);
    assert.equal(server.asked(), 1);
    server.answer('/1');
    await server.until(2);
    server.answer('/2');
    await Promise.all([one, two]);
    await dispatcher.close();
    server.close();
  });
});

describe('figures', () => {
  const setting: Setting = { profile: 'edge-400', page: 'wiki', mix: 'plain', lossPercent: 0, quota: 4 };
  const figures = (loadMs: number, packets: number): Figures => ({
    loadMs,
    packets,
    packetsUp: 0,
    packetsDown: packets,
    dropped: 0,
    bytesUp: 0,
    bytesDown: 0,
    connections: 4,
    headerBytes: 0,
    latestMs: 0,
  });
  const run = (contender: string, loadMs: number, packets = 100, rest: Partial<Run> = {}): Run => ({
    setting,
    contender,
    round: 0,
    figures: figures(loadMs, packets),
    failure: null,
    stats: null,
    packets: null,
    ...rest,
  });
  const judge = (runs: readonly Run[], rates: readonly RateResult[] = []) =>
    judgePipelining({
      runs,
      rates,
      floorMs: () => 5000,
      exhausts: ({ page, quota }) => page === 'wiki' && quota === 4,
      isPeer: name => contenders[name]!.isPeer,
    });

  test('the floor is the bytes with their headers over the rate, and a round trip', () => {
    // 30,000 bytes are 21 segments: 30,840 bytes at 30 bytes each millisecond.
    assert.equal(floorMs({ downKbit: 240, rttMs: 400 }, 30_000), 1028 + 400);
  });

  test('each so-manieth object is slow, and the document never', () => {
    const slow = mixes['slow-8']!;
    assert.deepEqual(
      Array.from({ length: 17 }, (_, index) => waitMsOf(slow, index)).flatMap((waitMs, index) =>
        waitMs > 0 ? [index] : [],
      ),
      [7, 15],
    );
    assert.equal(waitMsOf(parseMix('1:50'), 0), 0);
    assert.equal(waitMsOf(PLAIN, 7), 0);
    assert.throws(() => parseMix('often'), /EVERY:MS/);
  });

  test('the bars are judged by pairs of the same round', () => {
    const bars = judge([
      run('one-for-one', 10_000, 100),
      run('pool', 10_000),
      run('pool-free', 7_900),
      run('ours', 8_000, 96),
      run('http2', 6_000),
    ]);
    const verdicts = Object.fromEntries(bars.map(bar => [bar.what, [bar.verdict, bar.got]]));
    assert.deepEqual(verdicts['EDGE: never slower than one for one'], ['met', 1.25]);
    assert.equal(
      verdicts['EDGE, where the page exhausts the depth: 10 % faster than one for one']![0],
      'met',
    );
    assert.deepEqual(verdicts['EDGE, there: half of the gap from one for one to the floor closed'], [
      'missed',
      0.4,
    ]);
    assert.equal(verdicts['EDGE: 3 % fewer packets than one for one']![0], 'met');
    assert.deepEqual(verdicts['EDGE: 20 % faster than undici Pool with pipelining'], ['met', 1.25]);
    // HTTP/2 does not count.
    assert.deepEqual(verdicts['within 3 % of the best contender'], ['met', 7_900 / 8_000]);
    assert.equal(
      verdicts['EDGE, slow responses: 10 % faster than Pool with blocking: false']![0],
      'not measured',
    );
  });

  test('a bar is missed within the spread when a round reaches it', () => {
    const rounds = [0, 1, 2].flatMap(round => [
      run('one-for-one', 10_000, 100, { round }),
      run('ours', [10_100, 10_200, 9_900][round]!, 100, { round }),
    ]);
    const bar = judge(rounds).find(one => one.what === 'EDGE: never slower than one for one')!;
    assert.equal(bar.verdict, 'missed within the spread');
    const worse = judge(rounds.filter(one => one.round < 2)).find(one => one.what === bar.what)!;
    assert.equal(worse.verdict, 'missed');
    assert.match(worse.where, /edge-400 \/ wiki/);
  });

  test('contenders without a quota are loaded once, with the quota of the study; loss has its own rounds', () => {
    const groups = planGroups({
      profiles: [PROFILES['edge-400'], PROFILES.lan],
      pages: [pageOf('wiki')],
      mixes: [PLAIN],
      quotas: [2, 4],
      contenders: ['none', 'pool'],
      lossPercents: [0, 2],
      rounds: 2,
      seeds: 5,
      quietRounds: 5,
      inTurn: 6,
    });
    const count = (wanted: (one: (typeof groups)[number]) => boolean) => groups.filter(wanted).length;
    assert.equal(
      count(({ setting: one }) => one.lossPercent === 0),
      2 * (2 + 5),
    );
    assert.equal(
      count(({ setting: one }) => one.lossPercent === 2),
      5,
    );
    assert.ok(groups.every(one => one.contenders.includes('none') === (one.setting.quota === 4)));
  });
});

describe('the study', () => {
  const noNginx = findNginx() === null ? 'There is no nginx here; Debian has it as nginx-light.' : false;

  test('a server that is slow over some objects delays a page by no less than one takes', {
    skip: noNginx,
  }, async () => {
    const fast = { profile: 'lan', page: 'wiki', mix: 'plain', lossPercent: 0, quota: 4 };
    for (const server of ['nginx', 'node'] as const) {
      await using site = await Site.open({
        network: openLoopback(),
        shelf,
        mixes: [PLAIN, parseMix('8:200')],
        server,
        http2: false,
      });
      await site.load(fast, 'pool-free', PROFILES.lan, 20_000);
      const slow = await site.load({ ...fast, mix: '8:200' }, 'pool-free', PROFILES.lan, 20_000);
      assert.ok(slow.figures.loadMs >= 200, server);
    }
  });

  test('a smoke run loads a page with every contender and writes results, tables and a report', {
    skip: noNginx,
  }, async t => {
    const able = await canEmulate();
    if (able !== true) t.diagnostic(able);
    const out = join(folder, 'out');
    const { code, stdout, stderr } = await runLab('lab.ts', 'pipelining', '--smoke', '--out', out);
    assert.equal(code, 0, stdout + stderr);
    const results = JSON.parse(await readFile(join(out, 'results.json'), 'utf8'));
    assert.equal(results.schema, 'hotlane-pipelining-1');
    assert.ok(results.cells.length >= 4, stdout);
    for (const { contender, figures, failures } of results.cells) {
      assert.deepEqual(failures, [], contender);
      if (able !== true) continue;
      const connections = figures.connections.median;
      if (contender === 'chromium') assert.ok(connections >= 4, contender);
      else assert.equal(connections, contender === 'http2' ? 1 : 4, contender);
      assert.ok(figures.packetsDown.median > 150, contender);
    }
    for (const file of ['report.html', 'table.txt']) {
      const text = await readFile(join(out, file), 'utf8');
      assert.ok(text.includes('one for one'), file);
      assert.ok(!text.includes('{{'), file);
    }
    assert.match(stdout, /wiki, 2008/);
  });

  test('a study is gone on with where it was left', { skip: noNginx }, async () => {
    const out = join(folder, 'resumed');
    const args = ['pipelining', '--smoke', '--out', out, '--contender', 'none'];
    await runLab('lab.ts', ...args);
    const before = await readFile(join(out, 'runs.jsonl'), 'utf8');
    const { code } = await runLab('lab.ts', ...args, '--resume');
    assert.equal(code, 0);
    assert.equal(await readFile(join(out, 'runs.jsonl'), 'utf8'), before);
    assert.equal(before.trim().split('\n').length, 1);
  });

  test('what cannot be measured is refused in a sentence', async () => {
    const { code, stderr } = await runLab('lab.ts', 'pipelining', '--page', 'blog');
    assert.equal(code, 2);
    assert.equal(stderr, '`--page`: there is no `blog`. Known are wiki, portal, agency.\n');
  });
});
