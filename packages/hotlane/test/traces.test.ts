import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { propagation } from '@opentelemetry/api';
import { createPool, type PoolOptions } from 'hotlane';
import { inSpan, register, type SpanSeen, spans, unregister } from './fixtures/tracing.ts';
import { fixture, leavesNothingBehind, PLACEMENTS, until } from './support.ts';

leavesNothingBehind();
after(unregister);

type Tasks = typeof import('./fixtures/traced-tasks.ts');
const tracedPool = (options: PoolOptions = {}) =>
  createPool<Tasks>(fixture('traced-tasks.ts'), { lanes: 1, setup: 'setUp', ...options });

/** Made before there is an API on the global object, as a pool of a module that is loaded early is. */
const early = tracedPool();

describe('a pool that was made before the trace API is registered', () => {
  it('makes calls without a trace, then within the next 64 calls all with it', async () => {
    after(() => early.close());
    for (let i = 0; i < 200; i++) await early.call.work('untraced');
    register();
    await inSpan('late', async () => {
      for (let i = 0; i < 100; i++) await early.call.work(`late ${i}`);
    });
    const [late] = spans('late');
    const seen = await early.call.finished();
    assert.ok(seen.filter(span => span.name === 'untraced').every(span => span.parent === undefined));
    const inTrace = seen.filter(span => span.name.startsWith('late ')).map(span => span.parent === late.id);
    assert.equal(inTrace.length, 100);
    assert.ok(inTrace.slice(64).every(Boolean), 'the last 36 calls are all of the trace');
  });
});

for (const placement of PLACEMENTS) {
  describe(`a trace, ${placement}`, () => {
    const finished = async (pool: ReturnType<typeof tracedPool>, prefix: string): Promise<SpanSeen[]> =>
      (placement === 'inline' ? spans() : await pool.call.finished()).filter(({ name }) =>
        name.startsWith(prefix),
      );

    it('goes on in the lane: spans of sync and async functions have the host’s span as their parent', async () => {
      await using pool = tracedPool({ placement });
      await inSpan(`${placement} request`, async () => {
        await pool.call.work(`${placement}-a`);
        await pool.call.workLater(`${placement}-b`);
        await assert.rejects(pool.call.fail(`${placement}-c`), RangeError);
      });
      const [request] = spans(`${placement} request`);
      const lane = await finished(pool, `${placement}-`);
      assert.deepEqual(
        lane.map(({ name }) => name),
        ['a', 'b before', 'b after', 'c'].map(name => `${placement}-${name}`),
      );
      for (const { trace, parent } of lane) assert.deepEqual([trace, parent], [request.trace, request.id]);
    });

    it('is each call’s own when many run at once in one lane', async () => {
      await using pool = tracedPool({ placement, concurrency: 8 });
      await Promise.all(
        Array.from({ length: 24 }, (_, i) =>
          inSpan(`${placement} host ${i}.`, () => pool.call.workLater(`${placement}+${i}.`)),
        ),
      );
      for (let i = 0; i < 24; i++) {
        const [host] = spans(`${placement} host ${i}.`);
        const lane = await finished(pool, `${placement}+${i}.`);
        assert.equal(lane.length, 2);
        for (const { trace, parent } of lane) assert.deepEqual([trace, parent], [host.trace, host.id]);
      }
    });

    it('is not that of another call: a call without one begins a trace of its own', async () => {
      await using pool = tracedPool({ placement });
      const first = inSpan(`${placement} other`, () => pool.call.workLater(`${placement}=theirs`));
      const second = pool.call.work(`${placement}=own`); // waits behind the first
      await Promise.all([first, second]);
      const [own] = await finished(pool, `${placement}=own`);
      assert.equal(own.parent, undefined);
    });
  });
}

describe('a trace', () => {
  it('goes on through a pool inside a lane', async () => {
    await using pool = tracedPool();
    const inner = await inSpan('outermost', () => pool.call.nested('nested'));
    const [outermost] = spans('outermost');
    const [nested] = (await pool.call.finished()).filter(({ name }) => name === 'nested');
    assert.deepEqual([nested.trace, nested.parent], [outermost.trace, outermost.id]);
    assert.deepEqual(
      inner.map(({ name }) => name),
      ['nested inner', 'nested inner before', 'nested inner after'],
    );
    for (const { trace, parent } of inner) assert.deepEqual([trace, parent], [outermost.trace, nested.id]);
  });

  it('is left out where the lane knows of no API, and the function runs as ever', async () => {
    await using pool = createPool<typeof import('./fixtures/tasks.ts')>(fixture('tasks.ts'), { lanes: 1 });
    assert.equal(await inSpan('plain', () => pool.call.add(1, 2)), 3);
  });

  it('that cannot be written fails no call', async () => {
    await using pool = tracedPool();
    propagation.disable();
    propagation.setGlobalPropagator({
      inject() {
        throw new Error('broken propagator');
      },
      extract: context => context,
      fields: () => [],
    });
    await inSpan('broken', () => pool.call.work('untold'));
    await until(async () => (await pool.call.finished()).some(span => span.name === 'untold'));
  });
});
