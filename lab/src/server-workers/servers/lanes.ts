import { type WorkersOptions, workers } from '@hotlane/grpc';
import { LOADER, loadDefinition, PROTO } from '../definition.ts';
import { listen, newServer } from './grpc-js.ts';
import type { OpenServer } from './server.ts';

/** The same handlers, by this repository's package. */
export const openWith =
  (options: WorkersOptions & { readonly lanes: number }): OpenServer =>
  async () => {
    const { lanes } = options;
    const definition = loadDefinition();
    const handlers = new URL('../handlers.ts', import.meta.url);
    const service = workers(definition, handlers, { ...options, definition: PROTO, loader: LOADER });
    const server = newServer();
    server.addService(definition, service);
    await service.ready();
    const opened = await listen(server, () => service.close());
    // Lanes have numbers from 1 on, each its own.
    const latest = () => Math.max(0, ...service.stats().lanes.map(lane => lane.id));
    return { ...opened, replaced: () => Math.max(0, latest() - lanes) };
  };
