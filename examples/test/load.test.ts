import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import autocannon from 'autocannon';
import { describeExamples, ExampleServer, makeGate } from './server.ts';

interface Answer {
  readonly status: number;
  readonly body: string;
  readonly headers: Record<string, string>;
}

/** Loads a server, and gives all its answers. */
async function load(options: autocannon.Options, requests: autocannon.Request[]): Promise<Answer[]> {
  const answers: Answer[] = [];
  const result = await autocannon({
    ...options,
    sampleInt: 50, // how often it looks whether it is done, in milliseconds
    requests: requests.map(request => ({
      ...request,
      onResponse: (status, body, _context, headers) =>
        answers.push({ status, body, headers: headers as Record<string, string> }),
    })),
  });
  assert.deepEqual([result.errors, result.timeouts, result.mismatches], [0, 0, 0]);
  assert.equal(answers.length, options.amount);
  return answers;
}

describeExamples('server under load', example => {
  let server: ExampleServer;
  before(async () => {
    server = await ExampleServer.start(example);
  });
  after(() => server.end());

  it('answers every request, and rightly', async () => {
    const answers = await load({ url: server.url, connections: 10, amount: 1000 }, [
      { path: '/primes?limit=5000' },
      { path: '/primes?limit=odd' },
    ]);
    const counts = { 200: 0, 400: 0 };
    for (const { status, body } of answers) {
      assert.ok(status === 200 || status === 400, `${status}: ${body}`);
      counts[status]++;
      if (status === 200) assert.deepEqual(JSON.parse(body), { limit: 5000, primes: 669 });
      else assert.equal(JSON.parse(body).error, 'INPUT');
    }
    assert.deepEqual(counts, { 200: 500, 400: 500 });
  });

  it('refuses with 503 what it cannot take, and serves on when the load is over', async t => {
    const gate = makeGate(t);
    const held = Array.from({ length: 10 }, () => server.hash(gate.password)); // what two lanes and the queue hold
    await server.until(({ running, queued }) => running === 2 && queued === 8);

    for (const { status, body, headers } of await load({ url: server.url, connections: 50, amount: 300 }, [
      { path: '/primes?limit=5000' },
    ])) {
      assert.deepEqual([status, JSON.parse(body).error], [503, 'BUSY']);
      assert.match(JSON.stringify(headers).toLowerCase(), /"retry-after":"1"/);
    }
    gate.open();
    assert.deepEqual(new Set((await Promise.all(held)).map(({ status }) => status)), new Set([200]));
    assert.equal((await fetch(`${server.url}/primes?limit=5000`)).status, 200);
  });

  it('serves or refuses each request when there is more load than it can take', async () => {
    const before = await server.stats();
    const answers = await load({ url: server.url, connections: 50, amount: 300 }, [
      { path: '/primes?limit=20000' },
    ]);
    for (const { status, body } of answers) {
      if (status === 200) assert.deepEqual(JSON.parse(body), { limit: 20_000, primes: 2262 });
      else assert.deepEqual([status, JSON.parse(body).error], [503, 'BUSY']);
    }
    const served = answers.filter(({ status }) => status === 200).length;
    assert.ok(served >= 10, `${served} served`);
    const stats = await server.stats();
    assert.deepEqual([stats.done - before.done, stats.failed - before.failed], [served, 0]);
    assert.deepEqual([stats.running, stats.queued], [0, 0]);
  });

  it('is not blocked by its lanes: it answers while all of them are', async t => {
    const gate = makeGate(t);
    const held = [server.hash(gate.password), server.hash(gate.password)];
    await server.until(({ running }) => running === 2);
    for (const { status, body } of await load({ url: server.url, connections: 10, amount: 500 }, [
      { path: '/health' },
    ])) {
      assert.deepEqual([status, body], [200, '{"ok":true}']);
    }
    assert.equal((await server.stats()).running, 2);
    gate.open();
    for (const { status } of await Promise.all(held)) assert.equal(status, 200);
  });
});
