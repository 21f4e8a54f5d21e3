import { encodeAlone } from '../call/alone.ts';
import type { Budget } from '../fleet/budget.ts';
import { greeting } from '../transport/handshake.ts';
import { LaneLoop, type LanePlatform } from '../transport/lane-loop.ts';
import { installTracker, type Tracker } from '../worker/context.ts';
import { setUp, tearDown } from '../worker/hooks.ts';
import type { Tasks } from '../worker/tasks.ts';
import type { LaneStart } from './window-lanes.ts';

/**
 * What a thread does to become a lane, wherever it is: loads the tasks, sets up, and says that it is up, or why it is not.
 *
 * @param own the budget, in which the lane marks when it is busy
 * @param onMade is given the lane's loop, before it says that it is up
 */
export async function serveLane(
  { concurrency, heapBytes, hooks, window }: LaneStart,
  platform: Omit<LanePlatform, 'markBusy'>,
  tracker: Tracker,
  own: Budget,
  load: () => Promise<Tasks>,
  onMade: (lane: LaneLoop) => void,
): Promise<void> {
  try {
    const tasks = await load();
    installTracker(tracker);
    const options = { laneId: hooks.laneId, concurrency, heapBytes, tearDown: tearDown(tasks, hooks) };
    await setUp(tasks, hooks);
    const marking = { ...platform, markBusy: (busy: boolean) => own.mark(busy) };
    const lane = new LaneLoop(marking, window, tasks, options, tracker);
    onMade(lane);
    platform.post({ kind: 'up', greeting });
    lane.start();
  } catch (error) {
    platform.post({ kind: 'failed', cause: encodeAlone(error, platform.codec) });
  }
}
