import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Hotline, type HotlineOptions } from '@hotlane/http';

/** Options that cannot be, and what the error says of them. */
const WRONG: [unknown, RegExp][] = [
  [null, /`options`: expected an object, got null/],
  [{ connections: 0 }, /`connections`: expected a whole number from 1 on, or Infinity, got 0/],
  [{ maxDepth: 1.5 }, /`maxDepth`: .* got 1.5/],
  [{ pipelining: 4 }, /`pipelining` is no option of a Hotline.*`maxDepth`/],
  [{ maxdepth: 4 }, /`maxdepth` is no option of a Hotline. It is written `maxDepth`/],
];

describe('options that cannot be', () => {
  for (const [options, message] of WRONG) {
    it(`are refused with what was expected: ${JSON.stringify(options)}`, () => {
      assert.throws(() => new Hotline(options as HotlineOptions), { code: 'ERR_HOTLANE_OPTION', message });
    });
  }

  it('that are not ours are left to undici, whose agents hand theirs on', async () => {
    await new Hotline({ headersTimeout: 5_000, proxyTunnel: true } as HotlineOptions).close();
  });
});
