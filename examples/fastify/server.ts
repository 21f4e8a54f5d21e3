/** Fastify, with a pool for the heavy work. */
import { availableParallelism } from 'node:os';
import Fastify, { type FastifyError } from 'fastify';
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

const app = Fastify({ bodyLimit: 16 * 1024 * 1024 });
app.addContentTypeParser('application/octet-stream', { parseAs: 'buffer' }, (_request, body, done) =>
  done(null, body),
);

app.setErrorHandler((error: FastifyError, _request, reply) => {
  if (/^FST_/.test(error.code)) return reply.send(error); // Fastify's own: the body is too large, or no JSON
  const { status, headers, body, unexpected } = errorResponse(error);
  if (unexpected) console.error(error);
  return reply.code(status).headers(headers).send(body);
});

// Each call gets a signal that fires when its client goes away: the function stops, and its lane is free for others.

app.post<{ Body?: { password?: unknown } }>('/hash', (request, reply) =>
  pool.with({ signal: clientSignal(reply.raw) }).hash(request.body?.password),
);

app.get<{ Querystring: { limit?: string } }>('/primes', async (request, reply) => {
  const limit = Number(request.query.limit);
  return { limit, primes: await pool.with({ signal: clientSignal(reply.raw) }).countPrimes(limit) };
});

app.post<{ Body?: Buffer<ArrayBuffer>; Querystring: { width?: string; height?: string; to?: string } }>(
  '/thumbnail',
  async (request, reply) => {
    const pixels = request.body ?? Buffer.alloc(0);
    const { width, height, to } = request.query;
    // The server has no use for the body any more, so it moves. A short Buffer cannot: it shares its memory with others.
    const transfer = pixels.length === pixels.buffer.byteLength ? [pixels.buffer] : [];
    const small = await pool
      .with({ signal: clientSignal(reply.raw), transfer })
      .downscale({ width: Number(width), height: Number(height), pixels }, Number(to));
    return reply
      .headers({ 'x-width': small.width, 'x-height': small.height })
      .type('application/octet-stream')
      .send(small.pixels);
  },
);

app.get('/stats', async () => pool.stats());
app.get('/health', async () => ({ ok: true }));

shutDownOnSignal({
  server: app.server,
  stop: () => app.close(),
  pool,
  limitMs: Number(env.SHUTDOWN_MS ?? 10_000),
});
console.log(`listening on ${await app.listen({ port: Number(env.PORT ?? 3000), host: '127.0.0.1' })}`);
