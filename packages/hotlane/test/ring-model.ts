/**
 * A model of the window's protocol (transport/layout.ts, wake.ts, lane-loop.ts, window.ts) small enough to look at
 * every interleaving: one host, two lanes, three slots, a lane that may die before any of its steps.
 *
 * Each step is one access to shared memory, in the order in which the code makes them. What must hold is checked in
 * every state, and where nothing can move any more, every call must be settled.
 */

const LANES = 2;
const SLOTS = 3;
const RING = 2 * SLOTS;

const FREE = 0;
const PUBLISHED = 1;
const CLAIMED = 2; // + lane
const STARTED = 4;
const DONE = 6;

/** A lane's program, by the names of its steps. */
const [
  TAIL_,
  ENTRY,
  CLAIM,
  HELP,
  OWES,
  PEEK,
  RING_OTHER,
  START,
  FINISH,
  ANSWER,
  SPIN_ON,
  SPIN_LOOK,
  SPIN_OFF,
] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12];
const [BELL_READ, SLEEP_ON, SLEEP_LOOK, ASLEEP, SLEEP_OFF, DEAD, GONE] = [13, 14, 15, 16, 17, 18, 19];
/** The host's. */
const [IDLE, RING_WRITE, SPINNERS, WAKE, WAKE_TAKE] = [0, 1, 2, 3, 4];

interface LaneState {
  pc: number;
  tail: number;
  slot: number;
  won: boolean;
  owes: boolean;
  /** Took its sign of spinning down because it found work. */
  found: boolean;
  bellSeen: number;
}

interface State {
  head: number;
  tail: number;
  ring: number[];
  slots: number[];
  asleep: boolean[];
  spinning: boolean[];
  bell: number[];
  replies: number[][];
  lanes: LaneState[];
  host: { pc: number; head: number; fresh: number; slot: number; toWake: number; at: number };
  /** Which call is in which slot, as the host knows it; −1 for none. */
  callAt: number[];
  /** Per call: 0 not yet published, 1 in the window, 2 settled. */
  calls: number[];
  starts: number[];
  deaths: number;
  recalls: number;
}

/** Ways to break the protocol, to see that the model notices. */
export type Fault =
  | 'none'
  | 'sleep without looking again'
  | 'no ring after a claim'
  | 'claim without compare-and-swap'
  | 'requeue what had started'
  | 'forget claimed calls'
  | 'read the bell after looking';

export interface ModelResult {
  readonly states: number;
  readonly problem: string | null;
  /** The steps that lead there. */
  readonly path: readonly string[];
}

export function explore(options: {
  calls: number;
  deaths: number;
  recalls: number;
  fault?: Fault;
}): ModelResult {
  const fault = options.fault ?? 'none';
  const first: State = {
    head: 0,
    tail: 0,
    ring: new Array(RING).fill(0),
    slots: new Array(SLOTS).fill(FREE),
    asleep: [false, false],
    spinning: [false, false],
    bell: [0, 0],
    replies: [[], []],
    lanes: Array.from({ length: LANES }, () => ({
      pc: TAIL_,
      tail: 0,
      slot: 0,
      won: false,
      owes: false,
      found: false,
      bellSeen: 0,
    })),
    host: { pc: IDLE, head: 0, fresh: 0, slot: 0, toWake: 0, at: 0 },
    callAt: new Array(SLOTS).fill(-1),
    calls: new Array(options.calls).fill(0),
    starts: new Array(options.calls).fill(0),
    deaths: options.deaths,
    recalls: options.recalls,
  };

  const seen = new Map<string, { from: string; step: string }>();
  const stack: { state: State; key: string }[] = [];
  let problem: string | null = null;
  let problemKey = '';

  const reach = (state: State, from: string, step: string): void => {
    const key = pack(state);
    if (seen.has(key)) return;
    seen.set(key, { from, step });
    const wrong = check(state);
    if (wrong !== null && problem === null) {
      problem = wrong;
      problemKey = key;
    }
    stack.push({ state, key });
  };

  reach(first, '', 'begin');
  while (stack.length > 0 && problem === null) {
    const { state, key } = stack.pop()!;
    let moved = false;
    let onlyFunctionsRun = true;
    for (const [step, next] of successors(state, fault)) {
      const isChance = step.endsWith('dies') || step.includes('recalls');
      moved ||= !isChance;
      onlyFunctionsRun &&= isChance || step.endsWith('is done');
      reach(next, key, step);
    }
    const published = state.slots.includes(PUBLISHED) || state.calls.includes(0);
    if (onlyFunctionsRun && published && state.lanes.some(lane => lane.pc === ASLEEP)) {
      problem ??= 'a lane sleeps beside a waiting call, until some function returns';
      problemKey ||= key;
    }
    const alive = state.lanes.some(lane => lane.pc < DEAD);
    if (!moved && alive && state.calls.some(call => call !== 2)) {
      problem ??= 'nothing moves, a lane is alive, and a call is not settled';
      problemKey = key;
    }
  }
  const path: string[] = [];
  for (let key = problem === null ? '' : problemKey; key !== ''; ) {
    const { from, step } = seen.get(key)!;
    path.unshift(step);
    key = from;
  }
  return { states: seen.size, problem, path };
}

/** A state as a short text: one character per number. */
function pack(state: State): string {
  const { host } = state;
  const numbers = [state.head, state.tail, ...state.ring, ...state.slots, ...state.bell, ...state.callAt];
  numbers.push(...state.calls, ...state.starts, state.deaths, state.recalls);
  numbers.push(host.pc, host.head, host.fresh, host.slot, host.toWake, host.at);
  for (let id = 0; id < LANES; id++) {
    const { pc, tail, slot, won, owes, found, bellSeen } = state.lanes[id];
    const flags = [won, owes, found, state.asleep[id], state.spinning[id]];
    numbers.push(pc, tail, slot, bellSeen, ...flags.map(Number), ...state.replies[id], 9);
  }
  return String.fromCharCode(...numbers.map(number => number + 48));
}

function check(state: State): string | null {
  for (const [call, starts] of state.starts.entries())
    if (starts > 1) return `call ${call} started ${starts} times`;
  for (let slot = 0; slot < SLOTS; slot++) {
    if (state.slots[slot] !== FREE && state.callAt[slot] < 0) return `slot ${slot} is taken and has no call`;
  }
  if (state.tail > state.head) return 'TAIL went past HEAD';
  return null;
}

/** All states that one step leads to. */
function* successors(state: State, fault: Fault): Generator<[string, State]> {
  for (let lane = 0; lane < LANES; lane++) {
    const { pc } = state.lanes[lane];
    if (pc >= DEAD) continue;
    yield* laneSteps(state, lane, fault);
    if (state.deaths > 0) {
      yield change(state, `lane ${lane} dies`, next => {
        next.deaths--;
        next.lanes[lane] = { ...next.lanes[lane], pc: DEAD };
      });
    }
  }
  yield* hostSteps(state, fault);
}

function change(state: State, step: string, edit: (next: State) => void): [string, State] {
  const next = structuredCloneLight(state);
  edit(next);
  return [step, next];
}

function structuredCloneLight(state: State): State {
  return {
    ...state,
    ring: [...state.ring],
    slots: [...state.slots],
    asleep: [...state.asleep],
    spinning: [...state.spinning],
    bell: [...state.bell],
    replies: state.replies.map(list => [...list]),
    lanes: state.lanes.map(lane => ({ ...lane })),
    host: { ...state.host },
    callAt: [...state.callAt],
    calls: [...state.calls],
    starts: [...state.starts],
  };
}

function* laneSteps(state: State, id: number, fault: Fault): Generator<[string, State]> {
  const lane = state.lanes[id];
  const go = (step: string, edit: (next: State, me: LaneState) => void): [string, State] =>
    change(state, `lane ${id}: ${step}`, next => edit(next, next.lanes[id]));
  const other = 1 - id;
  const hasWork = state.head !== state.tail;

  switch (lane.pc) {
    case TAIL_:
      yield go('reads TAIL', (next, me) => {
        me.tail = next.tail;
        me.pc = ENTRY;
      });
      break;
    case ENTRY:
      yield go('compares with HEAD, reads the entry', (next, me) => {
        if (me.tail === next.head) {
          me.pc = SPIN_ON;
          me.tail = 0;
        } else {
          me.slot = next.ring[me.tail % RING];
          me.pc = CLAIM;
        }
      });
      break;
    case CLAIM:
      yield go('tries to claim', (next, me) => {
        me.won = next.slots[me.slot] === PUBLISHED;
        if (fault === 'claim without compare-and-swap') me.won = next.slots[me.slot] !== FREE;
        if (me.won) next.slots[me.slot] = CLAIMED + id;
        me.pc = HELP;
      });
      break;
    case HELP:
      yield go('moves TAIL on', (next, me) => {
        if (next.tail === me.tail) next.tail++;
        me.pc = me.won ? (me.owes && fault !== 'no ring after a claim' ? OWES : START) : TAIL_;
        me.tail = 0;
        me.won = false;
      });
      break;
    case OWES:
      yield go('looks whether there is more', (_, me) => {
        me.owes = false;
        me.pc = hasWork ? PEEK : START;
      });
      break;
    case PEEK:
      yield go('looks for a sleeper', (next, me) => {
        me.pc = next.asleep[other] ? RING_OTHER : START;
      });
      break;
    case RING_OTHER:
      yield go('rings it', (next, me) => {
        if (next.asleep[other]) {
          next.asleep[other] = false;
          next.bell[other]++;
        }
        me.pc = START;
      });
      break;
    case START:
      yield go('starts', (next, me) => {
        next.slots[me.slot] = STARTED + id;
        next.starts[next.callAt[me.slot]]++;
        me.pc = FINISH;
      });
      break;
    case FINISH:
      yield go('is done', (next, me) => {
        next.slots[me.slot] = DONE + id;
        me.pc = ANSWER;
      });
      break;
    case ANSWER:
      yield go('shows the answer', (next, me) => {
        next.replies[id].push(me.slot);
        me.slot = 0;
        me.pc = TAIL_;
      });
      break;
    case SPIN_ON:
      yield go('sets its sign of spinning', (next, me) => {
        next.spinning[id] = true;
        me.pc = SPIN_LOOK;
      });
      yield go('does not spin', (_, me) => {
        me.pc = fault === 'read the bell after looking' ? SLEEP_ON : BELL_READ;
      });
      break;
    case SPIN_LOOK:
      yield go('looks once more', (_, me) => {
        me.found = hasWork;
        me.pc = SPIN_OFF;
      });
      break;
    case SPIN_OFF:
      yield go('takes its sign of spinning back', (next, me) => {
        next.spinning[id] = false;
        if (me.found) me.owes = true;
        me.pc = me.found ? TAIL_ : fault === 'read the bell after looking' ? SLEEP_ON : BELL_READ;
        me.found = false;
      });
      break;
    case BELL_READ:
      yield go('reads its bell', (next, me) => {
        me.bellSeen = next.bell[id];
        me.pc = fault === 'read the bell after looking' ? ASLEEP : SLEEP_ON;
      });
      break;
    case SLEEP_ON:
      yield go('sets its sign of sleeping', (next, me) => {
        next.asleep[id] = true;
        me.pc = fault === 'sleep without looking again' ? ASLEEP : SLEEP_LOOK;
      });
      break;
    case SLEEP_LOOK:
      yield go('looks again', (_, me) => {
        me.pc = hasWork ? SLEEP_OFF : fault === 'read the bell after looking' ? BELL_READ : ASLEEP;
      });
      break;
    case ASLEEP:
      if (state.bell[id] !== lane.bellSeen) {
        yield go('wakes', (_, me) => {
          me.pc = SLEEP_OFF;
        });
      }
      break;
    case SLEEP_OFF:
      yield go('takes its sign of sleeping back', (next, me) => {
        next.asleep[id] = false;
        // Bells are compared, not counted: rung and seen is as good as never rung.
        next.bell[id] = 0;
        me.bellSeen = 0;
        me.owes = true;
        me.pc = TAIL_;
      });
      break;
  }
}

function* hostSteps(state: State, fault: Fault): Generator<[string, State]> {
  const { host } = state;
  const go = (step: string, edit: (next: State) => void): [string, State] =>
    change(state, `host: ${step}`, edit);
  const settle = (next: State, slot: number): void => {
    const call = next.callAt[slot];
    if (next.calls[call] === 2) throw new Error(`call ${call} settled twice`);
    next.calls[call] = 2;
    next.callAt[slot] = -1;
    next.slots[slot] = FREE;
  };

  switch (host.pc) {
    case IDLE: {
      const call = state.calls.indexOf(0);
      const slot = state.callAt.lastIndexOf(-1);
      if (call >= 0 && slot >= 0 && host.head - state.tail < RING) {
        yield go(`publishes call ${call} in slot ${slot}`, next => {
          next.calls[call] = 1;
          next.callAt[slot] = call;
          next.slots[slot] = PUBLISHED;
          next.host.slot = slot;
          next.host.pc = RING_WRITE;
        });
      }
      if (host.fresh > 0) {
        yield go('shows HEAD', next => {
          next.head = next.host.head;
          next.host.pc = SPINNERS;
        });
      }
      for (let slot = 0; slot < SLOTS && state.recalls > 0; slot++) {
        if (state.slots[slot] !== PUBLISHED) continue;
        yield go(`recalls slot ${slot}`, next => {
          next.recalls--;
          settle(next, slot);
        });
      }
      for (let lane = 0; lane < LANES; lane++) {
        if (state.replies[lane].length > 0) {
          yield go(`takes an answer of lane ${lane}`, next => {
            settle(next, next.replies[lane].shift()!);
          });
        } else if (state.lanes[lane].pc === DEAD) {
          yield go(`sweeps up after lane ${lane}`, next => sweep(next, lane, settle, fault));
        }
      }
      break;
    }
    case RING_WRITE:
      yield go('writes the entry', next => {
        next.ring[next.host.head % RING] = next.host.slot;
        next.host.head++;
        next.host.fresh++;
        next.host.pc = IDLE;
      });
      break;
    case SPINNERS:
      yield go('counts who spins', next => {
        next.host.toWake = next.host.fresh - next.spinning.filter(Boolean).length;
        next.host.fresh = 0;
        next.host.at = 0;
        next.host.pc = next.host.toWake > 0 ? WAKE : IDLE;
      });
      break;
    case WAKE:
      yield go(`looks whether lane ${host.at} sleeps`, next => {
        if (next.asleep[next.host.at]) next.host.pc = WAKE_TAKE;
        else if (++next.host.at === LANES) next.host.pc = IDLE;
      });
      break;
    case WAKE_TAKE:
      yield go(`rings lane ${host.at}`, next => {
        if (next.asleep[next.host.at]) {
          next.asleep[next.host.at] = false;
          next.bell[next.host.at]++;
          next.host.toWake--;
        }
        next.host.pc = ++next.host.at === LANES || next.host.toWake === 0 ? IDLE : WAKE;
      });
      break;
  }
}

function sweep(next: State, lane: number, settle: (next: State, slot: number) => void, fault: Fault): void {
  next.lanes[lane].pc = GONE;
  next.asleep[lane] = false;
  next.spinning[lane] = false;
  for (let slot = 0; slot < SLOTS; slot++) {
    const state = next.slots[slot];
    if (state === CLAIMED + lane && fault !== 'forget claimed calls') {
      next.calls[next.callAt[slot]] = 0; // it is published again
      next.callAt[slot] = -1;
      next.slots[slot] = FREE;
    } else if (state === STARTED + lane || state === DONE + lane) {
      if (fault === 'requeue what had started') {
        next.calls[next.callAt[slot]] = 0;
        next.callAt[slot] = -1;
        next.slots[slot] = FREE;
      } else settle(next, slot);
    }
  }
  // It may have been rung for a call that it never claimed.
  if (next.head !== next.tail) {
    for (let other = 0; other < LANES; other++) {
      if (!next.asleep[other]) continue;
      next.asleep[other] = false;
      next.bell[other]++;
    }
  }
}
