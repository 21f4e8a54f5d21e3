import { types } from 'node:util';
import { parentPort, workerData } from 'node:worker_threads';
import { loadFunction, type Target } from './contender.ts';
import { READY_ID, type Reply, type Request } from './post-message.ts';

const port = parentPort!;
const fn = await loadFunction(workerData as Target);

function answer(id: number, failed: boolean, value: unknown): void {
  try {
    port.postMessage([id, failed, value] satisfies Reply);
  } catch (error) {
    port.postMessage([id, true, error] satisfies Reply); // a result that cannot be cloned
  }
}

function answerCall([id, input]: Request): void {
  try {
    const result = fn(input);
    if (result instanceof Promise) {
      result.then(
        value => answer(id, false, value),
        (reason: unknown) => answer(id, true, reason),
      );
    } else answer(id, false, result);
  } catch (error) {
    answer(id, true, error);
  }
}

/** A generator's items go as a stream of the platform's own. */
function answerStream([id, input]: Request): void {
  const stream = ReadableStream.from(fn(input) as Iterable<unknown> | AsyncIterable<unknown>);
  port.postMessage([id, false, stream] satisfies Reply, [stream]);
}

port.on('message', types.isGeneratorFunction(fn) ? answerStream : answerCall);
answer(READY_ID, false, null);
