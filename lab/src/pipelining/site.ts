import { setTimeout as delay } from 'node:timers/promises';
import type { DrawnPacket, Figures, Setting } from './cells.ts';
import { contenders } from './contenders/all.ts';
import { Loader } from './loading/loader.ts';
import type { Mix } from './mixes.ts';
import type { Network, Traffic } from './network/network.ts';
import type { Profile } from './network/profiles.ts';
import type { Page } from './pages/page.ts';
import { type Server, type ServerKind, startServer } from './server/start-server.ts';

/** The pages as they lie on the disk, for the server to show. */
export interface Shelf {
  /** Where servers have files of their own. */
  readonly folder: string;
  readonly root: string;
  readonly manifest: string;
  readonly pages: readonly Page[];
}

export interface SiteOptions {
  readonly network: Network;
  readonly shelf: Shelf;
  readonly mixes: readonly Mix[];
  readonly server: ServerKind;
  readonly http2: boolean;
}

export interface Load {
  readonly figures: Figures;
  readonly stats: unknown;
  readonly packets: DrawnPacket[];
}

/** A network with a server at one end and a loader at the other. */
export class Site implements AsyncDisposable {
  readonly network: Network;
  readonly #server: Server;
  readonly loader: Loader;

  private constructor(network: Network, server: Server, loader: Loader) {
    this.network = network;
    this.#server = server;
    this.loader = loader;
  }

  /** Takes the network over: it is disposed of with the site, or when the site cannot be opened. */
  static async open({ network, shelf, mixes, server: kind, http2 }: SiteOptions): Promise<Site> {
    try {
      const server = await startServer(network, {
        kind,
        root: shelf.root,
        folder: shelf.folder,
        pages: shelf.pages,
        mixes,
        http2,
      });
      return new Site(network, server, Loader.start(network, shelf.manifest));
    } catch (error) {
      await network[Symbol.asyncDispose]();
      throw error;
    }
  }

  async origin(mix: string, contender: string): Promise<string> {
    const { isHttp2 } = contenders[contender]!;
    const port = isHttp2 ? this.#server.tlsPort(mix) : this.#server.port(mix);
    if (port === null) throw new Error('The server speaks no HTTP/2 here: that takes nginx and openssl.');
    return `http${isHttp2 ? 's' : ''}://${this.network.serverHost}:${await this.network.reach(port)}`;
  }

  /**
   * Loads a page once, and waits until the last packet of its connections has arrived.
   *
   * @throws Error when the page does not load
   */
  async load(setting: Setting, contender: string, profile: Profile, timeoutMs: number): Promise<Load> {
    const { page, mix, quota } = setting;
    const origin = await this.origin(mix, contender);
    await this.network.startRecording();
    let traffic: Traffic | undefined;
    try {
      const loaded = await this.loader.load({ page, origin, contender, quota, timeoutMs });
      await delay(1.5 * profile.rttMs + 20);
      traffic = await this.network.stopRecording();
      const headerBytes = loaded.objects.reduce((sum, object) => sum + object.headerBytes, 0);
      return {
        figures: figuresOf(loaded.loadMs, headerBytes, traffic),
        stats: loaded.stats,
        packets: drawn(traffic),
      };
    } finally {
      if (traffic === undefined) await this.network.stopRecording();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.loader[Symbol.asyncDispose]();
    await this.#server[Symbol.asyncDispose]();
    await this.network[Symbol.asyncDispose]();
  }
}

function figuresOf(loadMs: number, headerBytes: number, { up, down, packets, latestMs }: Traffic): Figures {
  const [packetsUp, packetsDown] = [up, down].map(({ payload, ack, control }) => payload + ack + control) as [
    number,
    number,
  ];
  return {
    loadMs,
    packets: packetsUp + packetsDown,
    packetsUp,
    packetsDown,
    dropped: up.dropped + down.dropped,
    bytesUp: up.bytes,
    bytesDown: down.bytes,
    connections: new Set(packets.map(({ port }) => port)).size,
    headerBytes,
    latestMs,
  };
}

/** Connections are numbered in the order of their first packets; time begins with the first of all. */
function drawn({ packets }: Traffic): DrawnPacket[] {
  const ports = [...new Set(packets.map(({ port }) => port))];
  const beganAt = packets[0]?.atMs ?? 0;
  return packets.map(({ atMs, up, kind, port, bytes }) => [
    Math.round((atMs - beganAt) * 10) / 10,
    up ? 1 : 0,
    kind,
    ports.indexOf(port),
    bytes,
  ]);
}
