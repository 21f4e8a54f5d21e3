import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import type { PoolStats } from 'hotlane';
import { describeExamples, ExampleServer, makeGate } from './server.ts';

const ENDLESS = '/primes?limit=9007199254740991';

/** Lanes that were replaced have others. */
const ids = (stats: PoolStats) => stats.lanes.map(({ id }) => id);

describeExamples('server, when calls fail', example => {
  let server: ExampleServer;
  before(async () => {
    server = await ExampleServer.start(example);
  });
  after(() => server.end());

  it('answers 504 when the deadline passes, and has its lanes back', async t => {
    const server = await ExampleServer.start(example, { DEADLINE_MS: '200' });
    t.after(() => server.end());
    const before = await server.stats();
    const responses = await Promise.all(Array.from({ length: 4 }, () => fetch(server.url + ENDLESS)));
    for (const response of responses) {
      assert.equal(response.status, 504);
      assert.equal(((await response.json()) as { error: string }).error, 'DEADLINE');
    }
    const after = await server.until(({ running, queued }) => running === 0 && queued === 0);
    assert.equal(after.failed, 4);
    // The functions stopped by themselves: no lane was ended for it.
    assert.deepEqual(ids(after), ids(before));
  });

  it('stops the work for a client that goes away, running or waiting', async () => {
    const before = await server.stats();
    const client = new AbortController();
    const gone = [1, 2, 3, 4, 5].map(() =>
      fetch(server.url + ENDLESS, { signal: client.signal }).catch(error => error.name),
    );
    await server.until(({ running, queued }) => running === 2 && queued === 3);
    client.abort();
    assert.deepEqual(await Promise.all(gone), Array(5).fill('AbortError'));

    const after = await server.until(({ running, queued }) => running === 0 && queued === 0);
    assert.deepEqual([after.done - before.done, after.failed - before.failed], [0, 5]);
    assert.deepEqual(ids(after), ids(before));
    assert.equal((await fetch(`${server.url}/primes?limit=10`)).status, 200);
    assert.equal(server.output.split('\n').length, 2, server.output); // nothing to log: it listens, no more
  });

  it('answers 502 when a function takes its lane with it, and serves the others', async t => {
    const gate = makeGate(t);
    const beside = server.hash(gate.password);
    const crashed = await Promise.all(Array.from({ length: 3 }, () => server.hash('exit')));
    for (const response of crashed) {
      assert.equal(response.status, 502);
      assert.deepEqual(await response.json(), { error: 'LOST', message: 'What worked on this is gone.' });
    }
    assert.equal((await server.hash('secret')).status, 200);
    gate.open();
    assert.equal((await beside).status, 200);
    assert.match(server.output, /ERR_HOTLANE_LANE_LOST/); // who runs the server hears of it
  });

  it('answers 500 to a bug, keeps it from the client and logs it', async () => {
    const response = await server.hash('bug');
    assert.equal(response.status, 500);
    assert.deepEqual(await response.json(), { error: 'INTERNAL', message: 'Something went wrong.' });
    assert.match(server.output, /TypeError: Cannot read properties of undefined/);
    assert.equal((await server.hash('secret')).status, 200);
  });
});
