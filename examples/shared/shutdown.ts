import type { Server } from 'node:http';

export interface Shutdown {
  readonly server: Server;
  /** Stops accepting connections; resolves when the last request has its answer. */
  readonly stop: () => Promise<unknown>;
  readonly pool: { close(): Promise<void>; destroy(reason?: unknown): Promise<void> };
  /** How long requests in flight may take, in milliseconds. */
  readonly limitMs: number;
}

/**
 * On SIGTERM or SIGINT: no new connections, answers for the requests in flight, then the pool's end. The process ends
 * by itself, since nothing holds it any more. A second signal ends it at once.
 */
export function shutDownOnSignal(shutdown: Shutdown): void {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.once(signal, () => {
      console.log(`${signal}: stopping`);
      void run(shutdown);
    });
  }
}

async function run({ server, stop, pool, limitMs }: Shutdown): Promise<void> {
  const limit = setTimeout(async () => {
    console.error(`not done after ${limitMs} ms: giving up what is left`);
    process.exitCode = 1;
    // Calls that are left reject with CLOSED, and their requests get a 503. Then whoever still sends or reads is cut off.
    await pool.destroy(new Error('the server is stopping'));
    server.closeAllConnections();
  }, limitMs);

  // A kept-alive connection would hold the server for as long as its client likes: each request that still comes is
  // the last on its connection, and connections that fall idle are closed.
  server.prependListener('request', (_request, response) => response.setHeader('connection', 'close'));
  const idle = setInterval(() => server.closeIdleConnections(), 100);

  await stop(); // the pool must outlive the requests: those that are being read have not made their calls yet
  clearInterval(idle);
  await pool.close();
  clearTimeout(limit);
}
