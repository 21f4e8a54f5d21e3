import { type Call, NOWHERE } from '../lane/call.ts';
import type { Lane, LaneEvents, LaneState, Placement, TaskOutcomes } from '../lane/lane.ts';
import { type ContractCase, check, equal, pause, range, until } from './check.ts';

/** A kind of lane, as the lane contract is given it. What its calls carry is no business of the contract's. */
export interface LaneSubject {
  /**
   * Makes a place for lanes, each of which runs `depth` calls at once.
   *
   * @param outcomes where what becomes of calls must be told; none of them has callbacks or streams
   */
  open(outcomes: TaskOutcomes, depth: number): LaneRig;
}

/** What the contract needs of a placement. */
export interface LanePlace extends Pick<Placement, 'window' | 'running' | 'handed'> {
  createLane(id: number, events: LaneEvents): Lane;
}

export interface LaneRig {
  readonly placement: LanePlace;
  /** A call that is ready to be handed over: it answers soon, fails soon, or is held until `release`. */
  call(what: 'quick' | 'failing' | 'held'): Call;
  /** How many held calls have begun so far. */
  begun(): number;
  /** Lets all held calls answer, those to come included. */
  release(): void;
  dispose(): void;
}

/** Stands where the pool and the fleet stand, and notes all that it is told. */
class Owner implements TaskOutcomes, LaneEvents {
  readonly settled: { call: Call; failed: boolean }[] = [];
  readonly finishedCalls: Call[] = [];
  readonly ended: { lane: Lane; unstarted: readonly Call[]; started: readonly Call[] }[] = [];
  readonly ups: Lane[] = [];

  settle(call: Call, failed: boolean): void {
    check(!this.finishedCalls.includes(call), 'a call is settled before its lane is free of it');
    this.settled.push({ call, failed });
    call.settled = true;
  }

  finished(call: Call): void {
    this.finishedCalls.push(call);
  }

  onUp(lane: Lane): void {
    lane.state = 'up';
    this.ups.push(lane);
  }

  onWorn(): void {}

  createTalk(): never {
    throw new Error('no call of this contract has callbacks or streams');
  }

  onTalk(): void {}

  onEnding(lane: Lane): void {
    if (lane.state === 'up') lane.state = 'draining';
  }

  onEnded(lane: Lane, unstarted: readonly Call[], started: readonly Call[]): void {
    lane.state = 'ended';
    this.ended.push({ lane, unstarted, started });
  }

  stateOf(lane: Lane): LaneState {
    return lane.state;
  }
}

/**
 * What every lane promises to the scheduler and the fleet, connections included, as cases for any test runner.
 * Calls go to the placement's window where it has one, to the lane itself where it has none.
 */
export function laneContract(subject: LaneSubject): ContractCase[] {
  const cases: ContractCase[] = [];
  const it = (name: string, depth: number, body: (world: World) => Promise<void>) => {
    cases.push({
      name,
      run: async () => {
        const world = new World(subject, depth);
        try {
          await body(world);
        } finally {
          await world.close();
        }
      },
    });
  };

  it('comes up once, and is gone once, however often it is ended', 1, async world => {
    const { lane, owner } = await world.up();
    equal(owner.ups.length, 1, 'times it came up');
    lane.end(undefined);
    lane.end('again');
    await until(() => owner.ended.length > 0);
    lane.end('late');
    await pause(5);
    equal(owner.ended, [{ lane, unstarted: [], started: [] }]);
  });

  it('can be ended while it starts', 1, async world => {
    const { lane, owner } = world;
    lane.end('not needed');
    await until(() => owner.ended.length > 0);
    await pause(5);
    equal([owner.ended.length, owner.ups.length], [1, 0], 'times gone and up');
    equal(lane.cause, 'not needed');
  });

  it('settles each call once, as done or failed, and is then free of it', 2, async world => {
    const { owner } = await world.up();
    const calls = range(20).map(i => world.rig.call(i % 3 === 0 ? 'failing' : 'quick'));
    await world.handAll(calls);
    await until(() => owner.finishedCalls.length === calls.length);
    for (const [i, call] of calls.entries()) {
      const own = owner.settled.filter(outcome => outcome.call === call);
      equal(
        own.map(({ failed }) => failed),
        [i % 3 === 0],
        `outcomes of call ${i}`,
      );
      equal(
        owner.finishedCalls.filter(finished => finished === call).length,
        1,
        `times call ${i} was finished`,
      );
      equal(call.slot, NOWHERE, 'its slot');
    }
    equal(world.rig.placement.handed(), [], 'calls that it still has');
  });

  it('runs no more calls at once than its depth, and has room again when they are over', 3, async world => {
    const { lane, owner } = await world.up();
    const held = range(5).map(() => world.rig.call('held'));
    const handed = held.filter(call => world.handIfRoom(call));
    check(handed.length >= 3, 'there is room for as many as it can run');
    await until(() => world.rig.begun() === 3);
    await pause(5);
    equal([lane.running(), world.rig.placement.running()], [3, 3], 'running');
    world.rig.release();
    await until(() => owner.finishedCalls.length === handed.length);
    equal(lane.running(), 0, 'running');
    check(world.outlet.room() > 0, 'there is room again');
  });

  it(
    'gives a call back that has not started, which then never runs unless it is handed over again',
    1,
    async world => {
      const { owner } = await world.up();
      const call = world.rig.call('quick');
      world.outlet.hand(call);
      call.outlet = world.outlet;
      if (!world.outlet.recall(call)) {
        await until(() => owner.finishedCalls.length === 1); // it was quicker: then it has run
      } else {
        await pause(5);
        equal([owner.settled.length, owner.finishedCalls.length, call.slot], [0, 0, NOWHERE]);
        world.outlet.hand(call);
        await until(() => owner.finishedCalls.length === 1);
      }
      equal(owner.settled, [{ call, failed: false }]);
    },
  );

  it('does not give a call back that has started', 1, async world => {
    const { lane, owner } = await world.up();
    const call = world.rig.call('held');
    world.outlet.hand(call);
    await until(() => world.rig.begun() === 1);
    equal([world.outlet.recall(call), lane.running()], [false, 1], 'taken back, and running');
    world.rig.release();
    await until(() => owner.finishedCalls.length === 1);
    equal(world.outlet.recall(call), false, 'when it is over');
  });

  it(
    'sorts, when it is lost, what it had into started and unstarted, each call once, and settles none of it',
    2,
    async world => {
      const { lane, owner, rig } = await world.up();
      const calls = range(4)
        .map(() => rig.call('held'))
        .filter(call => world.handIfRoom(call));
      await until(() => rig.begun() === 2);
      lane.end('lost');
      await until(() => owner.ended.length > 0);
      const [{ started, unstarted }] = owner.ended;
      equal(started.length, 2, 'started');
      equal(lane.cause, 'lost');
      // What it never had stays in the window, for others.
      const left = [...started, ...unstarted, ...rig.placement.handed()];
      check(
        calls.every(call => left.filter(other => other === call).length === 1),
        'each call is told of once',
      );
      rig.release();
      await pause(5);
      equal([owner.settled.length, owner.finishedCalls.length], [0, 0], 'outcomes of lost calls');
    },
  );

  it('drains: what runs may finish, nothing more is taken, then it is gone', 2, async world => {
    const { lane, owner, rig } = await world.up();
    const held = range(2).map(() => rig.call('held'));
    await world.handAll(held);
    await until(() => rig.begun() === 2);
    lane.state = 'draining';
    lane.drain();
    equal(lane.room(), 0, 'room');
    await pause(5);
    equal(owner.ended.length, 0, 'times gone while calls run');
    rig.release();
    await until(() => owner.ended.length > 0);
    equal(owner.settled.length, 2, 'calls that finished');
    equal([owner.ended[0].started, owner.ended[0].unstarted], [[], []]);
  });

  it('takes calls that are for it alone', 1, async world => {
    const { lane, owner, rig } = await world.up();
    const calls = range(3).map(() => rig.call('quick'));
    for (const call of calls) {
      await until(() => lane.room() > 0);
      call.lane = lane;
      call.outlet = lane;
      lane.hand(call);
    }
    await until(() => owner.finishedCalls.length === 3);
    equal(
      owner.settled.map(({ failed }) => failed),
      [false, false, false],
    );
  });

  return cases;
}

/** One lane, and what the contract holds on to of it. */
class World {
  readonly owner = new Owner();
  readonly rig: LaneRig;
  readonly lane: Lane;

  constructor(subject: LaneSubject, depth: number) {
    this.rig = subject.open(this.owner, depth);
    const { window } = this.rig.placement;
    if (window !== null) window.capacity = depth;
    this.lane = this.rig.placement.createLane(1, this.owner);
  }

  get outlet() {
    return this.rig.placement.window ?? this.lane;
  }

  async up(): Promise<this> {
    await until(() => this.owner.stateOf(this.lane) !== 'starting');
    equal(this.lane.state, 'up');
    return this;
  }

  handIfRoom(call: Call): boolean {
    if (this.outlet.room() <= 0) return false;
    call.outlet = this.outlet;
    this.outlet.hand(call);
    return true;
  }

  async handAll(calls: readonly Call[]): Promise<void> {
    for (const call of calls) await until(() => this.handIfRoom(call));
  }

  async close(): Promise<void> {
    this.rig.release();
    if (this.lane.state !== 'ended') this.lane.end(undefined);
    await until(() => this.lane.state === 'ended');
    this.rig.dispose();
  }
}
