import { existsSync } from 'node:fs';
import { getHeapStatistics } from 'node:v8';
import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from 'node:worker_threads';
import type { Demand, TaskOutcomes } from '../lane/lane.ts';
import type { ResolvedPoolOptions } from '../options.ts';
import type { ToHost, ToLane } from '../transport/layout.ts';
import { clone, snapshot } from './clone.ts';
import { clock, cores, KeepAlive, turn } from './node.ts';
import { nodeCodec } from './node-codec.ts';
import {
  type LanePlatform,
  type LaneStart,
  type LaneThread,
  type ThreadEvents,
  WindowPlacement,
} from './window-lanes.ts';

/** What a thread is started with. */
export interface ThreadData extends LaneStart {
  readonly port: MessagePort;
  /** The task module's absolute URL. */
  readonly module: string;
  /** The host maps its stacks back to sources; so does the lane then. */
  readonly sourceMaps: boolean;
}

const MIB = 1024 * 1024;

/** Threads inherit the process's flags; but one that belongs to `--eval` would keep them from loading a file. */
const isForEval = (flag: string, i: number, flags: string[]): boolean =>
  flag.startsWith('--input-type') || flags[i - 1] === '--input-type';
const execArgv = process.execArgv.some(isForEval)
  ? process.execArgv.filter((flag, i, flags) => !isForEval(flag, i, flags))
  : undefined;

const entry = new URL(import.meta.resolve('#thread-entry'));

/**
 * Lanes that are worker threads of Node.
 *
 * @param module the task module's absolute URL
 */
export function threadPlacement(
  module: string,
  options: ResolvedPoolOptions,
  outcomes: TaskOutcomes,
  demand: Demand,
): WindowPlacement {
  const heapMb = options.heapMb || Math.floor(getHeapStatistics().heap_size_limit / MIB);
  const platform: LanePlatform = {
    clock,
    codec: nodeCodec,
    clone,
    cores,
    turn,
    mayBlock: true,
    snapshot,
    createKeepAlive: () => new KeepAlive(),
    start: (given, events) => new NodeThread(module, heapMb, given, events),
  };
  return new WindowPlacement(platform, options, outcomes, demand);
}

class NodeThread implements LaneThread {
  readonly #port: MessagePort;
  readonly #worker: Worker;
  readonly #events: ThreadEvents;

  constructor(module: string, heapMb: number, given: LaneStart, events: ThreadEvents) {
    this.#events = events;
    const { port1, port2 } = new MessageChannel();
    this.#port = port1;
    port1.on('message', (message: ToHost) => events.onMessage(message));
    port1.on('messageerror', error => events.onUnreadable(error));
    port1.unref();
    // A flag is inherited; what the process turned on by itself is not.
    const sourceMaps = process.sourceMapsEnabled === true;
    const workerData: ThreadData = { ...given, port: port2, module, sourceMaps };
    try {
      this.#worker = new Worker(entry, {
        workerData,
        transferList: [port2],
        name: `hotlane ${given.hooks.laneId}`,
        execArgv,
        // Without a limit of its own a thread that runs out of memory takes the process with it.
        resourceLimits: { maxOldGenerationSizeMb: heapMb },
      });
    } catch (error) {
      port1.close();
      throw error;
    }
    this.#worker.unref();
    this.#worker.on('error', error => events.onError(error));
    this.#worker.once('exit', code => events.onExit(code));
  }

  post(message: ToLane, transfer?: readonly object[]): void {
    this.#port.postMessage(message, transfer as never);
  }

  receiveAll(): void {
    for (let next = receiveMessageOnPort(this.#port); next; next = receiveMessageOnPort(this.#port)) {
      this.#events.onMessage(next.message);
    }
  }

  terminate(): void {
    this.#worker.terminate();
  }

  isDead(): boolean {
    // Node does not know how long the loop of a thread was idle that is about to end.
    return this.#worker.performance.eventLoopUtilization().idle < 0;
  }

  isGone(thread: number): boolean {
    return thread > 0 && !existsSync(`/proc/self/task/${thread}`);
  }

  close(): void {
    this.#port.close();
  }
}
