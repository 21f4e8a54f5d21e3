import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Call, NOWHERE } from '../src/lane/call.ts';
import type { Lane, Outcomes, TaskLane } from '../src/lane/lane.ts';
import { clone } from '../src/place/clone.ts';
import { clock } from '../src/place/node.ts';
import { nodeCodec } from '../src/place/node-codec.ts';
import { LaneLoop } from '../src/transport/lane-loop.ts';
import {
  CLAIMED,
  DONE,
  FREE,
  HEAD,
  Layout,
  PUBLISHED,
  REPLY_HEAD,
  SLOT_WORDS,
  STARTED,
  STATUS_BITS,
  STATUS_MASK,
  TAIL,
  type ToLane,
  type WindowMemory,
} from '../src/transport/layout.ts';
import { SharedWindow } from '../src/transport/window.ts';
import { OneAtATime } from '../src/worker/context.ts';
import { Tasks } from '../src/worker/tasks.ts';

const flushed = () => new Promise<void>(resolve => setImmediate(resolve));

class Recorder implements Outcomes {
  createTalk(): never {
    throw new Error('no call here has callbacks or streams');
  }
  onTalk(): void {}
  readonly outcomes: { call: Call; failed: boolean; value: unknown }[] = [];
  finishedCalls = 0;
  settle(call: Call, failed: boolean, value: unknown): void {
    this.outcomes.push({ call, failed, value });
    call.settled = true;
  }
  finished(): void {
    this.finishedCalls++;
  }
}

/** A window with a seat whose lane is played by the test: it moves the slots' words by hand. */
function open({ slots = 8, mostBytes = 1 << 20, seats = 2 } = {}) {
  const recorder = new Recorder();
  const platform = { clock, codec: nodeCodec, clone, cores: 2, turn: () => {}, keepAlive: () => {} };
  const window = new SharedWindow(
    platform,
    recorder,
    { seats, slots, inbox: 64, mostBytes, mostValueBytes: 1 << 24 },
    { live: () => true, holds: () => true },
  );
  window.capacity = 1;
  const posted: ToLane[] = [];
  const ended: unknown[] = [];
  const lane = { id: 1, active: false, end: (cause: unknown) => ended.push(cause) } as unknown as TaskLane;
  const memory = window.seat(lane, message => posted.push(message));
  const layout = new Layout(seats, slots, 64);
  const control = new Int32Array(memory.control, 0, layout.words);
  const fn = window.defineFunction('f');
  const encode = (...args: unknown[]) => {
    const call = new Call(fn);
    assert.ok(window.encode(call, args, [], Number.POSITIVE_INFINITY));
    return call;
  };
  const hand = (...args: unknown[]) => {
    const call = encode(...args);
    window.hand(call);
    return call;
  };
  const state = (call: Call) => control[layout.slot0 + call.slot * SLOT_WORDS];
  const setState = (call: Call, status: number) => {
    control[layout.slot0 + call.slot * SLOT_WORDS] = status | (memory.seat << STATUS_BITS);
  };
  return { window, recorder, lane, memory, layout, control, posted, ended, encode, hand, state, setState };
}

/** A real lane on the test's own thread. */
function laneOn(memory: WindowMemory, tasks: Record<string, (...args: any[]) => unknown>): LaneLoop {
  const platform = {
    codec: nodeCodec,
    cores: 1,
    now: clock.now,
    turn: (next: () => void) => void setImmediate(next),
    post: () => {},
    clone,
    heapBytes: () => 0,
    markBusy: () => {},
  };
  const lane = new LaneLoop(
    platform,
    memory,
    new Tasks(tasks, 'test'),
    { laneId: 1, concurrency: 1, heapBytes: Number.POSITIVE_INFINITY, tearDown: null },
    new OneAtATime(),
  );
  lane.start();
  return lane;
}

describe('the window', () => {
  it('shows the first call of a burst at once, the others together when the microtask comes, in order', async () => {
    const { hand, control, layout, state } = open();
    const calls = [hand(1), hand(2), hand(3)];
    assert.equal(control[HEAD], 1);
    assert.ok(calls.every(call => state(call) === PUBLISHED));
    await null;
    assert.equal(control[HEAD], 3);
    assert.deepEqual(
      [0, 1, 2].map(i => control[layout.ring + i]),
      calls.map(call => call.slot),
    );
    const next = hand(4);
    assert.equal(control[HEAD], 4, 'the next burst begins anew');
    assert.equal(control[layout.ring + 3], next.slot);
  });

  for (const [runs, microseconds, room] of [
    ['a microsecond', 1, 2 + 1_000],
    ['a millisecond', 1_000, 2 + 2],
    ['twenty milliseconds', 20_000, 2],
  ] as const) {
    it(`takes ${room} calls for two lanes whose functions run for ${runs}`, async () => {
      const { window, memory, hand } = open({ slots: 2_048 });
      hand(1);
      await null;
      laneOn(memory, { f: () => 0 });
      window.capacity = 2;
      window.vacate(memory.seat);
      window.serviceMs = microseconds / 1_000;
      hand(2);
      assert.equal(window.room(), room - 1);
    });
  }

  it('takes back what is published, and nothing that a lane has', async () => {
    const { window, hand, setState } = open();
    const [free, claimed, started, done] = [hand(1), hand(2), hand(3), hand(4)];
    await null;
    setState(claimed, CLAIMED);
    setState(started, STARTED);
    setState(done, DONE);
    assert.equal(window.recall(free), true);
    assert.equal(free.slot, NOWHERE);
    for (const call of [claimed, started, done]) assert.equal(window.recall(call), false);
    assert.equal(window.handed().length, 3);
  });

  it('sorts what a lost lane left by the states of its slots', async () => {
    const { window, memory, hand, setState, state } = open();
    const [published, claimed, started, done] = [hand(1), hand(2), hand(3), hand(4)];
    await null;
    setState(claimed, CLAIMED);
    setState(started, STARTED);
    setState(done, DONE); // finished, but its answer was never shown
    const left = window.vacate(memory.seat);
    assert.deepEqual(left, { unstarted: [claimed], started: [started, done] });
    assert.equal(claimed.losses, 1);
    assert.equal(state(published), PUBLISHED, 'what it had not claimed stays for others');
    assert.deepEqual(window.handed(), [published]);
  });

  it('gives a claimed call with moved values up as started: they are gone with the lane', async () => {
    const { window, memory, posted, setState } = open();
    const buffer = new ArrayBuffer(8);
    const call = new Call(window.defineFunction('f'));
    window.encode(call, [buffer], [buffer], 100);
    window.hand(call);
    await null;
    setState(call, CLAIMED);
    window.onMessage(memory.seat, { kind: 'need', slot: call.slot });
    assert.equal(posted.at(-1)?.kind, 'side');
    assert.deepEqual(window.vacate(memory.seat), { unstarted: [], started: [call] });
  });

  it('frees every slot and all arguments, whatever became of the calls', async () => {
    const { window, memory, hand, setState } = open({ slots: 8 });
    for (let round = 0; round < 200; round++) {
      const calls = Array.from({ length: 8 }, () => hand(new Uint8Array(20_000)));
      await null;
      for (const call of calls.slice(0, 4)) {
        assert.ok(window.recall(call));
        window.discard(call);
      }
      for (const call of calls.slice(4)) setState(call, STARTED);
      const again = { id: 1, active: false, end() {} } as unknown as TaskLane;
      for (const call of window.vacate(memory.seat).started) window.discard(call);
      assert.equal(window.seat(again, () => {}).seat, memory.seat);
      assert.ok(calls.every(call => call.slot === NOWHERE));
    }
    assert.equal(window.room(), 8);
  });

  it('goes on when the ring is full of entries whose calls were taken back', async () => {
    const { window, memory, hand, encode, recorder } = open({ slots: 8 });
    const first = hand('first');
    for (let i = 0; i < 100; i++) {
      const call = hand(i);
      await null;
      assert.ok(window.recall(call));
      window.discard(call);
    }
    const last = encode('last');
    window.hand(last);
    await null;
    laneOn(memory, { f: value => value });
    await flushed();
    window.vacate(memory.seat);
    assert.deepEqual(
      recorder.outcomes.map(({ call, value }) => [call === first || call === last, value]),
      [
        [true, 'first'],
        [true, 'last'],
      ],
    );
  });

  it('runs a call once although two ring entries lead to its slot', async () => {
    const { window, memory, hand, recorder } = open({ slots: 8 });
    const taken = hand('taken back');
    await null;
    window.recall(taken);
    hand('again'); // gets the same slot, which the old entry still names
    await null;
    let runs = 0;
    laneOn(memory, { f: value => [value, ++runs] });
    await flushed();
    window.vacate(memory.seat);
    assert.deepEqual(
      recorder.outcomes.map(({ value }) => value),
      [['again', 1]],
    );
  });
});

describe('a call that goes before others', () => {
  let order = 0;
  /** A window whose calls have ranks, and what a lane runs of it, in order. */
  function ranked() {
    const at = open({ slots: 8 });
    const ready = (urgency: number, value: unknown) => {
      const call = at.encode(value);
      call.rank = { at: -urgency, order: order++ };
      return call;
    };
    const publish = (urgency: number, value: unknown) => {
      const call = ready(urgency, value);
      at.window.hand(call);
      return call;
    };
    const run = async () => {
      const ran: unknown[] = [];
      laneOn(at.memory, { f: value => ran.push(value) });
      await flushed();
      at.window.vacate(at.memory.seat);
      return ran;
    };
    return { ...at, ready, publish, run };
  }

  it('takes back those behind it, in their order, and none that a lane has', async () => {
    const { window, publish, ready, setState } = ranked();
    const [claimed, high, a, b] = [publish(0, 0), publish(2, 1), publish(0, 2), publish(0, 3)];
    await null;
    setState(claimed, CLAIMED);
    assert.deepEqual(window.recallBehind(ready(1, 'urgent')), [a, b]);
    assert.deepEqual(window.recallBehind(ready(0, 'late')), []);
    assert.deepEqual(window.handed().sort(), [claimed, high].sort());
  });

  it('is the next that a lane claims, although others are published anew in the slots that were taken back', async () => {
    const { window, publish, ready, run, recorder } = ranked();
    publish(9, 'first');
    const [a, b, c] = [publish(0, 'a'), publish(0, 'b'), publish(0, 'c')];
    await null;
    const urgent = ready(1, 'urgent');
    assert.deepEqual(window.recallBehind(urgent), [a, b, c]);
    // Not in the order in which their slots were given up.
    const most = ready(2, 'most urgent');
    for (const call of [most, urgent]) window.hand(call);
    assert.ok(window.recall(most));
    for (const call of [a, most, b, c]) window.hand(call);
    assert.deepEqual(await run(), ['first', 'urgent', 'a', 'most urgent', 'b', 'c']);
    assert.equal(recorder.outcomes.length, 6);
  });

  it('is the next also where those before it have no ranks and are not shown yet', async () => {
    const { window, hand, ready, run } = ranked();
    const [a, b] = [hand('a'), hand('b')];
    const urgent = ready(1, 'urgent');
    assert.deepEqual(window.recallBehind(urgent), [a, b]);
    for (const call of [urgent, a, b]) window.hand(call);
    await null;
    assert.deepEqual(await run(), ['urgent', 'a', 'b']);
  });

  it('leaves lanes nothing to pass where all was taken back', async () => {
    const { window, publish, ready, control } = ranked();
    for (let i = 0; i < 100; i++) {
      for (const call of [publish(i, 'a'), publish(i, 'b')]) assert.ok(call.slot >= 0);
      await null;
      assert.equal((control[HEAD] - control[TAIL]) | 0, 2);
      for (const call of window.recallBehind(ready(i + 1, 'urgent'))) window.discard(call);
      assert.equal(control[TAIL], control[HEAD]);
    }
  });

  it('shortens the window to one more call than lanes run, until the next answer; and for longer by what it cost', async () => {
    const { window, publish, ready, run } = ranked();
    window.serviceMs = 0.1;
    assert.equal(window.room(), 1 + 5);
    for (let i = 0; i < 4; i++) publish(0, i);
    await null;
    assert.equal(window.recallBehind(ready(1, 'urgent')).length, 4);
    assert.equal(window.room(), 1 + 1);
    publish(0, 1);
    await run();
    assert.equal(window.room(), 1 + 5 - 4 + 2);
    window.serviceMs = 20;
    assert.equal(window.room(), 1, 'long calls are not published ahead');
  });

  it('takes back those behind it in the inbox of its lane', async () => {
    const { window, memory, lane, encode, run } = ranked();
    const bound = (urgency: number, value: string) => {
      const call = encode(value);
      call.lane = lane;
      call.rank = { at: -urgency, order: order++ };
      return call;
    };
    const [high, a, b] = [bound(2, 'high'), bound(0, 'a'), bound(0, 'b')];
    for (const call of [high, a, b]) window.handTo(memory.seat, call);
    await null;
    const urgent = bound(1, 'urgent');
    assert.deepEqual(window.recallBehindIn(memory.seat, urgent), [a, b]);
    for (const call of [urgent, b, a]) window.handTo(memory.seat, call);
    assert.deepEqual(await run(), ['high', 'urgent', 'b', 'a']);
  });
});

describe('a call for one lane', () => {
  it('is taken by that lane alone, although an old entry of the ring leads to its slot', async () => {
    const { window, memory, hand, encode, recorder } = open({ slots: 8 });
    const second = window.seat({ id: 2, active: false, end() {} } as unknown as TaskLane, () => {});
    const taken = hand('taken back');
    await null;
    assert.ok(window.recall(taken));
    const bound = encode('bound');
    bound.lane = { id: 2 } as Lane;
    window.handTo(second.seat, bound);
    assert.equal(bound.slot, 0, 'it got the same slot');
    await null;
    const ran: string[] = [];
    laneOn(memory, { f: () => ran.push('first lane') });
    await flushed();
    assert.equal(ran.length, 0);
    laneOn(second, { f: () => ran.push('second lane') });
    await flushed();
    assert.deepEqual(ran, ['second lane']);
    window.vacate(second.seat);
    assert.equal(recorder.outcomes.length, 1);
  });

  it('can be taken back, and goes unstarted when its lane is lost before it claimed it', async () => {
    const { window, memory, encode, lane } = open({ slots: 8 });
    const [first, second] = [encode(1), encode(2)];
    first.lane = second.lane = lane;
    window.handTo(memory.seat, first);
    window.handTo(memory.seat, second);
    assert.equal(window.recall(first), true);
    assert.deepEqual(window.vacate(memory.seat), { unstarted: [second], started: [] });
  });
});

describe('a lane that damages the shared memory', () => {
  const damages: [string, (at: ReturnType<typeof open>, call: Call) => void][] = [
    [
      'shows replies that it has not written',
      ({ control, layout, memory }) => {
        control[layout.seat(memory.seat) + REPLY_HEAD] = 1 << 20;
      },
    ],
    [
      'shows a negative count',
      ({ control, layout, memory }) => {
        control[layout.seat(memory.seat) + REPLY_HEAD] = -8;
      },
    ],
    [
      'answers a call that it does not have',
      ({ window, memory }) =>
        window.onMessage(memory.seat, {
          kind: 'reply',
          slot: 5,
          failed: false,
          bytes: new ArrayBuffer(8),
          length: 1,
          values: [],
        }),
    ],
    [
      'answers with an impossible slot',
      ({ window, memory }) =>
        window.onMessage(memory.seat, {
          kind: 'reply',
          slot: 1e9,
          failed: false,
          bytes: new ArrayBuffer(8),
          length: 1,
          values: [],
        }),
    ],
    [
      'asks for values of a call that it has not claimed',
      ({ window, memory }, call) => window.onMessage(memory.seat, { kind: 'need', slot: call.slot }),
    ],
    [
      'posts what is no message of ours',
      ({ window, memory }) => window.onMessage(memory.seat, { kind: 'need', slot: 0.5 } as never),
    ],
    [
      'posts an unknown kind of message',
      ({ window, memory }) => window.onMessage(memory.seat, { kind: 'hello' } as never),
    ],
    [
      'answers with more bytes than it sent',
      (at, call) => {
        at.setState(call, DONE);
        at.window.onMessage(at.memory.seat, {
          kind: 'reply',
          slot: call.slot,
          failed: false,
          bytes: new ArrayBuffer(8),
          length: 9,
          values: [],
        });
      },
    ],
  ];
  for (const [what, damage] of damages) {
    it(`${what}: it is ended with PROTOCOL, and the call is not lost`, async () => {
      const at = open();
      const call = at.hand(1);
      await null;
      damage(at, call);
      at.window.vacate(at.memory.seat);
      assert.equal((at.ended[0] as any)?.code, 'ERR_HOTLANE_PROTOCOL');
      assert.equal(at.recorder.outcomes.length, 0);
    });
  }

  it('sends bytes that no value has: that call rejects with PROTOCOL', async () => {
    const at = open();
    const call = at.hand(1);
    await null;
    at.setState(call, DONE);
    const bytes = new Uint8Array(16).fill(0xff).buffer;
    at.window.onMessage(at.memory.seat, {
      kind: 'reply',
      slot: call.slot,
      failed: false,
      bytes,
      length: 16,
      values: [],
    });
    assert.equal(at.recorder.outcomes[0].failed, true);
    assert.equal((at.recorder.outcomes[0].value as any).code, 'ERR_HOTLANE_PROTOCOL');
  });
});

describe('slot words', () => {
  it('keep status and seat apart', () => {
    for (const status of [FREE, PUBLISHED, CLAIMED, STARTED, DONE]) {
      const word = status | (1023 << STATUS_BITS);
      assert.equal(word & STATUS_MASK, status);
      assert.equal(word >> STATUS_BITS, 1023);
    }
  });
});
