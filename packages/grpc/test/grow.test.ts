import assert from 'node:assert/strict';
import { test } from 'node:test';
import { status } from '@grpc/grpc-js';
import { serve } from './kit/serve.ts';

test('calls that compute start as many lanes as it takes, without a word about how many', async t => {
  const { client, service } = await serve(t, { lanes: { max: 3 }, budget: false });
  const lanes = new Set<number | undefined>();
  // Each takes longer than a start is thought to last, so that waiting for one lane costs more than another.
  for (let round = 0; round < 20 && lanes.size < 3; round++) {
    const outcomes = await Promise.all(
      Array.from({ length: 12 }, () => client.ask({ text: 'work', number: 40 })),
    );
    for (const { answer, code } of outcomes) {
      assert.equal(code, status.OK);
      lanes.add(answer?.lane);
    }
  }
  assert.equal(lanes.size, 3);
  assert.equal(service.stats().lanes.length, 3);
});

test('calls that await share a lane, however many', async t => {
  const { client, service } = await serve(t, { lanes: { max: 3 }, budget: false });
  await client.ask({ text: 'echo' });
  const outcomes = await Promise.all(
    Array.from({ length: 100 }, () => client.ask({ text: 'later', number: 300 })),
  );
  assert.deepEqual(new Set(outcomes.map(({ answer }) => answer?.lane)), new Set([1]));
  assert.equal(service.stats().lanes.length, 1);
});
