import { type HeapProfiler, Session } from 'node:inspector/promises';

/**
 * Every allocation is noted. Of samples that stand for several there is the size of all together only, from which it cannot be
 * told how many they are.
 */
export const EVERY_ALLOCATION = 1;

export interface Heap {
  readonly bytes: number;
  /** As many as were noted; objects that the engine makes at once are one. */
  readonly allocations: number;
}

/** What a process has allocated: its main thread, and all of its threads. */
export interface Allocated {
  readonly host: Heap;
  readonly all: Heap;
}

export const NOTHING: Heap = { bytes: 0, allocations: 0 };

interface Profiled {
  /** The types of Node do not have the samples. */
  readonly profile: HeapProfiler.SamplingHeapProfile & {
    readonly samples: readonly { readonly size: number }[];
  };
}

/**
 * Starts heap profiles in this thread and in the workers that there are; the function it returns ends them, and throws when a
 * worker has ended meanwhile. What lies outside of heaps, as the bytes of Buffers do, is not counted.
 *
 * @param samplingInterval one allocation is noted in about so many bytes
 */
export async function watchHeaps(samplingInterval: number): Promise<() => Promise<Allocated>> {
  const sampling = {
    samplingInterval,
    includeObjectsCollectedByMajorGC: true,
    includeObjectsCollectedByMinorGC: true,
  };
  const session = new Session();
  session.connect();
  const workers = await reachWorkers(session);
  await Promise.all(workers.map(ask => ask('HeapProfiler.startSampling', sampling)));
  await session.post('HeapProfiler.startSampling', sampling);
  return async () => {
    // This thread first: it is to receive the others' profiles.
    const host = sumUp((await session.post('HeapProfiler.stopSampling')) as Profiled);
    const others = await Promise.all(workers.map(ask => ask('HeapProfiler.stopSampling')));
    session.disconnect();
    return { host, all: [host, ...others.map(sumUp)].reduce(add) };
  };
}

const ENDED = 'A worker ended while its heap was watched.';

type Ask = (method: string, params?: object) => Promise<Profiled>;

async function reachWorkers(session: Session): Promise<Ask[]> {
  const ids: string[] = [];
  let ended = false;
  const waiting = new Map<string, PromiseWithResolvers<Profiled>>();
  session.on('NodeWorker.attachedToWorker', ({ params }) => ids.push(params.sessionId));
  session.on('NodeWorker.receivedMessageFromWorker', ({ params: { sessionId, message } }) => {
    waiting.get(sessionId)?.resolve(JSON.parse(message).result);
  });
  session.on('NodeWorker.detachedFromWorker', ({ params }) => {
    ended = true;
    waiting.get(params.sessionId)?.reject(new Error(ENDED));
  });
  await session.post('NodeWorker.enable', { waitForDebuggerOnStart: false });
  return ids.map(sessionId => async (method, params = {}) => {
    if (ended) throw new Error(ENDED); // nobody would answer
    const answer = Promise.withResolvers<Profiled>();
    waiting.set(sessionId, answer);
    const message = JSON.stringify({ id: 1, method, params });
    await session.post('NodeWorker.sendMessageToWorker', { sessionId, message });
    return answer.promise;
  });
}

function sumUp({ profile: { samples } }: Profiled): Heap {
  return { bytes: samples.reduce((sum, { size }) => sum + size, 0), allocations: samples.length };
}

function add(one: Heap, other: Heap): Heap {
  return { bytes: one.bytes + other.bytes, allocations: one.allocations + other.allocations };
}
