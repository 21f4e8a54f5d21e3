/** Sends one planned request and tells how it settled. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Dispatcher } from 'undici';
import { optionsOf, type RequestPlan } from './chaos-plan.ts';

export interface Outcome {
  readonly plan: RequestPlan;
  /** How often it was told to have ended: once, if all is well. */
  settled: number;
  kind: 'pending' | 'delivered' | 'failed' | 'aborted';
  /** It had been given up by its caller before it settled. */
  gaveUp: boolean;
  /** When; 0 where it was not. */
  gaveUpAtMs: number;
  status: number | null;
  /** Whose answer it says it is. */
  echo: string | null;
  /** As far as it was read; null where nobody kept it. */
  body: Buffer | null;
  error: (Error & { code?: string }) | null;
  /** What the handler was told that it must not be told, or not in this order. */
  readonly protocol: string[];
}

const abortReason = new Error('given up by the test');

function headerOf(headers: Record<string, string | string[] | undefined>): string | null {
  const value = headers['x-request-id'];
  return value === undefined ? null : String(value);
}

/** Begins at once; the promise resolves when the request has settled, however it did. */
export async function send(dispatcher: Dispatcher, plan: RequestPlan, outcome: Outcome): Promise<void> {
  try {
    if (plan.way === 'dispatch') await byHandler(dispatcher, plan, outcome);
    else await byPromise(dispatcher, plan, outcome);
    outcome.kind = 'delivered';
  } catch (error) {
    outcome.error = error as Error;
    outcome.kind = outcome.gaveUp ? 'aborted' : 'failed';
  }
}

async function byPromise(dispatcher: Dispatcher, plan: RequestPlan, outcome: Outcome): Promise<void> {
  const stop = new AbortController();
  const giveUp = () => {
    outcome.gaveUp = true;
    outcome.gaveUpAtMs = performance.now();
    stop.abort(abortReason);
  };
  const timer = plan.abortMs === null ? undefined : setTimeout(giveUp, plan.abortMs);
  try {
    const options = { ...optionsOf(plan), signal: stop.signal };
    const response = await dispatcher.request(options as Dispatcher.RequestOptions);
    outcome.status = response.statusCode;
    outcome.echo = headerOf(response.headers);
    await read(response.body, plan, outcome);
  } finally {
    clearTimeout(timer);
    outcome.settled++;
  }
}

async function read(
  body: Dispatcher.ResponseData['body'],
  plan: RequestPlan,
  outcome: Outcome,
): Promise<void> {
  if (plan.reading === 'dump') {
    await body.dump();
    return;
  }
  if (plan.reading === 'held') {
    // It may fail while nobody reads; the reading tells it later.
    body.on('error', () => {});
    await sleep(25);
  }
  const chunks: Buffer[] = [];
  for await (const chunk of body) {
    chunks.push(chunk);
    if (plan.reading === 'left') {
      outcome.gaveUp = true;
      outcome.gaveUpAtMs = performance.now();
      throw abortReason;
    }
    if (plan.reading === 'slow') await sleep(2);
  }
  outcome.body = Buffer.concat(chunks);
}

function byHandler(dispatcher: Dispatcher, plan: RequestPlan, outcome: Outcome): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const chunks: Buffer[] = [];
  let controller: Dispatcher.DispatchController | null = null;
  let answered = false;
  let timer: NodeJS.Timeout | undefined;
  const wrong = (what: string) => outcome.protocol.push(what);
  const expectOpen = (event: string) => {
    if (outcome.settled > 0) wrong(`${event} came after the end`);
    if (controller === null) wrong(`${event} came before onRequestStart`);
  };
  const giveUp = () => {
    if (outcome.settled > 0) return;
    outcome.gaveUp = true;
    outcome.gaveUpAtMs = performance.now();
    controller?.abort(abortReason);
  };
  const settle = (event: string) => {
    if (outcome.settled++ > 0) wrong(`${event} came after the end`);
    clearTimeout(timer);
  };
  if (plan.abortMs !== null) timer = setTimeout(giveUp, plan.abortMs);
  const handler: Dispatcher.DispatchHandler = {
    onRequestStart(started) {
      if (outcome.settled > 0) wrong('onRequestStart came after the end');
      if (answered) wrong('it was sent again although its answer had begun');
      controller = started;
      if (outcome.gaveUp) started.abort(abortReason);
    },
    onResponseStart(_controller, status, headers) {
      expectOpen('onResponseStart');
      if (status < 200) return;
      if (answered) wrong('a second answer began');
      answered = true;
      outcome.status = status;
      outcome.echo = headerOf(headers);
    },
    onResponseData(given, chunk) {
      expectOpen('onResponseData');
      if (!answered) wrong('onResponseData came before onResponseStart');
      if (outcome.gaveUp) wrong('onResponseData came after abort');
      chunks.push(Buffer.from(chunk));
      if (plan.reading === 'left') {
        giveUp();
      } else if (chunk.length > 0 && (plan.reading === 'slow' || plan.reading === 'held')) {
        given.pause();
        setTimeout(() => given.resume(), plan.reading === 'slow' ? 2 : 25);
      }
    },
    onResponseEnd() {
      expectOpen('onResponseEnd');
      if (!answered) wrong('onResponseEnd came before onResponseStart');
      if (outcome.gaveUp) wrong('onResponseEnd came after abort');
      settle('onResponseEnd');
      outcome.body = Buffer.concat(chunks);
      resolve();
    },
    onResponseError(_controller, error) {
      settle('onResponseError');
      reject(error);
    },
  };
  try {
    dispatcher.dispatch(optionsOf(plan), handler);
  } catch (error) {
    settle('an exception');
    reject(error);
  }
  return promise;
}

export function pending(plan: RequestPlan): Outcome {
  return {
    plan,
    settled: 0,
    kind: 'pending',
    gaveUp: false,
    gaveUpAtMs: 0,
    status: null,
    echo: null,
    body: null,
    error: null,
    protocol: [],
  };
}
