/** A gRPC server whose handlers run on lanes. */
import { availableParallelism } from 'node:os';
import { Server, ServerCredentials } from '@grpc/grpc-js';
import { workers } from '@hotlane/grpc';
import { Texts } from './texts.ts';

const { env } = process;

const service = workers(Texts.service, new URL('./handlers.ts', import.meta.url), {
  definition: new URL('./texts.ts', import.meta.url),
  lanes: { max: Number(env.LANES ?? availableParallelism()) },
  maxQueue: Number(env.MAX_QUEUE ?? 100),
});

const server = new Server({ 'grpc.max_receive_message_length': 16 * 1024 * 1024 });
server.addService(Texts.service, service);
// A module that cannot be loaded stops the server here, not its first clients.
await service.ready();

server.bindAsync(`127.0.0.1:${env.PORT ?? 50051}`, ServerCredentials.createInsecure(), (error, port) => {
  if (error !== null) throw error;
  console.log(`listening on 127.0.0.1:${port}`);
});

// Clients' calls first, since they need the lanes; then the process ends by itself.
for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.once(signal, () => {
    server.tryShutdown(() => void service.close());
  });
}
