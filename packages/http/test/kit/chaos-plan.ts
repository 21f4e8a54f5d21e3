/** What a chaotic client asks for, decided by a seed. */
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { Random } from 'hotlane/testing';
import type { Dispatcher } from 'undici';

/** `request`: the promise and the body as a stream; `dispatch`: the handler itself. */
export type Way = 'request' | 'dispatch';

/** What becomes of a body: `held`: nobody reads it for a while; `left`: given up after its first piece. */
export type Reading = 'all' | 'slow' | 'held' | 'dump' | 'left';

export interface RequestPlan {
  readonly id: string;
  readonly startMs: number;
  readonly method: 'GET' | 'HEAD' | 'PUT' | 'DELETE' | 'POST';
  readonly body: 'none' | 'buffer' | 'stream';
  /** Said in the options of the request; null: what the method says. */
  readonly idempotent: boolean | null;
  readonly way: Way;
  readonly reading: Reading;
  /** Since its start; null: never. */
  readonly abortMs: number | null;
  readonly headersTimeoutMs: number;
  readonly bodyTimeoutMs: number;
}

/** `settled`: when nothing is under way any more; `amid`: while there is. */
export interface EndPlan {
  readonly by: 'close' | 'destroy';
  readonly when: 'settled' | { readonly amidMs: number };
}

export interface ChaosPlan {
  readonly requests: readonly RequestPlan[];
  readonly end: EndPlan;
}

const METHODS = [...Array(12).fill('GET'), 'HEAD', 'HEAD', 'PUT', 'PUT', 'DELETE', 'POST', 'POST', 'POST'];
const READINGS = [...Array(12).fill('all'), 'slow', 'held', 'dump', 'left'];

export function planOf(seed: number, requests: number): ChaosPlan {
  const random = new Random(seed);
  // Some seeds come in one burst, which fills pipelines; others trickle, so that connections idle in between.
  const spreadMs = random.pick([0, 10, 60])!;
  const aborts = random.pick([0, 0.1, 0.3])!;
  const plans = Array.from({ length: requests }, (_, i): RequestPlan => {
    const method = random.pick(METHODS) as RequestPlan['method'];
    const hasBody = method === 'PUT' || method === 'POST';
    const says = random.next();
    const idempotent =
      method === 'GET' && says < 0.05 ? false : method === 'POST' && says < 0.2 ? true : null;
    return {
      id: `${seed}-${i}`,
      startMs: random.next() * spreadMs,
      method,
      body: hasBody ? random.pick(['none', 'buffer', 'buffer', 'stream'] as const)! : 'none',
      idempotent,
      way: random.chance(0.4) ? 'dispatch' : 'request',
      reading: random.pick(READINGS) as Reading,
      abortMs: random.chance(aborts) ? random.around(20) : null,
      headersTimeoutMs: random.chance(0.05) ? 30 : 300,
      bodyTimeoutMs: random.chance(0.05) ? 30 : 300,
    };
  });
  const amid = { amidMs: random.below(80) };
  const end: EndPlan = {
    by: random.chance(0.6) ? 'close' : 'destroy',
    when: random.chance(0.7) ? 'settled' : amid,
  };
  return { requests: plans, end };
}

async function* pieces(plan: RequestPlan, content: Buffer): AsyncGenerator<Buffer> {
  const random = new Random(content.length + plan.startMs);
  for (let at = 0; at < content.length; ) {
    const piece = content.subarray(at, at + 1 + random.below(2_000));
    at += piece.length;
    if (random.chance(0.3)) await sleep(1);
    yield piece;
  }
}

/** What `dispatch` and `request` are given for a plan. */
export function optionsOf(plan: RequestPlan): Dispatcher.DispatchOptions {
  const headers: Record<string, string> = {};
  if (plan.idempotent !== null) headers['x-idempotent'] = plan.idempotent ? 'yes' : 'no';
  let body: Buffer | Readable | undefined;
  if (plan.body !== 'none') {
    const content = Buffer.alloc(200 + plan.id.length * 300, plan.id);
    headers['x-body-bytes'] = String(content.length);
    if (plan.body === 'stream') headers['x-streamed'] = 'yes';
    body = plan.body === 'stream' ? Readable.from(pieces(plan, content), { objectMode: false }) : content;
  }
  return {
    path: `/chaos/${plan.id}`,
    method: plan.method,
    headers,
    headersTimeout: plan.headersTimeoutMs,
    bodyTimeout: plan.bodyTimeoutMs,
    ...(body !== undefined && { body }),
    ...(plan.idempotent !== null && { idempotent: plan.idempotent }),
  };
}
