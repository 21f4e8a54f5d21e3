import { type HeapProfiler, Session } from 'node:inspector/promises';

/** Objects on a heap, and their bytes. */
export interface Objects {
  readonly bytes: number;
  readonly objects: number;
}

/** What a process has allocated: its main thread, and all of its threads. */
export interface Allocated {
  readonly host: Objects;
  readonly all: Objects;
}

export const NOTHING: Objects = { bytes: 0, objects: 0 };

/**
 * A sample's size is multiplied by how many objects it stands for, from which neither can be told again. At an interval below the
 * smallest object each stands for itself.
 */
const SAMPLING = {
  samplingInterval: 1,
  includeObjectsCollectedByMajorGC: true,
  includeObjectsCollectedByMinorGC: true,
};

interface Profiled {
  /** The types of Node do not have the samples. */
  readonly profile: HeapProfiler.SamplingHeapProfile & {
    readonly samples: readonly { readonly size: number }[];
  };
}

/**
 * Starts heap profiles in this thread and in the workers that there are; the function it returns ends them, and throws when a
 * worker has ended meanwhile. What lies outside of heaps, as the bytes of Buffers do, is not counted.
 */
export async function watchHeaps(): Promise<() => Promise<Allocated>> {
  const session = new Session();
  session.connect();
  const workers = await reachWorkers(session);
  await Promise.all(workers.map(ask => ask('HeapProfiler.startSampling', SAMPLING)));
  await session.post('HeapProfiler.startSampling', SAMPLING);
  return async () => {
    // This thread first: it is to receive the others' profiles.
    const host = sumUp((await session.post('HeapProfiler.stopSampling')) as Profiled);
    const others = await Promise.all(workers.map(ask => ask('HeapProfiler.stopSampling')));
    session.disconnect();
    return { host, all: [host, ...others.map(sumUp)].reduce(add) };
  };
}

type Ask = (method: string, params?: object) => Promise<Profiled>;

async function reachWorkers(session: Session): Promise<Ask[]> {
  const ids: string[] = [];
  const waiting = new Map<string, PromiseWithResolvers<Profiled>>();
  session.on('NodeWorker.attachedToWorker', ({ params }) => ids.push(params.sessionId));
  session.on('NodeWorker.receivedMessageFromWorker', ({ params: { sessionId, message } }) => {
    waiting.get(sessionId)?.resolve(JSON.parse(message).result);
  });
  session.on('NodeWorker.detachedFromWorker', ({ params }) => {
    waiting.get(params.sessionId)?.reject(new Error('A worker ended while its heap was watched.'));
  });
  await session.post('NodeWorker.enable', { waitForDebuggerOnStart: false });
  return ids.map(sessionId => async (method, params = {}) => {
    const answer = Promise.withResolvers<Profiled>();
    waiting.set(sessionId, answer);
    const message = JSON.stringify({ id: 1, method, params });
    await session.post('NodeWorker.sendMessageToWorker', { sessionId, message });
    return answer.promise;
  });
}

function sumUp({ profile: { samples } }: Profiled): Objects {
  return { bytes: samples.reduce((sum, { size }) => sum + size, 0), objects: samples.length };
}

function add(one: Objects, other: Objects): Objects {
  return { bytes: one.bytes + other.bytes, objects: one.objects + other.objects };
}
