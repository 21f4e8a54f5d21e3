/** Hono on Node, with a pool for the heavy work. */
import type { Server } from 'node:http';
import { availableParallelism } from 'node:os';
import { type HttpBindings, serve } from '@hono/node-server';
import { Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { HTTPException } from 'hono/http-exception';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { createPool } from 'hotlane';
import { clientSignal } from '../shared/client-signal.ts';
import { errorResponse } from '../shared/error-response.ts';
import { shutDownOnSignal } from '../shared/shutdown.ts';

const { env } = process;

const pool = createPool<typeof import('../shared/tasks.ts')>(new URL('../shared/tasks.ts', import.meta.url), {
  lanes: Number(env.LANES ?? availableParallelism()), // always: no request waits for a thread to start
  maxQueue: Number(env.MAX_QUEUE ?? 100), // further requests get a 503 at once, rather than all of them waiting
  deadlineMs: Number(env.DEADLINE_MS ?? 2_000), // waiting included; then a 504
});
// A module that cannot be loaded stops the server here, not its first clients.
await pool.ready();

const app = new Hono<{ Bindings: HttpBindings }>();
app.use(bodyLimit({ maxSize: 16 * 1024 * 1024 }));

app.onError((error, c) => {
  if (error instanceof HTTPException) return error.getResponse(); // Hono's own: the body is too large, or no JSON
  const { status, headers, body, unexpected } = errorResponse(error);
  if (unexpected) console.error(error);
  return c.json(body, status as ContentfulStatusCode, headers);
});

// Each call gets a signal that fires when its client goes away: the function stops, and its lane is free for others.

app.post('/hash', async c => {
  const body = await c.req.json().catch(cause => {
    throw new HTTPException(400, { message: 'The body is no JSON.', cause });
  });
  return c.json(await pool.with({ signal: clientSignal(c.env.outgoing) }).hash(body?.password));
});

app.get('/primes', async c => {
  const limit = Number(c.req.query('limit'));
  return c.json({
    limit,
    primes: await pool.with({ signal: clientSignal(c.env.outgoing) }).countPrimes(limit),
  });
});

app.post('/thumbnail', async c => {
  const pixels = new Uint8Array(await c.req.arrayBuffer());
  const { width, height, to } = c.req.query();
  const small = await pool
    .with({ signal: clientSignal(c.env.outgoing), transfer: [pixels.buffer] }) // no use for the body here any more: it moves
    .downscale({ width: Number(width), height: Number(height), pixels }, Number(to));
  return c.body(small.pixels, 200, {
    'content-type': 'application/octet-stream',
    'x-width': String(small.width),
    'x-height': String(small.height),
  });
});

app.get('/stats', c => c.json(pool.stats()));
app.get('/health', c => c.json({ ok: true }));

const server = serve(
  { fetch: app.fetch, port: Number(env.PORT ?? 3000), hostname: '127.0.0.1' },
  ({ address, port }) => console.log(`listening on http://${address}:${port}`),
) as Server;
shutDownOnSignal({
  server,
  stop: () => new Promise(resolve => server.close(resolve)),
  pool,
  limitMs: Number(env.SHUTDOWN_MS ?? 10_000),
});
