import { Server, ServerCredentials } from '@grpc/grpc-js';
import type { Opened } from './server.ts';

/** One mebibyte and its framing must pass, and grpc-js's own limit is four. */
export function newServer(): Server {
  return new Server({ 'grpc.max_receive_message_length': 64 << 20 });
}

/** @param close ends what the handlers have beside the server */
export function listen(server: Server, close: () => unknown = () => {}): Promise<Opened> {
  return new Promise((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) => {
      if (error !== null) {
        reject(error);
        return;
      }
      const end = async () => {
        server.forceShutdown();
        await close();
      };
      resolve({ address: `127.0.0.1:${port}`, close: end });
    });
  });
}
