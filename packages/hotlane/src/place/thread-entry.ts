/** Runs in a worker thread: loads the task module and serves calls until the host ends the thread. */
import { readlinkSync } from 'node:fs';
import { workerData } from 'node:worker_threads';
import { encodeAlone } from '../call/alone.ts';
import { atomicStore } from '../call/intrinsics.ts';
import { greeting } from '../transport/handshake.ts';
import { LaneLoop } from '../transport/lane-loop.ts';
import { HOST_ASLEEP, Layout, THREAD, type ToHost, type ToLane } from '../transport/layout.ts';
import { ringBlockedHost } from '../transport/wake.ts';
import { installTracker, OneAtATime } from '../worker/context.ts';
import { setUp, tearDown } from '../worker/hooks.ts';
import { joinBudget } from './budget.ts';
import { loadTasks } from './load.ts';
import { clone, cores, now, turn, usedHeapBytes } from './node.ts';
import { nodeCodec } from './node-codec.ts';
import type { ThreadData } from './thread.ts';
import { ManyAtOnce } from './tracker.ts';

const { port, module, concurrency, window, sourceMaps, heapBytes, hooks, budget, cell } =
  workerData as ThreadData;
// Task modules see the same `workerData`: it is no business of theirs.
for (const key of Object.keys(workerData)) delete workerData[key];

const own = joinBudget(budget, cell, cores);
if (sourceMaps) process.setSourceMapsEnabled(true);

const control = new Int32Array(window.control, 0, HOST_ASLEEP + 1);

function post(message: ToHost, transfer?: readonly object[]): void {
  port.postMessage(message, transfer as never);
  ringBlockedHost(control);
}

/** The system's number of this thread, where it can be had. */
function threadNumber(): number {
  try {
    return Number(readlinkSync('/proc/thread-self').split('/').at(-1)) || 0;
  } catch {
    return 0;
  }
}

const layout = new Layout(window.seats, window.slots, window.inbox);
// Before anything that may end the thread. Read only to ask the system about it.
atomicStore(
  new Int32Array(window.control, 0, layout.words),
  layout.seat(window.seat) + THREAD,
  threadNumber(),
);

const early: ToLane[] = [];
let receive = (message: ToLane): void => void early.push(message);
port.on('message', (message: ToLane) => receive(message));

try {
  const tasks = await loadTasks(module);
  const tracker = concurrency === 1 ? new OneAtATime() : new ManyAtOnce();
  installTracker(tracker);
  const teardown = tearDown(tasks, hooks);
  await setUp(tasks, hooks);
  const markBusy = (busy: boolean) => own.mark(busy);
  const platform = { codec: nodeCodec, cores, now, turn, post, clone, heapBytes: usedHeapBytes, markBusy };
  const options = { laneId: hooks.laneId, concurrency, heapBytes, tearDown: teardown };
  const lane = new LaneLoop(platform, window, tasks, options, tracker);
  receive = message => lane.receive(message);
  port.on('messageerror', error => lane.onUnreadable(error));
  for (const message of early.splice(0)) lane.receive(message);
  post({ kind: 'up', greeting });
  lane.start();
} catch (error) {
  post({ kind: 'failed', cause: encodeAlone(error, nodeCodec) });
}
