/** Runs in a worker thread: loads the task module and serves calls until the host ends the thread. */
import { readlinkSync } from 'node:fs';
import { workerData } from 'node:worker_threads';
import { atomicStore } from '../call/intrinsics.ts';
import { HOST_ASLEEP, Layout, THREAD, type ToHost, type ToLane } from '../transport/layout.ts';
import { ringBlockedHost } from '../transport/wake.ts';
import { OneAtATime } from '../worker/context.ts';
import { joinBudget } from './budget.ts';
import { clone } from './clone.ts';
import { loadTasks } from './load.ts';
import { cores, now, turn, usedHeapBytes } from './node.ts';
import { nodeCodec } from './node-codec.ts';
import { serveLane } from './serve-lane.ts';
import type { ThreadData } from './thread.ts';
import { ManyAtOnce } from './tracker.ts';

const { port, module, sourceMaps, ...start } = workerData as ThreadData;
const { window, budget, cell } = start;
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

await serveLane(
  start,
  { codec: nodeCodec, cores, now, turn, post, clone, heapBytes: usedHeapBytes },
  start.concurrency === 1 ? new OneAtATime() : new ManyAtOnce(),
  own,
  () => loadTasks(module),
  lane => {
    receive = message => lane.receive(message);
    port.on('messageerror', error => lane.onUnreadable(error));
    for (const message of early.splice(0)) lane.receive(message);
  },
);
