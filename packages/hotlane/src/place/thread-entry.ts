/** Runs in a worker thread: loads the task module and serves calls until the host ends the thread. */
import { workerData } from 'node:worker_threads';
import { encodeAlone } from '../call/alone.ts';
import { greeting } from '../transport/handshake.ts';
import { LaneLoop } from '../transport/lane-loop.ts';
import type { ToHost, ToLane } from '../transport/layout.ts';
import { installTracker, OneAtATime } from '../worker/context.ts';
import { loadTasks } from './load.ts';
import { cores, now, turn } from './node.ts';
import { nodeCodec } from './node-codec.ts';
import type { ThreadData } from './thread.ts';
import { ManyAtOnce } from './tracker.ts';

const { port, module, laneId, concurrency, window, sourceMaps } = workerData as ThreadData;
// Task modules see the same `workerData`: it is no business of theirs.
for (const key of Object.keys(workerData)) delete workerData[key];

if (sourceMaps) process.setSourceMapsEnabled(true);

function post(message: ToHost, transfer?: readonly object[]): void {
  port.postMessage(message, transfer as never);
}

const early: ToLane[] = [];
let receive = (message: ToLane): void => void early.push(message);
port.on('message', (message: ToLane) => receive(message));

try {
  const tasks = await loadTasks(module);
  const tracker = concurrency === 1 ? new OneAtATime() : new ManyAtOnce();
  installTracker(tracker);
  const platform = { codec: nodeCodec, cores, now, turn, post };
  const lane = new LaneLoop(platform, window, tasks, { laneId, concurrency }, tracker);
  receive = message => lane.receive(message);
  port.on('messageerror', error => lane.onUnreadable(error));
  for (const message of early.splice(0)) lane.receive(message);
  post({ kind: 'up', greeting });
  lane.start();
} catch (error) {
  post({ kind: 'failed', cause: encodeAlone(error, nodeCodec) });
}
