import { describe, it } from 'node:test';
import { createPool } from 'hotlane';
import { callContract, type LaneRig, laneContract } from 'hotlane/testing';
import { Call } from '../src/lane/call.ts';
import type { Placement, TaskOutcomes } from '../src/lane/lane.ts';
import { type ResolvedPoolOptions, resolvePoolOptions } from '../src/options.ts';
import { InlinePlacement } from '../src/place/inline.ts';
import { threadPlacement } from '../src/place/thread.ts';
import { counters, fixture, leavesNothingBehind } from './support.ts';

leavesNothingBehind();

const TASKS = import.meta.resolve('hotlane/testing/tasks');
const TIMEOUT = { timeout: 30_000 };

const CAPABILITIES = {
  thread: { parallel: true, endable: true, exits: true, ownState: true, sharedMemory: true },
  inline: { parallel: false, endable: false, exits: false, ownState: false, sharedMemory: true },
};

for (const [placement, capabilities] of Object.entries(CAPABILITIES)) {
  describe(`the call contract: ${placement}`, () => {
    const subject = {
      capabilities,
      createPool: (options: object, module: string) =>
        createPool<any>(module === 'tasks' ? TASKS : './no-such-module.mjs', {
          ...options,
          placement: placement as 'thread' | 'inline',
        }),
    };
    for (const { name, run } of callContract(subject)) it(name, TIMEOUT, run);
  });
}

type MakePlacement = (url: string, options: ResolvedPoolOptions, outcomes: TaskOutcomes) => Placement;
const demand = { live: () => true, holds: () => false };
const PLACEMENTS: Record<string, MakePlacement> = {
  thread: (url, options, outcomes) => threadPlacement(url, options, outcomes, demand),
  inline: (url, options, outcomes) => new InlinePlacement(url, options, outcomes, demand),
};

for (const [name, makePlacement] of Object.entries(PLACEMENTS)) {
  describe(`the lane contract: ${name}`, () => {
    const open = (outcomes: TaskOutcomes, depth: number): LaneRig => {
      const options = resolvePoolOptions({ lanes: 1, concurrency: depth }, 2);
      const placement = makePlacement(fixture('tasks.ts').href, options, outcomes);
      const gate = counters();
      const make = (fn: string, ...args: unknown[]): Call => {
        const call = new Call(placement.defineFunction(fn));
        placement.encode(call, args, [], Number.POSITIVE_INFINITY);
        return call;
      };
      const kinds = {
        quick: () => make('add', 1, 1),
        failing: () => make('fail', 'as it should'),
        held: () => make('markAndWait', gate, 0, 1),
      };
      return {
        placement,
        call: what => kinds[what](),
        begun: () => Atomics.load(gate, 0),
        release: () => void Atomics.store(gate, 1, 1),
        dispose: () => placement.dispose(),
      };
    };
    for (const { name, run } of laneContract({ open })) it(name, TIMEOUT, run);
  });
}
