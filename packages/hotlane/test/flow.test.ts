import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { Inlet, Pump } from '../src/call/flow.ts';
import { FAILED, ITEM, STOP } from '../src/call/talk.ts';
import { Times } from '../src/fleet/times.ts';
import { HostTalk, KeptByLanes } from '../src/talk.ts';

const platform = { now: () => performance.now(), turn: (next: () => void) => void setImmediate(next) };

/** A pump and an inlet, joined by a way on which nothing is lost; each item says how large it is. */
function joined(sizes: readonly number[], window: number) {
  const inlet: Inlet = new Inlet(
    { credit: n => void setImmediate(() => pump.grant(n)), stop: async () => pump.stop() },
    window,
    true,
  );
  const target = {
    item: (size: unknown) => {
      setImmediate(() => inlet.push(size));
      return size as number;
    },
    paused: () => void setImmediate(() => inlet.onPaused()),
  };
  const pump: Pump = new Pump(sizes.values(), target, platform, window, window);
  void pump.run().then(() => setImmediate(() => inlet.end()));
  return inlet;
}

describe("a stream's two ends", () => {
  it('get on when items become larger while many are on the way', async () => {
    const sizes = [...Array(600).fill(10), ...Array(20).fill(900_000), ...Array(600).fill(10)];
    const inlet = joined(sizes, 1_024);
    for (let i = 0; i < 50; i++) await turn(); // all that may be on the way is
    let read = 0;
    for await (const size of inlet) {
      assert.equal(size, sizes[read++]);
      if (read % 7 === 0) await turn();
    }
    assert.equal(read, sizes.length);
  });

  it('get on with any window', async () => {
    for (const window of [1, 2, 3, 64]) {
      let read = 0;
      for await (const _ of joined(Array(300).fill(1_000_000), window)) read++;
      assert.equal(read, 300);
    }
  });
});

describe('an item that cannot be read', () => {
  it('fails the stream after those before it, and stops the function', async () => {
    const said: number[] = [];
    const talk = new HostTalk(op => said.push(op), platform, new KeptByLanes());
    const inlet = talk.open({ credit() {}, stop: async () => {} }, 10);
    talk.receive(ITEM, 0, 0, 'first');
    talk.receive(FAILED, 0, 0, new RangeError('damaged'));
    assert.deepEqual(await inlet.next(), { done: false, value: 'first' });
    await assert.rejects(inlet.next(), /damaged/);
    assert.deepEqual(said, [STOP]);
  });
});

describe('the mean of running times', () => {
  it('is not moved by a call that was held up, and follows when functions become slow', () => {
    const times = new Times();
    for (let i = 0; i < 20; i++) times.add(0, 0.001);
    times.add(0, 50);
    times.add(0, 0.001);
    assert.ok(times.serviceMs < 0.0011, `${times.serviceMs}`);
    for (let i = 0; i < 20; i++) times.add(0, 2);
    assert.ok(times.serviceMs > 1.9, `${times.serviceMs}`);
    assert.equal(times.gap, 0, 'long calls are all timed');
  });
});
