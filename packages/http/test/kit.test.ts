import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { describe, it } from 'node:test';
import { type Dispatcher, Pool } from 'undici';
import { BadServer } from './kit/bad-server.ts';
import { report, runSeeds } from './kit/chaos.ts';
import type { Rule } from './kit/chaos-rules.ts';
import { forwarding } from './kit/forward.ts';
import { leavesNothingBehind } from './kit/leftovers.ts';
import { RequestParser } from './kit/request-parser.ts';
import { POLICIES, type PolicyName, seededScript, told } from './kit/script.ts';
import { pipeliningPool } from './kit/subject.ts';

leavesNothingBehind();

async function rulesBroken(
  makeDispatcher: (origin: string) => Dispatcher,
  policy: PolicyName,
): Promise<Map<Rule, string>> {
  const broken = new Map<Rule, string>();
  await runSeeds(Array(30).keys(), 15, { makeDispatcher, policy }, result => {
    for (const { rule } of result.violations) broken.set(rule, report(result));
  });
  return broken;
}

function onePerConnection(origin: string): Dispatcher {
  return new Pool(origin, { connections: 4 });
}

describe('the rules of the chaos', () => {
  for (const policy of ['honest', 'closing', 'lying'] as const) {
    it(`hold for a client that does not pipeline, on servers that are ${policy}`, async () => {
      const broken = await rulesBroken(onePerConnection, policy);
      assert.equal(broken.size, 0, [...broken.values()].join('\n'));
    });
  }

  it('find that an abort makes requests behind it and before it run again', async () => {
    const broken = await rulesBroken(pipeliningPool, 'honest');
    for (const rule of ['needless-retry', 'handler', 'innocent-failed', 'sent-twice'] as const) {
      assert.ok(broken.has(rule), `not found: ${rule}`);
    }
  });

  it('find that what is sent again after a close is pipelined at once', async () => {
    const broken = await rulesBroken(pipeliningPool, 'closing');
    for (const rule of ['retry-not-alone', 'behind-retry'] as const) {
      assert.ok(broken.has(rule), `not found: ${rule}`);
    }
  });

  it('find answers that are given to the wrong request', async () => {
    const mixed = (origin: string): Dispatcher => {
      let last: string | undefined;
      return onePerConnection(origin).compose(dispatch => (options, handler) => {
        const { path } = options;
        const other = options.method === 'GET' ? (last ?? path) : path;
        last = path;
        return dispatch({ ...options, path: other }, handler);
      });
    };
    assert.ok((await rulesBroken(mixed, 'honest')).has('wrong-answer'));
  });

  it('find bodies from which a byte is missing', async () => {
    const leaky = (origin: string): Dispatcher =>
      onePerConnection(origin).compose(dispatch => (options, handler) => {
        const leaking = forwarding(handler, {
          onResponseData: (controller, chunk) => handler.onResponseData?.(controller, chunk.subarray(1)),
        });
        return dispatch(options, leaking);
      });
    assert.ok((await rulesBroken(leaky, 'honest')).has('wrong-body'));
  });

  it('find requests that never settle, and what is left of them', async () => {
    const deaf = (origin: string): Dispatcher =>
      onePerConnection(origin).compose(
        dispatch => (options, handler) => (options.method === 'HEAD' ? true : dispatch(options, handler)),
      );
    const broken = new Set<Rule>();
    await runSeeds([1, 2, 3], 3, { makeDispatcher: deaf, policy: 'honest', settleMs: 1_000 }, result => {
      for (const { rule } of result.violations) broken.add(rule);
    });
    assert.ok(broken.has('unsettled'));
  });
});

describe('a script', () => {
  it('says the same for the same seed, whatever came before', () => {
    const [one, two] = [seededScript(7, POLICIES.everything), seededScript(7, POLICIES.everything)];
    two.answer('other', 'GET', 1);
    two.connection(5);
    for (let i = 0; i < 20; i++) {
      assert.deepEqual(one.connection(i), two.connection(i));
      assert.deepEqual(one.answer(`id-${i}`, 'GET', 1), two.answer(`id-${i}`, 'GET', 1));
    }
  });
});

describe('the bad server', () => {
  it('tells what was outstanding when a request arrived', async () => {
    await using server = await BadServer.listen(told(() => 'stall-before'));
    const socket = connect(Number(new URL(server.origin).port), '127.0.0.1');
    const head = (method: string, id: string) => `${method} /${id} HTTP/1.1\r\nHost: a\r\n\r\n`;
    socket.end(head('GET', 'a') + head('POST', 'b') + head('GET', 'c') + head('GET', 'a'));
    while (server.seen.length < 4) await new Promise(setImmediate);
    assert.deepEqual(
      server.seen.map(({ id, attempt, outstanding, behindNonIdempotent }) => [
        id,
        attempt,
        outstanding,
        behindNonIdempotent,
      ]),
      [
        ['a', 1, 0, false],
        ['b', 1, 1, false],
        ['c', 1, 2, true],
        ['a', 2, 3, true],
      ],
    );
    socket.destroy();
  });
});

describe('the parser of requests', () => {
  function parsed(text: string, pieceBytes: number): string[] {
    const events: string[] = [];
    const parser = new RequestParser({
      head: head => events.push(`${head.method} ${head.target} ${head.headers.get('x') ?? '-'}`),
      end: bodyBytes => events.push(`${bodyBytes} bytes`),
    });
    const bytes = Buffer.from(text);
    for (let at = 0; at < bytes.length; at += pieceBytes) {
      parser.write(bytes.subarray(at, at + pieceBytes));
    }
    assert.equal(parser.inRequest, false);
    return events;
  }

  it('reads requests however they are cut', () => {
    const text = [
      'GET /a HTTP/1.1\r\nHost: h\r\nX: one\r\n\r\n',
      'POST /b HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello',
      'PUT /c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\na\r\n, and more\r\n0\r\nT: 1\r\n\r\n',
      'DELETE /d HTTP/1.1\r\nHost: h\r\n\r\n',
    ].join('');
    const events = [
      'GET /a one',
      '0 bytes',
      'POST /b -',
      '5 bytes',
      'PUT /c -',
      '15 bytes',
      'DELETE /d -',
      '0 bytes',
    ];
    for (const pieceBytes of [1, 2, 3, 7, 50, text.length])
      assert.deepEqual(parsed(text, pieceBytes), events);
  });

  for (const [what, text] of [
    ['a line that ends in a line feed only', 'GET / HTTP/1.1\nHost: h\r\n\r\n'],
    ['no host', 'GET / HTTP/1.1\r\nX: h\r\n\r\n'],
    [
      'two kinds of length',
      'PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n',
    ],
    ['two lengths', 'PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n'],
    ['a space before a colon', 'GET / HTTP/1.1\r\nHost : h\r\n\r\n'],
    [
      'a chunk that is longer than it says',
      'PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n',
    ],
  ] as const) {
    it(`takes no request with ${what}`, () => {
      assert.throws(() => parsed(text, text.length));
    });
  }
});
