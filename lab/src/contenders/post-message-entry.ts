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

port.on('message', ([id, input]: Request) => {
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
});
answer(READY_ID, false, null);
