import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { HostLoop } from '../src/transport/host-loop.ts';
import { HOST_ASLEEP, Layout } from '../src/transport/layout.ts';

describe('the host’s loop', () => {
  it('looks once more after it set its sign of sleeping: a lane that saw no sign rings nobody', () => {
    const control = new Int32Array(new SharedArrayBuffer(new Layout(1, 8, 64).words * 4));
    const turns: (() => void)[] = [];
    let now = 1;
    let taken = 0;
    const platform = { turn: (next: () => void) => void turns.push(next), cores: 2, keepAlive: () => {} };
    const clock = { now: () => now++, setTimer: () => undefined, clearTimer: () => {}, random: () => 0.5 };
    // The answer is shown just before the sign is set, when its lane has looked for the sign already.
    const drain = () => (control[HOST_ASLEEP] === 1 && taken === 0 ? ++taken : 0);
    const demand = { live: () => taken === 0, holds: () => true };
    const loop = new HostLoop(control, clock, platform, drain, () => 0, demand);
    loop.kick();
    for (let i = 0; i < 1_000 && taken === 0 && turns.length > 0; i++) turns.shift()!();
    assert.equal(taken, 1, 'it went to sleep beside an answer');
    assert.equal(control[HOST_ASLEEP], 0, 'and it is awake');
    loop.dispose();
  });
});
