import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { HostLoop } from '../src/transport/host-loop.ts';
import { HOST_ASLEEP, Layout } from '../src/transport/layout.ts';

/** A loop on a clock that goes on by 1 ms a look, with turns that the test runs; what it drains is up to the test. */
function createLoop(drain: (control: Int32Array) => number, live: () => boolean) {
  const control = new Int32Array(new SharedArrayBuffer(new Layout(1, 8, 64).words * 4));
  const turns: (() => void)[] = [];
  let now = 1;
  const platform = { turn: (next: () => void) => void turns.push(next), cores: 2, keepAlive: () => {} };
  const clock = { now: () => now++, setTimer: () => undefined, clearTimer: () => {}, random: () => 0.5 };
  const demand = { live, holds: () => true };
  return {
    control,
    turns,
    loop: new HostLoop(
      control,
      clock,
      platform,
      () => drain(control),
      () => 0,
      demand,
    ),
  };
}

describe('the host’s loop', () => {
  it('looks once more after it set its sign of sleeping: a lane that saw no sign rings nobody', async () => {
    let taken = 0;
    // The answer is shown just before the sign is set, when its lane has looked for the sign already.
    const drain = (control: Int32Array) => (control[HOST_ASLEEP] === 1 && taken === 0 ? ++taken : 0);
    const { control, turns, loop } = createLoop(drain, () => taken === 0);
    loop.kick();
    await null;
    for (let i = 0; i < 1_000 && taken === 0 && turns.length > 0; i++) turns.shift()!();
    assert.equal(taken, 1, 'it went to sleep beside an answer');
    assert.equal(control[HOST_ASLEEP], 0, 'and it is awake');
    loop.dispose();
  });

  it('sleeps without polling when a sleeping lane had to be rung, and polls again after its answer', async () => {
    let live = true;
    let shown = 0;
    const { control, turns, loop } = createLoop(
      () => shown,
      () => live,
    );
    loop.kick();
    loop.onRung();
    await null;
    assert.equal(control[HOST_ASLEEP], 1, 'asleep when the present code is over');
    assert.equal(turns.length, 0, 'no turn was taken for it');
    loop.kick();
    assert.equal(control[HOST_ASLEEP], 1, 'another call does not wake it');
    // The lane answers, as in LaneLoop: it takes the sign back and rings.
    shown = 1;
    Atomics.store(control, HOST_ASLEEP, 0);
    Atomics.notify(control, HOST_ASLEEP);
    for (let i = 0; i < 100 && turns.length === 0; i++) await new Promise(setImmediate);
    assert.equal(turns.length, 1, 'awake, with calls in flight: it polls');
    live = false;
    turns.shift()!();
    assert.equal(turns.length, 0, 'nothing is in flight: it rests');
    loop.dispose();
  });
});
