import { loadDefinition } from '../definition.ts';
import { unaryCall } from '../handlers.ts';
import { listen, newServer } from './grpc-js.ts';
import type { OpenServer } from './server.ts';

/** A grpc-js server as it comes: its handlers run on its own thread. */
export const open: OpenServer = () => {
  const server = newServer();
  server.addService(loadDefinition(), { unaryCall });
  return listen(server);
};
