import type { Socket } from 'node:net';
import { HotlaneError } from 'hotlane';
import {
  type Call,
  clock,
  Fleet,
  type FleetOptions,
  type FleetOwner,
  KeepAlive,
  type Lane,
  type LaneEvents,
  type LaneNews,
  Scheduler,
} from 'hotlane/lanes';
import { type Client, errors } from 'undici';
import * as channels from './channels.ts';
import { createClient } from './client.ts';
import { Connection, type ConnectionHost } from './connection.ts';
import { Exchange, type ExchangeOwner, type Fields, type Handler } from './exchange.ts';
import type { Known } from './known.ts';
import type { ResolvedOptions } from './options.ts';
import type { RequestOptions } from './request.ts';
import { wantsDocument } from './urgency.ts';

/** So many connections are made for a page at first: as browsers of 2008 had them to an origin. */
const AHEAD = 4;
/** So many connections are made at the most, until so many responses have shown what the origin is like. */
const FIRST_CONNECTIONS = 6;
const FIRST_RESPONSES = 16;
/** An exchange is given up whose connections were lost so often before it was sent. */
const MOST_LOSSES = 3;

/** Counts of one origin. */
export interface OriginStats {
  /** Its connections, and on each how many requests there are and may be. */
  readonly connections: readonly {
    readonly id: number;
    readonly state: Lane['state'];
    readonly protocol: 'h1' | 'h2';
    readonly outstanding: number;
    readonly depth: number;
  }[];
  /** Requests that wait for room. */
  readonly queued: number;
  /** Requests that were sent and are not answered. */
  readonly running: number;
  /** Responses that came whole, and requests that failed, so far. */
  readonly done: number;
  readonly failed: number;
  /** Requests that were sent a second time, or a third. */
  readonly retried: number;
}

/** Who looks on at an origin, and keeps what is learned of it. */
export interface OriginOwner {
  /** Whether connections that are made ahead of requests have been of use. */
  makesAhead(): boolean;
  /** A connection that was made ahead of requests has been of use, or has not. */
  onMadeAhead(wasUsed: boolean): void;
  onConnect(origin: Origin): void;
  onDisconnect(origin: Origin, cause: unknown): void;
  onConnectError(origin: Origin, cause: unknown): void;
  /** Nothing waits any more. */
  onDrain(origin: Origin): void;
  /** It has neither requests nor connections. */
  onEmpty(origin: Origin): void;
}

/** One origin: its requests, its connections, and the core's scheduler and fleet between the two. */
export class Origin implements FleetOwner, ConnectionHost, ExchangeOwner {
  /** As in a URL: scheme, host and port. */
  readonly name: string;
  readonly servername: string;
  readonly known: Known;
  readonly #options: ResolvedOptions;
  readonly #owner: OriginOwner;
  readonly #url: URL;
  /** The name that the server's certificate must have, where that is not the origin's. */
  readonly #certificateName: string | null;
  readonly #scheduler = new Scheduler(clock);
  readonly #fleet: Fleet;
  readonly #keepAlive = new KeepAlive();
  readonly #connections = new Set<Connection>();
  /** Exchanges that were accepted, and are not both settled and free of their connections; those of them that go alone. */
  #live = 0;
  /** Requests that are expected, while connections for them are made; and the connections, with one more for the first. */
  #ahead = 0;
  readonly #madeAhead = new Set<Connection>();
  #solos = 0;
  /** Exchanges that are less urgent than usual, among them. */
  #unhurried = 0;
  /** Those that are free of their connections, with responses of which their readers have not taken all. */
  #unread = 0;
  #done = 0;
  #failed = 0;
  #retried = 0;
  #isPumping = false;
  /** What `isNew` said at the last look at room. */
  #wasNew = true;
  #wasFull = false;
  #onIdle: (() => void) | null = null;

  constructor(
    name: string,
    servername: string | null,
    known: Known,
    options: ResolvedOptions,
    owner: OriginOwner,
  ) {
    this.name = name;
    this.#url = new URL(name);
    this.#certificateName = servername;
    this.servername = servername ?? this.#url.hostname;
    this.known = known;
    this.#options = options;
    this.#owner = owner;
    this.#fleet = new Fleet(this.#fleetOptions(), this, clock);
  }

  get link() {
    return this.known.link;
  }

  get trust() {
    return this.known.trust;
  }

  /** Takes a request. @returns false where it is better to wait with the next, until `onDrain` */
  submit(options: RequestOptions, handler: Handler): boolean {
    const exchange = new Exchange(this, options, handler);
    if (this.#scheduler.waiting >= this.#options.maxQueue) {
      exchange.fail(queueFull(this.#options.maxQueue, this.name));
      return false;
    }
    if (this.#live++ === 0) this.#keepAlive.set(true);
    if (exchange.manner.solo) this.#solos++;
    if (exchange.priority < 0) this.#unhurried++;
    exchange.begin();
    if (exchange.settled) {
      this.finished(exchange);
      return true;
    }
    this.#scheduler.submit(exchange);
    if (this.#fleet.lanes.length === 0 && wantsDocument(exchange.wire.headers) && this.#owner.makesAhead())
      this.#lookAhead();
    if (this.demand() > this.#fleet.growAbove) this.#fleet.grow();
    if (this.#scheduler.waiting === 0) return true;
    this.#wasFull = true;
    this.onRoom();
    return false;
  }

  /** A page is asked for, and what belongs to it will be: the connections for that are made with the first. */
  #lookAhead(): void {
    this.#ahead = Math.min(AHEAD, this.#options.connections) - 1;
    this.#fleet.grow();
    this.#ahead = 0;
    for (const connection of this.#connections) this.#madeAhead.add(connection);
  }

  stats(): OriginStats {
    const connections = [...this.#connections].map(lane => ({
      id: lane.id,
      state: lane.state,
      protocol: lane.protocol,
      outstanding: lane.outstanding,
      depth: lane.depth,
    }));
    const running = connections.reduce((sum, { outstanding }) => sum + outstanding, 0);
    return {
      connections,
      queued: this.#scheduler.waiting,
      running,
      done: this.#done,
      failed: this.#failed,
      retried: this.#retried,
    };
  }

  /** Resolves when all requests have been answered and all connections are closed. */
  async close(): Promise<void> {
    if (this.#live > 0) await new Promise<void>(resolve => (this.#onIdle = resolve));
    await this.#end(undefined);
  }

  async destroy(reason: Error): Promise<void> {
    const waiting = this.#scheduler.takeAll() as Exchange[];
    const handed = [...this.#connections].flatMap(connection => connection.handed());
    for (const exchange of [...handed, ...waiting]) exchange.fail(reason);
    for (const exchange of waiting) this.finished(exchange);
    await this.#end(reason);
  }

  async #end(cause: unknown): Promise<void> {
    await this.#fleet.close(cause);
    this.#keepAlive.dispose();
  }

  // ---- what becomes of exchanges --------------------------------------------------------------------------

  settle(call: Call, failed: boolean, value: unknown): void {
    if (failed) (call as Exchange).fail(value as Error);
    else (call as Exchange).complete(value as Fields);
  }

  /** No connection has it, and none will. */
  finished(call: Call): void {
    const exchange = call as Exchange;
    exchange.isFree = true;
    if (exchange.settled) this.#leave(exchange);
    else this.#unread++;
  }

  onSettled(exchange: Exchange, failed: boolean): void {
    if (failed) this.#failed++;
    else this.#done++;
    if (!exchange.isFree) return;
    this.#unread--;
    this.#leave(exchange);
  }

  #leave(exchange: Exchange): void {
    if (exchange.manner.solo) this.#solos--;
    if (exchange.priority < 0) this.#unhurried--;
    if (--this.#live > 0) return;
    this.#keepAlive.set(false);
    this.#onIdle?.();
    this.#reviewEmpty();
  }

  cancel(exchange: Exchange, reason: Error): void {
    const { outlet } = exchange;
    const waits = exchange.queued;
    exchange.fail(reason);
    if (waits && this.#scheduler.recall(exchange)) {
      this.finished(exchange);
      this.onRoom();
    } else if (!exchange.isFree) (outlet as Connection | null)?.abort(exchange, reason);
  }

  putBack(exchange: Exchange): void {
    this.#scheduler.requeue([exchange]);
  }

  requeue(exchanges: Exchange[]): void {
    for (const exchange of exchanges) if (!exchange.settled) this.#tellRetry(exchange, undefined);
    this.#goOn(exchanges);
    this.#fleet.grow();
  }

  /** Those of them that somebody still waits for: handlers that were told of the others' end may have aborted some. */
  #goOn(exchanges: readonly Exchange[]): void {
    for (const exchange of exchanges) if (exchange.settled) this.finished(exchange);
    this.#scheduler.requeue(exchanges.filter(({ settled }) => !settled));
  }

  #tellRetry(exchange: Exchange, cause: unknown): void {
    this.#retried++;
    if (!channels.retries.hasSubscribers) return;
    const { method, path } = exchange.wire;
    channels.retries.publish({ origin: this.name, method, path, cause } satisfies channels.RetryMessage);
  }

  // ---- room -----------------------------------------------------------------------------------------------

  /** Looks once, when what is going on now is over. */
  onRoom(): void {
    if (this.#isPumping) return;
    this.#isPumping = true;
    queueMicrotask(() => {
      this.#isPumping = false;
      this.#freeWaiting();
      this.#scheduler.pump();
      this.#reviewNew();
      if (this.#stuck() > 0 || this.demand() > this.#fleet.growAbove) this.#fleet.grow();
      if (!this.#wasFull || this.#scheduler.waiting > 0) return;
      this.#wasFull = false;
      this.#owner.onDrain(this);
    });
  }

  /** One that waits to be alone on a connection goes to another that has nothing to do. */
  #freeWaiting(): void {
    for (const idle of this.#connections) {
      if (!idle.isIdle || idle.room() <= 0) continue;
      for (const connection of this.#connections) {
        const exchange = connection.takeNext();
        if (exchange === null) continue;
        this.putBack(exchange);
        return;
      }
      return;
    }
  }

  mayTry(connection: Connection): boolean {
    for (const other of this.#connections) if (other !== connection && other.outstanding > 1) return false;
    return true;
  }

  isUrgent({ priority }: Call): boolean {
    return this.#unhurried > 0 && priority >= 0;
  }

  hasIdle(): boolean {
    if (this.#scheduler.waiting > 0) return false;
    for (const connection of this.#connections) if (connection.isIdle && connection.room() > 0) return true;
    return false;
  }

  isPressed(): boolean {
    return this.#scheduler.waiting > this.#connections.size;
  }

  backlogMs(): number {
    const { rate, bytes } = this.link;
    if (rate === 0) return 0;
    let outstanding = 0;
    for (const connection of this.#connections) outstanding += connection.outstanding;
    return (outstanding * bytes) / rate;
  }

  get idleMs(): number {
    return this.#options.keepAliveTimeout;
  }

  get maxRequests(): number {
    return this.#options.maxRequestsPerClient;
  }

  get maxResponseBytes(): number {
    return this.#options.maxResponseBytes;
  }

  // ---- connections ----------------------------------------------------------------------------------------

  connect(onDone: (error: Error | null, socket?: Socket | null) => void): void {
    const { hostname, host, protocol, port } = this.#url;
    const isIpv6 = hostname.startsWith('[');
    this.#options.connect(
      {
        host,
        hostname: isIpv6 ? hostname.slice(1, -1) : hostname,
        protocol,
        port,
        ...(this.#certificateName !== null && { servername: this.#certificateName }),
        localAddress: this.#options.localAddress,
      },
      onDone as Parameters<ResolvedOptions['connect']>[1],
    );
  }

  createClient(socket: Socket): Client {
    return createClient(this.name, socket, this.#options.client);
  }

  // ---- the fleet ------------------------------------------------------------------------------------------

  #fleetOptions(): FleetOptions {
    const { connections } = this.#options;
    const origin = this;
    return {
      minLanes: 0,
      get maxLanes() {
        return origin.#isNew() ? Math.min(FIRST_CONNECTIONS, connections) : connections;
      },
      get concurrency() {
        return origin.#usualDepth();
      },
      lingerMs: this.#options.keepAliveMaxTimeout,
      // Whoever makes the socket says when that takes too long.
      startMs: Number.POSITIVE_INFINITY,
      recycle: {
        // Connections count their requests themselves: they may not be sent one too many.
        afterCalls: Number.POSITIVE_INFINITY,
        afterMs: Number.POSITIVE_INFINITY,
        idleMs: Number.POSITIVE_INFINITY,
      },
      drainMs: 0,
    };
  }

  /** It may turn out to take pipelines; then it will not need a connection for each request. */
  #isNew(): boolean {
    return this.link.responses < FIRST_RESPONSES && this.trust.state(Date.now()) === 'unknown';
  }

  /** One that is not new any more may have more connections, which the fleet does not know by itself. */
  #reviewNew(): void {
    const isNew = this.#isNew();
    if (this.#wasNew && !isNew) this.#fleet.grow();
    this.#wasNew = isNew;
  }

  /** How many requests a connection takes at once, as far as the fleet is concerned. */
  #usualDepth(): number {
    const h2 = this.#h2();
    if (h2 !== undefined) return h2.depth;
    const { thinkMs, rttMs } = this.link;
    const depth = this.trust.depth(false, Date.now());
    return thinkMs === 0 ? depth : Math.max(1, Math.min(depth, 1 + Math.floor(rttMs / thinkMs)));
  }

  /** One of its connections that speaks HTTP/2. */
  #h2(): Connection | undefined {
    for (const connection of this.#connections) if (connection.protocol === 'h2') return connection;
    return undefined;
  }

  createLane(id: number, events: LaneEvents): Lane {
    const connection = new Connection(id, this, events);
    this.#connections.add(connection);
    return connection;
  }

  demand(): number {
    const depth = this.#usualDepth();
    // With HTTP/2 nothing needs to be alone on its connection.
    const alone = this.#h2() === undefined ? this.#solos * (depth - 1) : 0;
    const asked = this.#live - this.#unread + this.#ahead * depth + alone;
    // However few requests stuck connections have, they are full.
    const stuck = this.#stuck();
    return stuck === 0 ? asked : Math.max(asked, stuck * depth + this.#scheduler.waiting);
  }

  /**
   * How many connections there are, if requests wait although each could have more: a slow response is before them, or a large
   * one, or one whose reader pauses, and none of them need ever end. 0 where they wait for nothing but their turn.
   */
  #stuck(): number {
    if (this.#scheduler.waiting === 0) return 0;
    let stuck = 0;
    for (const connection of this.#connections) {
      if (connection.isStuck) stuck++;
      else if (connection.state !== 'draining') return 0;
    }
    return stuck;
  }

  finishedCalls(): number {
    return this.#done + this.#failed;
  }

  serviceMs(): number {
    return this.link.serviceMs;
  }

  hasBudget(): boolean {
    return true;
  }

  onCapacity(): void {}

  onMoved({ id, state, cause, calls }: LaneNews): void {
    if (!channels.connections.hasSubscribers) return;
    channels.connections.publish({
      origin: this.name,
      connection: id,
      state,
      cause,
      responses: calls,
    } satisfies channels.ConnectionMessage);
  }

  onBackOff(cause: unknown): void {
    this.#owner.onConnectError(this, cause);
  }

  onUp(lane: Lane): void {
    this.#scheduler.addOutlet(lane);
    this.#owner.onConnect(this);
    this.onRoom();
  }

  onLeaving(lane: Lane): void {
    const exchange = (lane as Connection).takeNext();
    if (exchange !== null) this.putBack(exchange);
  }

  onGone(lane: Lane, unstarted: readonly Call[], started: readonly Call[]): void {
    const connection = lane as Connection;
    this.#connections.delete(connection);
    this.#scheduler.removeOutlet(lane);
    if (this.#madeAhead.delete(connection)) this.#owner.onMadeAhead(connection.wasUsed);
    const again: Exchange[] = [];
    for (const exchange of started as readonly Exchange[]) {
      const { cause, again: mayGoOn } = exchange.lost!;
      if (exchange.settled || !mayGoOn) {
        exchange.fail(cause ?? new errors.SocketError('closed'));
        this.finished(exchange);
      } else {
        this.#tellRetry(exchange, cause);
        again.push(exchange);
      }
    }
    for (const exchange of unstarted as readonly Exchange[]) {
      // One that was used may be closed at any time; that is no sign of anything.
      if (lane.calls === 0) exchange.losses++;
      if (exchange.settled || exchange.losses >= MOST_LOSSES) {
        exchange.fail((lane.cause as Error) ?? new errors.SocketError('closed'));
        this.finished(exchange);
      } else again.push(exchange);
    }
    this.#goOn(again);
    // Last, since others listen to it.
    if (connection.wasUp) this.#owner.onDisconnect(this, lane.cause);
    queueMicrotask(() => this.#reviewEmpty());
  }

  onCannotStart(cause: unknown): void {
    for (const exchange of this.#scheduler.takeAll() as Exchange[]) {
      exchange.fail(cause as Error);
      this.finished(exchange);
    }
    this.onRoom();
  }

  #reviewEmpty(): void {
    if (this.#live === 0 && this.#fleet.lanes.length === 0) this.#owner.onEmpty(this);
  }
}

function queueFull(maxQueue: number, origin: string): HotlaneError {
  return new HotlaneError(
    'QUEUE_FULL',
    `${maxQueue} requests to ${origin} are waiting already, which is the limit \`maxQueue\`. Send fewer at once, wait for the event \`drain\`, or raise the limit.`,
  );
}
