import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { callContract } from 'hotlane/testing';
import type { Browser, Page } from 'puppeteer-core';
import { capabilities } from './browsers/capabilities.ts';
import { browsers, missing } from './browsers/launch.ts';
import { ISOLATED, openSite } from './browsers/site.ts';

const TIMEOUT = { timeout: 60_000 };
const names = callContract({ capabilities, createPool: () => assert.fail() }).map(({ name }) => name);
const CSP = { 'content-security-policy': "default-src 'none'; script-src 'self'; worker-src 'self'" };

for (const kind of browsers) {
  describe(`in ${kind.name}`, { skip: missing(kind) }, () => {
    let browser: Browser;
    before(async () => {
      browser = await kind.start();
    });
    after(async () => {
      await browser?.close();
    });

    /** Runs something in a new page. @param headers of all that the page is served */
    async function inPage<T>(
      headers: Readonly<Record<string, string>>,
      run: (page: Page) => Promise<T>,
    ): Promise<T> {
      await using site = await openSite(headers);
      const page = await browser.newPage();
      const said: string[] = [];
      page.on('console', message => said.push(message.text()));
      page.on('pageerror', error => said.push((error as Error).stack ?? String(error)));
      try {
        await page.goto(site.origin);
        await page.waitForFunction('typeof runCase === "function"');
        return await run(page);
      } catch (error) {
        (error as Error).message += `\n\nThe console:\n${said.join('\n')}`;
        throw error;
      } finally {
        await page.close();
      }
    }

    /** Runs JavaScript there; what it returns must be JSON. */
    const evaluate = (page: Page, code: string): Promise<any> =>
      page.evaluate(
        text => import(`data:text/javascript,${encodeURIComponent(text)}`).then(m => m.default),
        `export default await (async () => { ${code} })()`,
      );

    describe('the call contract, in an isolated page', () => {
      // One page for all: each case has pools of its own.
      const opened = Promise.withResolvers<Page>();
      const over = Promise.withResolvers<void>();
      let page: Page;
      let closed: Promise<void>;
      before(async () => {
        closed = inPage(ISOLATED, one => {
          opened.resolve(one);
          return over.promise;
        });
        page = await opened.promise;
      });
      after(() => {
        over.resolve();
        return closed;
      });
      for (const name of names) {
        it(name, TIMEOUT, async () => {
          const trouble = await page.evaluate(one => (globalThis as any).runCase(one), name);
          assert.equal(trouble, null, String(trouble));
        });
      }
    });

    describe('an isolated page', () => {
      it('calls the functions of a module by its URL', TIMEOUT, () =>
        inPage(ISOLATED, async page => {
          const result = await evaluate(
            page,
            "const pool = createPool('/tasks.js', { lanes: 1 }); try { return await pool.call.add(1, 2); } finally { await pool.close(); }",
          );
          assert.equal(result, 3);
        }),
      );

      it('has pools in its workers, which may block', TIMEOUT, () =>
        inPage(ISOLATED, async page => {
          const result = await evaluate(
            page,
            "const worker = new Worker('/nested.worker.js', { type: 'module' }); const { data } = await new Promise((resolve, reject) => { worker.onmessage = resolve; worker.onerror = reject; }); worker.terminate(); return data;",
          );
          assert.deepEqual(result, { sums: [2, 4, 6], blocked: 42 });
        }),
      );

      it('cannot block, and says so', TIMEOUT, () =>
        inPage(ISOLATED, async page => {
          const result = await evaluate(
            page,
            "const pool = createPool('/tasks.js', { lanes: 1 }); await pool.ready(); try { return pool.sync.add(1, 2); } catch (error) { return error.code + error.message; } finally { await pool.destroy(); }",
          );
          assert.match(result, /^ERR_HOTLANE_OPTION.*main thread of a page/);
        }),
      );

      for (const [what, script, message] of [
        ['is not there', '/none.js', /could not be loaded/],
        ['has a syntax error', '/syntax.js', /could not be loaded|script failed: .*SyntaxError/],
        ['throws', '/throws.js', /script failed: .*RangeError: as it should/],
        ['has the wrong MIME type', '/mime.js', /could not be loaded/],
      ] as const) {
        it(`tells with LANE_START that a worker's script ${what}`, TIMEOUT, () =>
          inPage(ISOLATED, async page => {
            const failure = await page.evaluate(one => (globalThis as any).failureOf(one), script);
            assert.match(failure, /^ERR_HOTLANE_LANE_START/);
            assert.match(failure, message);
          }),
        );
      }

      it('tells with LANE_START that its policy forbids workers', TIMEOUT, () =>
        inPage(
          { ...ISOLATED, 'content-security-policy': "script-src 'self'; worker-src 'none'" },
          async page => {
            const failure = await page.evaluate(() => (globalThis as any).failureOf('/tasks.worker.js'));
            assert.match(failure, /^ERR_HOTLANE_LANE_START/);
          },
        ),
      );
    });

    it('works where a policy allows scripts of the site only', TIMEOUT, () =>
      inPage({ ...ISOLATED, ...CSP }, async page => {
        for (const name of names.slice(0, 3)) {
          assert.equal(await page.evaluate(one => (globalThis as any).runCase(one), name), null);
        }
      }),
    );

    it('says which headers a page lacks that is not isolated', TIMEOUT, () =>
      inPage({}, async page => {
        const failure = await evaluate(
          page,
          "try { createPool('/tasks.js'); } catch (error) { return error.code + error.message; }",
        );
        assert.match(
          failure,
          /^ERR_HOTLANE_OPTION.*Cross-Origin-Opener-Policy.*Cross-Origin-Embedder-Policy/,
        );
      }),
    );
  });
}
