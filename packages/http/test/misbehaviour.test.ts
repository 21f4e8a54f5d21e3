import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Dispatcher } from 'undici';
import type { Behaviour } from './kit/answers.ts';
import { BadServer } from './kit/bad-server.ts';
import { bodyOf } from './kit/bytes.ts';
import { judge } from './kit/chaos-rules.ts';
import { leavesNothingBehind } from './kit/leftovers.ts';
import { type Script, STEADY, told } from './kit/script.ts';
import { makeDispatcher } from './kit/subject.ts';

leavesNothingBehind();

type Options = Partial<Dispatcher.RequestOptions>;

/** Fails unless the answer is the right one and whole. */
async function ask(dispatcher: Dispatcher, id: string, options: Options = {}): Promise<number> {
  const method = options.method ?? 'GET';
  const response = await dispatcher.request({
    path: `/${id}`,
    ...options,
    method,
  } as Dispatcher.RequestOptions);
  const bytes = Buffer.from(await response.body.arrayBuffer());
  assert.equal(response.headers['x-request-id'], id);
  const without = method === 'HEAD' || response.statusCode === 204 || response.statusCode === 304;
  assert.ok(bytes.equals(without ? Buffer.alloc(0) : bodyOf(id)), `${bytes.length} bytes for ${id}`);
  return response.statusCode;
}

interface Scene {
  readonly server: BadServer;
  readonly dispatcher: Dispatcher;
  /** Resolves when the client has ended all connections that were there when it was called. */
  allEnded(): Promise<void>;
}

/** One connection, unless told otherwise; afterwards the rules of pipelining must have held. */
async function scene(script: Script, options: object, play: (scene: Scene) => Promise<void>): Promise<void> {
  await using server = await BadServer.listen(script);
  const dispatcher = makeDispatcher(server.origin, { connections: 1, headersTimeout: 3_000, ...options });
  const allEnded = async () => {
    for (const connection of server.connections) while (!connection.ended) await sleep(1);
  };
  const stop = new AbortController();
  // Before the test's own timeout, so that what hangs is cleared away.
  const forEver = sleep(12_000, undefined, { signal: stop.signal }).then(() =>
    assert.fail('it takes for ever'),
  );
  try {
    await Promise.race([play({ server, dispatcher, allEnded }), forEver]);
    assert.deepEqual(judge(server, [], true).violations, []);
  } finally {
    stop.abort();
    forEver.catch(() => {});
    await dispatcher.destroy();
  }
}

const ids = (count: number, name = 'r') => Array.from({ length: count }, (_, i) => `${name}-${i}`);
/** This answer to the first attempt of the request `bad`, and good ones to all else. */
const once = (behaviour: Behaviour) =>
  told((id, attempt) => (id === 'bad' && attempt === 1 ? behaviour : 'plain'));
const failure = (promise: Promise<unknown>): Promise<Error & { code?: string }> =>
  promise.then(
    () => assert.fail('it was delivered'),
    error => error,
  );
const bounded = { timeout: 15_000 };

describe('requests on one connection', () => {
  it('get their own answers, whether late, torn, in chunks or without a body', bounded, async () => {
    const kinds = ['pieces', 'late', 'chunked', 'empty', 'trailers', 'unchanged', 'plain', 'hints'] as const;
    const script = told(id => kinds[Number(id.split('-')[1]) % kinds.length]!);
    await scene(script, {}, async ({ server, dispatcher }) => {
      const methods = ['GET', 'GET', 'HEAD', 'GET', 'PUT', 'DELETE', 'GET', 'POST'] as const;
      await Promise.all(ids(60).map((id, i) => ask(dispatcher, id, { method: methods[(i * 3) % 8]! })));
      assert.equal(server.seen.length, 60);
    });
  });

  it('are sent before the answers to those before them have come', bounded, async () => {
    await scene(
      told(() => 'late'),
      {},
      async ({ server, dispatcher }) => {
        await ask(dispatcher, 'first');
        await Promise.all(ids(30).map(id => ask(dispatcher, id)));
        assert.ok(server.seen.some(sighting => sighting.outstanding > 0));
        assert.equal(server.connections.length, 1);
      },
    );
  });

  it('are left alone when one of them is given up', bounded, async () => {
    await scene(
      told(id => (id === 'given-up' ? 'pieces' : 'late')),
      {},
      async ({ server, dispatcher }) => {
        await ask(dispatcher, 'first');
        for (const afterMs of [0, 1, 5, 20]) {
          const stop = new AbortController();
          const others = ids(8, `s${afterMs}`);
          const asked = others.slice(0, 4).map(id => ask(dispatcher, id));
          const givenUp = failure(ask(dispatcher, `given-up-${afterMs}`, { signal: stop.signal }));
          asked.push(...others.slice(4).map(id => ask(dispatcher, id)));
          await sleep(afterMs);
          stop.abort();
          assert.equal((await givenUp).name, 'AbortError');
          await Promise.all(asked);
          for (const id of others) assert.equal(server.sightingsOf(id).length, 1, id);
        }
        assert.equal(server.connections.length, 1);
      },
    );
  });

  it('are not sent at all when they were given up before their turn', bounded, async () => {
    await scene(
      told(() => 'late'),
      {},
      async ({ server, dispatcher }) => {
        const stop = new AbortController();
        const post = ask(dispatcher, 'post', { method: 'POST', body: 'x' });
        const never = failure(ask(dispatcher, 'never', { method: 'POST', signal: stop.signal }));
        stop.abort();
        assert.equal((await never).name, 'AbortError');
        await post;
        await ask(dispatcher, 'after');
        assert.equal(server.sightingsOf('never').length, 0);
      },
    );
  });

  it('wait for the status of one that is not idempotent, and it for their answers', bounded, async () => {
    await scene(
      told(() => 'late'),
      {},
      async ({ server, dispatcher }) => {
        const all = ids(20).map((id, i) => {
          if (i % 5 === 2) return ask(dispatcher, id, { method: 'POST', body: id });
          return ask(
            dispatcher,
            id,
            i % 7 === 3 ? { idempotent: false, headers: { 'x-idempotent': 'no' } } : {},
          );
        });
        await Promise.all(all);
        assert.equal(server.seen.length, 20);
      },
    );
  });
});

describe('an answer that cannot be read', () => {
  for (const behaviour of [
    'two-lengths',
    'length-and-chunked',
    'garbage-before',
    'length-too-long',
  ] as const) {
    it(`is not delivered and ends its connection: ${behaviour}`, bounded, async () => {
      await scene(once(behaviour), {}, async ({ server, dispatcher, allEnded }) => {
        await ask(dispatcher, 'first');
        const [bad, ...others] = await Promise.allSettled(['bad', 'x', 'y'].map(id => ask(dispatcher, id)));
        // Whoever asks again gets what came then.
        const again = server.sightingsOf('bad').length > 1;
        assert.equal(bad!.status, again ? 'fulfilled' : 'rejected');
        assert.deepEqual(
          others.map(({ status }) => status),
          ['fulfilled', 'fulfilled'],
        );
        assert.equal(server.connections[0]!.ended || server.connections.length > 1, true);
        await ask(dispatcher, 'last');
        await dispatcher.close();
        await allEnded();
      });
    });
  }

  for (const behaviour of ['fin-in-head', 'fin-in-body', 'reset-in-head', 'reset-in-body'] as const) {
    it(`is not taken for a whole one: ${behaviour}`, bounded, async () => {
      await scene(once(behaviour), {}, async ({ server, dispatcher }) => {
        await ask(dispatcher, 'first');
        const [bad, ...others] = await Promise.allSettled(['bad', 'x', 'y'].map(id => ask(dispatcher, id)));
        assert.equal(bad!.status, server.sightingsOf('bad').length > 1 ? 'fulfilled' : 'rejected');
        assert.deepEqual(
          others.map(({ status }) => status),
          ['fulfilled', 'fulfilled'],
        );
      });
    });
  }

  it('that only ever announces another fails, and ends its connection', bounded, async () => {
    await scene(once('flood'), { headersTimeout: 500 }, async ({ dispatcher, allEnded }) => {
      await ask(dispatcher, 'first');
      await failure(ask(dispatcher, 'bad', { method: 'POST' }));
      await allEnded();
      await ask(dispatcher, 'last');
    });
  });
});

describe('bytes that nobody asked for', () => {
  for (const behaviour of ['doubled', 'garbage-after', 'length-too-short', 'unasked-after'] as const) {
    it(`end their connection, and reach no later request: ${behaviour}`, bounded, async () => {
      await scene(once(behaviour), {}, async ({ server, dispatcher, allEnded }) => {
        const whole = ask(dispatcher, 'bad');
        if (behaviour === 'length-too-short') await failure(whole);
        else await whole.catch(() => {});
        await allEnded();
        await Promise.all(ids(5).map(id => ask(dispatcher, id)));
        assert.ok(server.connections.length > 1);
      });
    });
  }
});

describe('answers before the answer', () => {
  it('are told and do not count', bounded, async () => {
    await scene(once('hints'), {}, async ({ dispatcher }) => {
      const heard: number[] = [];
      const onInfo = ({ statusCode }: { statusCode: number }) => heard.push(statusCode);
      assert.equal(await ask(dispatcher, 'bad', { onInfo } as Options), 200);
      assert.ok(heard.length > 0 && heard.every(status => status === 103), String(heard));
    });
  });

  it(
    'may be a "100 Continue" that nobody waits for: the connection ends, and the request is sent again',
    bounded,
    async () => {
      const script = told((_id, attempt) => (attempt === 1 ? 'continue' : 'plain'));
      await scene(script, {}, async ({ server, dispatcher }) => {
        assert.equal(await ask(dispatcher, 'bad'), 200);
        assert.equal(server.seen.length, 2);
      });
    },
  );
});

describe('an answer that does not come', () => {
  for (const [behaviour, code] of [
    ['stall-before', 'UND_ERR_HEADERS_TIMEOUT'],
    ['stall-in-head', 'UND_ERR_HEADERS_TIMEOUT'],
    ['stall-in-body', 'UND_ERR_BODY_TIMEOUT'],
  ] as const) {
    it(`fails in time, alone, and those behind it are asked again: ${behaviour}`, bounded, async () => {
      const script = told(id => (id.startsWith('bad') ? behaviour : 'plain'));
      await scene(script, { headersTimeout: 300, bodyTimeout: 300 }, async ({ dispatcher, allEnded }) => {
        await ask(dispatcher, 'first');
        const bad = failure(ask(dispatcher, 'bad-post', { method: 'POST' }));
        const behind = ids(4).map(id => ask(dispatcher, id));
        assert.equal((await bad).code, code);
        await Promise.all(behind);
        const get = failure(ask(dispatcher, 'bad-get'));
        const more = ids(4, 'more').map(id => ask(dispatcher, id));
        assert.equal((await get).code, code);
        await Promise.all(more);
        await dispatcher.close();
        await allEnded();
      });
    });
  }
});

describe('a connection that closes', () => {
  for (const closesBy of ['fin', 'reset', 'half-close'] as const) {
    it(`after every third answer loses no idempotent request: ${closesBy}`, bounded, async () => {
      const script: Script = {
        ...told(() => 'plain'),
        connection: () => ({ ...STEADY, closesAfter: 3, closesBy }),
      };
      // What is longer than a segment may have been told in part when it is cut off.
      const short = ids(90).filter(id => bodyOf(id).length < 1_200);
      await scene(script, { connections: 3 }, async ({ dispatcher }) => {
        await Promise.all(short.map(id => ask(dispatcher, id)));
      });
    });
  }

  it('and says so loses none either', bounded, async () => {
    const script = told((id, attempt) => (attempt === 1 && id.endsWith('2') ? 'close-told' : 'plain'));
    await scene(script, { connections: 2 }, async ({ dispatcher }) => {
      await Promise.all(ids(40).map(id => ask(dispatcher, id)));
    });
  });

  it('is not used again after an answer of HTTP/1.0, or one that ends with it', bounded, async () => {
    const script = told((_id, attempt) => (attempt === 1 ? 'http-1.0' : 'until-close'));
    await scene(script, {}, async ({ server, dispatcher }) => {
      for (const id of ids(5)) await ask(dispatcher, id);
      assert.equal(server.connections.length, 5);
    });
  });

  it('without an answer has those that are asked again wait for one another', bounded, async () => {
    await scene(once('reset-in-head'), {}, async ({ server, dispatcher }) => {
      await ask(dispatcher, 'first');
      const [, ...others] = await Promise.allSettled(['bad', ...ids(6)].map(id => ask(dispatcher, id)));
      assert.ok(others.every(({ status }) => status === 'fulfilled'));
      for (const { attempt, outstanding } of server.seen) assert.ok(attempt === 1 || outstanding === 0);
    });
  });

  for (const [what, options] of [
    ['is not idempotent', () => ({ method: 'POST', body: 'x' })],
    ['has a body that streams', () => ({ method: 'PUT', body: Readable.from(['a', 'b']) })],
    ['is said not to be idempotent', () => ({ idempotent: false, headers: { 'x-idempotent': 'no' } })],
  ] as const satisfies [string, () => Options][]) {
    it(`fails a request that ${what}, which is not sent again`, bounded, async () => {
      for (const behaviour of ['fin-in-head', 'reset-in-head', 'reset-in-body'] as const) {
        await scene(once(behaviour), {}, async ({ server, dispatcher }) => {
          await ask(dispatcher, 'first');
          await failure(ask(dispatcher, 'bad', options() as Options));
          await ask(dispatcher, 'last');
          assert.equal(server.sightingsOf('bad').length, 1);
        });
      }
    });
  }
});

describe('a body that is longer than allowed', () => {
  it('fails, and nothing else does', bounded, async () => {
    const long = ids(200, 'long').find(id => bodyOf(id).length > 50_000)!;
    const short = ids(60).filter(id => bodyOf(id).length < 2_000);
    await scene(
      told(() => 'plain'),
      { maxResponseSize: 40_000 },
      async ({ dispatcher }) => {
        await ask(dispatcher, short[0]!);
        const tooLong = failure(ask(dispatcher, long));
        const others = short.slice(1).map(id => ask(dispatcher, id));
        assert.equal((await tooLong).code, 'UND_ERR_RES_EXCEEDED_MAX_SIZE');
        await Promise.all(others);
      },
    );
  });
});

describe('the end', () => {
  it('by close() comes when everything has been answered', bounded, async () => {
    await scene(
      told(() => 'late'),
      { connections: 2 },
      async ({ dispatcher, allEnded }) => {
        const asked = ids(20).map((id, i) => ask(dispatcher, id, i % 6 === 5 ? { method: 'POST' } : {}));
        const closed = dispatcher.close();
        assert.equal((await failure(ask(dispatcher, 'after'))).code, 'UND_ERR_CLOSED');
        await Promise.all(asked);
        await closed;
        await allEnded();
      },
    );
  });

  it('by destroy() fails everything that is under way, with its reason', bounded, async () => {
    await scene(
      told(() => 'stall-before'),
      { connections: 2 },
      async ({ server, dispatcher, allEnded }) => {
        const reason = new Error('enough');
        const asked = ids(20).map(id => failure(ask(dispatcher, id)));
        while (server.seen.length === 0) await sleep(1);
        await dispatcher.destroy(reason);
        for (const error of await Promise.all(asked)) assert.equal(error, reason);
        assert.equal((await failure(ask(dispatcher, 'after'))).code, 'UND_ERR_DESTROYED');
        await allEnded();
      },
    );
  });
});
