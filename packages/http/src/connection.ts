import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import {
  type Call,
  clock,
  type Lane,
  type LaneEvents,
  type LaneState,
  NOWHERE,
  type Outcomes,
} from 'hotlane/lanes';
import { type Client, errors } from 'undici';
import { Attempt, type AttemptOwner } from './attempt.ts';
import type { Exchange, Fields } from './exchange.ts';
import type { Link } from './link.ts';
import type { Trust } from './trust.ts';

/** What a connection needs of those who made it. */
export interface ConnectionHost extends Outcomes {
  readonly link: Link;
  readonly trust: Trust;
  /** Makes the socket, with TLS and whatever else belongs to it. */
  connect(onDone: (error: Error | null, socket?: Socket | null) => void): void;
  createClient(socket: Socket): Client;
  /** Whether pipelining may be tried on this connection, while nothing is known of it: on one only. */
  mayTry(connection: Connection): boolean;
  /** Whether there are less urgent requests, which it should not wait for. */
  isUrgent(call: Call): boolean;
  /** Whether nothing waits, and a connection has nothing to do. */
  hasIdle(): boolean;
  /** Whether more requests wait than there are connections. */
  isPressed(): boolean;
  /** For how long all that was asked for keeps the link busy, in milliseconds. */
  backlogMs(): number;
  /** After so long without a request the connection may go, in milliseconds. */
  readonly idleMs: number;
  /** A connection is sent no more requests than this. */
  readonly maxRequests: number;
  /** A body of more bytes than this fails. */
  readonly maxResponseBytes: number;
  /** There may be room where there was none. */
  onRoom(): void;
  /** One that was not sent, and is not bound to this connection any more. */
  putBack(exchange: Exchange): void;
  /** Exchanges that go elsewhere. */
  requeue(exchanges: Exchange[]): void;
}

/** A wait for the server that is shorter than a round trip, or than this in milliseconds, is worth the round trip saved. */
const LEAST_PATIENCE_MS = 5;
/** What one request more on a connection that has some is worth, as a part of a round trip and in milliseconds. */
const DEEPER_PER_RTT = 1 / 64;
const DEEPER_MS = 0.25;
/** What a link is taken to carry before that is known, in bytes a millisecond. */
const USUAL_RATE = 1_000;
/** From this round trip on a way is long, in milliseconds. */
const FAR_MS = 20;
/** A response of which more than this is still to come gets no followers, in bytes; or what two round trips carry. */
const LARGE_BYTES = 64 * 1024;
/** What is held in memory for a reader that makes a pause while others wait behind it, in bytes. */
const MOST_HELD_BYTES = 256 * 1024;
/** More interim responses than this to one request are no use to anybody. */
const MOST_INTERIM = 16;
const REQUEST_TIMEOUT = 408;
/** A head that makes others wait for so long speaks against pipelines, in milliseconds. */
const SLOW_MS = 3_000;
/** Those behind a head that has not got on for so long go elsewhere, in milliseconds; and where a connection has nothing to do: in milliseconds and in round trips. */
const STUCK_MS = 3_000;
const LEAST_STUCK_MS = 250;
const STUCK_RTTS = 8;
/** A request is given up whose connections were lost so often while it was its turn; those that were fresh count twice. */
const MOST_FAILURES = 5;
/** The least that waiting for a response which nobody wants may take, in milliseconds. */
const LEAST_DROP_MS = 100;
/** As many streams as undici opens on a connection of HTTP/2, unless the server allows fewer. */
const STREAMS = 100;

/**
 * One connection as a lane: requests are pushed to it, up to its depth, and its responses come in their order.
 *
 *   hand ──▶ sent ──── round trip ────▶ its turn ──▶ first byte ──▶ header ──▶ body ──▶ end
 *     │        │                          │                           │
 *     │        └ lost: sent again, alone, if it may run twice ────────┤
 *     └ lost: goes elsewhere                                          └ lost: fails
 *
 * undici's `Client` writes requests and reads responses; a client has one connection here and is never used for another,
 * so that what it would send again by itself is sent by us, as RFC 9112 wants it.
 */
export class Connection implements Lane, AttemptOwner {
  readonly id: number;
  state: LaneState = 'starting';
  cause: unknown;
  calls = 0;
  wornAt = Number.POSITIVE_INFINITY;
  readonly #host: ConnectionHost;
  readonly #events: LaneEvents;
  #socket: Socket | null = null;
  #client: Client | null = null;
  #isH2 = false;
  /** What it has, in the order in which responses will come. */
  readonly #attempts: Attempt[] = [];
  /** One that goes alone, and waits until the others have been answered. */
  #next: Attempt | null = null;
  /** The client is given a request right now. */
  #dispatched: Attempt | null = null;
  #isCorked = false;
  /** It takes nothing more: the server has announced its end, or nobody wants what is still to come. */
  #isClosing = false;
  #isAnnounced = false;
  /** Responses that were moved elsewhere are still to come on it. */
  #endsWhenIdle = false;
  /** HTTP/2: the server has said that it goes. */
  #isLeaving = false;
  /** What the client gives back, while it does. */
  #turnedAway: Attempt[] | null = null;
  /** We have no more use for it: its end is no fault of anybody's. */
  #isGivenUp = false;
  #isGone = false;
  /** What has just arrived may not be read to its end. */
  #isReading = false;
  /** When the last response ended, and what had arrived by then over all connections. */
  #turnAt = 0;
  #receivedAtTurn = 0;
  /** Responses since there was nothing outstanding. */
  #answeredInBurst = 0;
  #timer: unknown = null;
  /** The next look at whether the head gets on, while there are others behind it. */
  #headWatch: unknown = null;
  /** One that was the head and did not get on: nothing waits for it any more. */
  #stuck: Attempt | null = null;

  constructor(id: number, host: ConnectionHost, events: LaneEvents) {
    this.id = id;
    this.#host = host;
    this.#events = events;
    const startedAt = clock.now();
    try {
      host.connect((error, socket) => this.#onSocket(error, socket, startedAt));
    } catch (error) {
      this.end(error);
    }
  }

  /** Requests that were sent and are not answered. */
  get outstanding(): number {
    return this.#attempts.length;
  }

  get isIdle(): boolean {
    return this.#attempts.length === 0 && this.#next === null;
  }

  /** It has had a request. */
  get wasUsed(): boolean {
    return this.#client !== null;
  }

  /** Of one that takes nothing: whether that is for what it has, not for how much. */
  get isStuck(): boolean {
    return this.state === 'up' && !this.#isReading && this.#attempts.length < this.depth;
  }

  get wasUp(): boolean {
    return this.#socket !== null;
  }

  get protocol(): 'h1' | 'h2' {
    return this.#isH2 ? 'h2' : 'h1';
  }

  /** How many requests may be on it. */
  get depth(): number {
    if (this.#isH2) return STREAMS;
    return this.#host.trust.depth(this.#host.mayTry(this), Date.now());
  }

  // ---- what the scheduler asks ----------------------------------------------------------------------------

  room(): number {
    if (this.state !== 'up' || this.#isClosing || this.#next !== null || this.#isReading) return 0;
    const count = this.#attempts.length;
    const left = this.#host.maxRequests - this.calls - count;
    if (this.#isH2 || count === 0 || left <= 0) return Math.min(this.depth - count, left);
    if (this.calls + count >= this.#host.trust.closesAfter) return 0;
    const last = this.#attempts[count - 1];
    if (last.exchange.solo || (last.exchange.manner.blocking && !last.answered)) return 0;
    const [head] = this.#attempts;
    if (head === this.#stuck || head.exchange.isPaused || this.#isLarge(head) || this.#isEndless(head))
      return 0;
    return Math.min(this.depth - count, left);
  }

  /**
   * In milliseconds: how long the server will let a request wait for those before it. While the link is the limit that does
   * not matter, since their bytes would fill the time anyway: then the deepest pipeline is the best, with the fewest packets.
   * What is more urgent than others goes where the least is before it, and so does all while pipelining is tried.
   * Where it would wait for longer than the round trip that it saves, it waits for another connection.
   */
  wait(call: Call): number {
    const count = this.#attempts.length;
    if (this.#isH2) return count;
    // Of those that are idle, the one that was used last: its path is warm, and the others may go.
    if (count === 0) return -this.#turnAt * 1e-13;
    const { link } = this.#host;
    const [head] = this.#attempts;
    const behind = head.begun ? count - 1 : count;
    const overdueMs = head.begun ? 0 : this.#overdueMs(head);
    const serverMs = Math.max(behind * link.thinkMs, overdueMs);
    if ((call as Exchange).solo) return serverMs + link.rttMs;
    const backlogMs = this.#host.backlogMs();
    const heldUpMs = Math.max(
      behind * (this.#host.isPressed() ? link.usualThinkMs : link.thinkMs),
      overdueMs,
    );
    if (heldUpMs > Math.max(link.rttMs, LEAST_PATIENCE_MS, backlogMs)) return Number.POSITIVE_INFINITY;
    const ownMs = this.#unreadBytes() / (link.rate || USUAL_RATE);
    if (this.#host.trust.state(Date.now()) === 'unknown') return ownMs;
    if (this.#host.isUrgent(call)) return Math.max(serverMs, ownMs);
    return Math.max(serverMs, backlogMs) - count * (link.rttMs * DEEPER_PER_RTT + DEEPER_MS);
  }

  /** What is still to come on it, as far as is known. */
  #unreadBytes(): number {
    const [head] = this.#attempts;
    const { bytes } = this.#host.link;
    return (head.length < 0 ? bytes : head.length - head.bytes) + (this.#attempts.length - 1) * bytes;
  }

  hand(call: Call): void {
    const exchange = call as Exchange;
    const attempt = new Attempt(exchange, this);
    exchange.slot = this.id;
    if (exchange.solo && this.#attempts.length > 0 && !this.#isH2) {
      this.#next = attempt;
      this.#watchHead();
    } else this.#dispatch(attempt);
  }

  recall(call: Call): boolean {
    if (this.#next?.exchange === call) {
      this.#next = null;
      call.slot = NOWHERE;
      return true;
    }
    const attempt = this.#attempts.find(({ exchange }) => exchange === call);
    if (attempt === undefined || attempt.sent) return false;
    this.#forget(attempt);
    return true;
  }

  /** What it was handed is on the wire already. */
  recallBehind(): Call[] {
    return [];
  }

  /** Takes out what waits for the others to be answered. */
  takeNext(): Exchange | null {
    const exchange = this.#next?.exchange ?? null;
    if (exchange !== null) this.recall(exchange);
    return exchange;
  }

  running(): number {
    return this.#attempts.filter(({ sent }) => sent).length;
  }

  /** All that it has. */
  handed(): Exchange[] {
    return [...this.#attempts, ...(this.#next === null ? [] : [this.#next])].map(({ exchange }) => exchange);
  }

  isDead(): boolean {
    return this.#isGone;
  }

  sweep(): void {}

  // ---- the connection itself ------------------------------------------------------------------------------

  #onSocket(error: Error | null, socket: Socket | null | undefined, startedAt: number): void {
    socket?.on('error', ignore);
    if (this.#isGone || this.#isGivenUp || this.#socket !== null) {
      socket?.destroy();
      return;
    }
    if (error || !socket) {
      this.end(error ?? new TypeError('`connect` gave neither an error nor a socket.'));
      return;
    }
    this.#socket = socket;
    this.#isH2 = (socket as TLSSocket).alpnProtocol === 'h2';
    // Until it has a request it keeps no process alive.
    socket.unref();
    socket.once('close', () => {
      if (this.#client === null) this.#onGone(null);
    });
    const now = clock.now();
    this.#host.link.onConnected(now - startedAt, (socket as TLSSocket).encrypted !== true, now);
    this.#events.onUp(this);
    if (this.isIdle)
      this.#timer = clock.setTimer(this.#host.idleMs, () => this.isIdle && this.end(undefined));
  }

  drain(): void {
    if (this.isIdle) this.end(undefined);
  }

  end(cause: unknown): void {
    if (this.#isGivenUp) return;
    this.#isClosing = this.#isGivenUp = true;
    this.cause ??= cause;
    // After the caller's own doing.
    queueMicrotask(() => this.#onGone(null));
  }

  /** The client has no connection any more; it tells those of its requests that it fails just before or after. */
  #onDisconnect(error: Error): void {
    this.#isClosing = true;
    if (this.#isH2 && !this.#socket!.destroyed) this.#onGoAway(error);
    else queueMicrotask(() => this.#onGone(error));
  }

  /** HTTP/2: the server takes no more requests, and answers those that it has taken. */
  #onGoAway(error: Error): void {
    if (this.#isLeaving) return;
    this.#isLeaving = true;
    this.#socket!.once('close', () => this.#onGone(error));
    this.#events.onEnding(this);
    // Later: what was not on the wire yet comes back to the client in this turn of the loop.
    setImmediate(() => this.#turnAway(error));
  }

  /** What the client keeps for another connection goes there our way, whatever it is: the server has not begun with it. */
  #turnAway(error: Error): void {
    if (this.#isGone) return;
    const turnedAway: Attempt[] = [];
    this.#turnedAway = turnedAway;
    this.#client!.destroy(error).catch(ignore);
    this.#turnedAway = null;
    const again: Exchange[] = [];
    for (const attempt of turnedAway) {
      const { exchange } = attempt;
      this.#forget(attempt);
      this.#countFailure(exchange);
      if (exchange.failures <= MOST_FAILURES) again.push(exchange);
      else {
        this.#host.settle(exchange, true, error);
        this.#host.finished(exchange, this);
      }
    }
    this.#host.requeue(again);
    this.drain();
  }

  #onGone(error: Error | null): void {
    if (this.#isGone) return;
    this.#isClosing = this.#isGone = true;
    clock.clearTimer(this.#timer);
    clock.clearTimer(this.#headWatch);
    if (!this.#isGivenUp) this.#judge(error);
    const head = this.#attempts.find(({ sent }) => sent);
    const [unstarted, started]: [Exchange[], Exchange[]] = [[], []];
    for (const attempt of [...this.#attempts, ...(this.#next === null ? [] : [this.#next])]) {
      const { exchange } = attempt;
      if (attempt.sent) this.#sortOut(attempt, error, attempt === head);
      (attempt.sent ? started : unstarted).push(exchange);
      this.#forget(attempt);
    }
    this.#next = null;
    if (this.#client === null) this.#socket?.destroy();
    else this.#client.destroy(error).catch(ignore);
    if (this.#isLeaving) this.#socket!.destroy(); // which its client has let go
    this.#events.onEnded(this, unstarted, started);
  }

  /** What becomes of a request whose connection is lost. */
  #sortOut(attempt: Attempt, error: Error | null, isHead: boolean): void {
    const { exchange } = attempt;
    const cause = attempt.error ?? error ?? (this.cause as Error);
    if (!this.#isGivenUp && isHead) this.#countFailure(exchange);
    exchange.alone = true;
    exchange.lost = {
      cause,
      again: this.#mayGoOn(exchange) && !attempt.answered && !(isHead && isTooSlow(cause)),
    };
  }

  /** One that was used before may have been closed before it had the request; a fresh one was not. */
  #countFailure(exchange: Exchange): void {
    exchange.failures += this.calls > 0 ? 1 : 2;
  }

  /** Whether it may be sent once more, on another connection. */
  #mayGoOn({ manner, settled, failures }: Exchange): boolean {
    return manner.repeatable && !settled && failures <= MOST_FAILURES;
  }

  /** What the connection's end says of the origin's pipelines. */
  #judge(error: Error | null): void {
    const { trust } = this.#host;
    const sent = this.#attempts.filter(attempt => attempt.sent).length;
    if (this.#isH2) {
      this.cause ??= sent > 0 ? error : undefined;
      return;
    }
    const code = (error as { code?: string } | null)?.code ?? '';
    if (isFraming(code, error)) {
      this.cause ??= error;
      trust.onBroken(`a response that cannot be: ${error!.message}`, Date.now());
      return;
    }
    if (code !== 'UND_ERR_INFO' && sent > 0) this.cause ??= error;
    // One that was idle may have been closed before it had the burst; that is no one's fault.
    const wasIdle = this.calls > 0 && this.#answeredInBurst === 0;
    const followers = this.#attempts.filter(attempt => attempt.wasPipelined).length;
    if (followers > 0 && !this.#isAnnounced && !wasIdle) {
      trust.onBroken(`closed before ${followers} pipelined requests were answered`, Date.now());
    }
  }

  // ---- sending --------------------------------------------------------------------------------------------

  #dispatch(attempt: Attempt): void {
    if (this.#client === null) this.#attach();
    if (this.#attempts.length === 0) this.#answeredInBurst = 0;
    this.#attempts.push(attempt);
    this.#dispatched = attempt;
    this.#client!.dispatch(attempt.exchange.wire, attempt);
    this.#dispatched = null;
  }

  #attach(): void {
    clock.clearTimer(this.#timer);
    this.#timer = null;
    this.#socket!.ref();
    this.#client = this.#host.createClient(this.#socket!);
    this.#client.on('disconnect', (_origin, _targets, error) => this.#onDisconnect(error));
    this.#client.on('connectionError', (_origin, _targets, error) => this.#onDisconnect(error));
  }

  onSent(attempt: Attempt): void {
    attempt.sent = true;
    attempt.sentAt = clock.now();
    attempt.receivedAtSent = this.#host.link.received;
    if (this.#isH2) return;
    // The first of a burst goes at once where the way is long: on a thin line a whole segment takes its time, and the server
    // can begin meanwhile.
    if (attempt !== this.#attempts[0] || this.#host.link.rttMs < FAR_MS) this.#cork();
    if (attempt === this.#attempts[0]) return;
    attempt.wasPipelined = true;
    this.#watchHead();
  }

  /** What is sent behind others until the program's other work of this moment is done goes out together. */
  #cork(): void {
    if (this.#isCorked) return;
    this.#isCorked = true;
    const socket = this.#socket!;
    socket.cork();
    process.nextTick(() => {
      this.#isCorked = false;
      socket.uncork();
    });
  }

  // ---- what arrives ---------------------------------------------------------------------------------------

  onFirstByte(attempt: Attempt): void {
    const now = clock.now();
    const { link, trust } = this.#host;
    attempt.begun = true;
    attempt.begunAt = now;
    if (!this.#isH2) {
      const waited = now - Math.max(attempt.sentAt, this.#turnAt);
      link.onFirstByte(attempt.sentAt, this.#turnAt, this.#receivedAt(attempt), now);
      if (waited > SLOW_MS && this.#attempts.length > 1) trust.onSlow();
      this.#host.onRoom();
    }
    attempt.exchange.onFirstByte();
  }

  onHeaders(attempt: Attempt, status: number, headers: Fields, statusText: string | undefined): void {
    if (status < 200) {
      if (++attempt.interim > MOST_INTERIM) {
        this.#break(attempt, `more than ${MOST_INTERIM} interim responses to one request`);
        return;
      }
    } else if (status === REQUEST_TIMEOUT && !this.#isH2 && this.#mayGoOn(attempt.exchange)) {
      this.#onTimedOut(attempt);
      return;
    } else {
      attempt.answered = true;
      const isBare = attempt.exchange.wire.method === 'HEAD' || status === 204 || status === 304;
      const told = Number(headers.parsed['content-length'] ?? -1);
      attempt.length = isBare ? 0 : told;
      attempt.isEndless = String(headers.parsed['content-type']).startsWith('text/event-stream');
      // undici closes after a bare response that tells of a body, should one follow.
      const endsHere = status === 204 || status === 304 ? told > 0 : false;
      if (endsHere || /\bclose\b/i.test(String(headers.parsed.connection))) {
        this.#isClosing = this.#isAnnounced = true;
      }
      if (attempt.exchange.manner.blocking) this.#host.onRoom();
    }
    attempt.exchange.flow = {
      pause: () => this.#pause(attempt),
      resume: () => this.#resume(attempt),
    };
    attempt.exchange.onHeaders(status, headers, statusText);
  }

  onData(attempt: Attempt, chunk: Buffer): void {
    const { link } = this.#host;
    link.received += chunk.length;
    attempt.bytes += chunk.length;
    if (attempt.bodyAt === 0) {
      attempt.bodyAt = clock.now();
      attempt.receivedAtBody = link.received;
    }
    if (attempt.bytes > this.#host.maxResponseBytes) {
      attempt.exchange.abort(new errors.ResponseExceededMaxSizeError());
    }
    attempt.exchange.onData(chunk);
    if (attempt.exchange.heldBytes <= MOST_HELD_BYTES) return;
    attempt.client!.pause();
    if (!this.#isH2) this.#moveFollowers();
  }

  onEnd(attempt: Attempt, trailers: Fields): void {
    const now = clock.now();
    const { link, trust } = this.#host;
    this.calls++;
    link.onResponse(attempt.sentAt, attempt.bytes, now);
    if (link.received > attempt.receivedAtBody && attempt.bodyAt > 0) {
      link.onRest(attempt.bodyAt, attempt.receivedAtBody, now);
    }
    if (!this.#isH2) {
      this.#turnAt = now;
      this.#receivedAtTurn = link.received;
      this.#answeredInBurst++;
      if (!attempt.exchange.wire.reset) trust.onAnswered(this.calls, this.#isAnnounced);
      if (attempt.wasPipelined) trust.onPipelined();
      // What follows in what was just read belongs to requests that were sent before: there must be no new one.
      this.#isReading = true;
    }
    this.#forget(attempt);
    this.#host.settle(attempt.exchange, false, trailers);
    this.#onFree(attempt);
  }

  onUpgrade(attempt: Attempt, status: number, headers: Fields, socket: Duplex): void {
    this.calls++;
    this.#forget(attempt);
    attempt.exchange.onUpgrade(status, headers, socket);
    this.#onFree(attempt);
  }

  onError(attempt: Attempt, error: Error): void {
    if (this.#turnedAway !== null) {
      this.#turnedAway.push(attempt);
      return;
    }
    const refused = !attempt.sent && (this.#dispatched === attempt || isRefusal(error));
    if (!refused && !this.#isH2) {
      attempt.error = error; // the connection's end follows
      return;
    }
    this.#forget(attempt);
    if (!refused && !attempt.answered && !isTooSlow(error) && this.#mayGoOn(attempt.exchange)) {
      attempt.exchange.failures += 2; // its connection goes on, and has had it
      this.#host.requeue([attempt.exchange]);
      return;
    }
    this.#host.settle(attempt.exchange, true, error);
    this.#onFree(attempt);
  }

  /** The connection is free of an exchange, and looks after the next. */
  #onFree({ exchange }: Attempt): void {
    this.#host.finished(exchange, this);
    queueMicrotask(() => {
      this.#isReading = false;
      if (this.#isGone) return;
      if (this.#attempts.length === 0 && this.#next !== null && !this.#isClosing) {
        const next = this.#next;
        this.#next = null;
        this.#dispatch(next);
      } else if (this.#attempts.length === 0 && this.#isDone()) {
        this.end(undefined);
      }
      this.#reviewDropped();
      this.#host.onRoom();
    });
  }

  /** It is of no use once it has nothing more to do. */
  #isDone(): boolean {
    return this.state === 'draining' || this.#endsWhenIdle || this.calls >= this.#host.maxRequests;
  }

  /** From here on the attempt is over for this connection, and the other way round. */
  #forget(attempt: Attempt): void {
    attempt.over = true;
    attempt.exchange.slot = NOWHERE;
    attempt.exchange.flow = null;
    const at = this.#attempts.indexOf(attempt);
    if (at >= 0) this.#attempts.splice(at, 1);
  }

  /**
   * 408: the server has waited too long for a request. Where it was sent before ours had come, it is not about ours, and in
   * either case another connection is the answer (RFC 9110, 15.5.9).
   */
  #onTimedOut(attempt: Attempt): void {
    this.#countFailure(attempt.exchange);
    attempt.exchange.alone = true;
    this.#forget(attempt);
    this.end(undefined); // first, so that it does not come back here
    this.#host.requeue([attempt.exchange]);
  }

  /** What the server sends is no HTTP. */
  #break(attempt: Attempt, what: string): void {
    const { trust } = this.#host;
    attempt.error = new TypeError(`The server sent ${what}.`);
    trust.onBroken(what, Date.now());
    this.#socket?.destroy();
    this.#onDisconnect(attempt.error);
  }

  // ---- responses that nobody wants ------------------------------------------------------------------------

  abort(call: Call, reason: unknown): void {
    if (this.recall(call)) {
      this.#host.finished(call, this);
      this.#host.onRoom();
      return;
    }
    const attempt = this.#attempts.find(({ exchange }) => exchange === call);
    if (attempt === undefined) return;
    if (this.#isH2) attempt.client!.abort(reason as Error);
    else if (attempt.exchange.isUploading) this.end(undefined);
    else {
      this.#readOn(attempt);
      this.#reviewDropped();
    }
  }

  /**
   * Where it is the turn of a response that nobody wants, or there are no others: it is read and dropped, unless that takes
   * longer than to do without the connection. As long as it is not known how long it takes, it may take as long as that.
   */
  #reviewDropped(): void {
    clock.clearTimer(this.#timer);
    const [head] = this.#attempts;
    if (head === undefined || !head.exchange.settled) return;
    const { link } = this.#host;
    const left = head.length < 0 || link.rate === 0 ? 0 : (head.length - head.bytes) / link.rate;
    const worthMs = Math.max(link.moveMs, LEAST_DROP_MS);
    if (left > worthMs) this.end(undefined);
    else this.#timer = clock.setTimer(worthMs, () => this.#giveUpUnlessHere(head));
  }

  /** On a busy thread the response may be here, and not read yet: reading comes after timers. */
  #giveUpUnlessHere(head: Attempt): void {
    setImmediate(() => {
      if (this.#attempts[0] === head) this.end(undefined);
    });
  }

  // ---- pauses ---------------------------------------------------------------------------------------------

  /** A reader that pauses does not hold up those behind it: what arrives for it is held, up to a limit. */
  #pause(attempt: Attempt): void {
    if (this.#attempts.length === 1 || this.#isH2) attempt.client!.pause();
  }

  /** Those behind the head go elsewhere; when that is done with, so is the connection, on which their responses still come. */
  #moveFollowers(): void {
    const next = this.takeNext();
    const followers = this.#attempts.slice(1);
    if (followers.length > 0) this.#isClosing = this.#endsWhenIdle = true;
    if (next !== null) this.#host.putBack(next);
    for (const attempt of followers) {
      attempt.exchange.alone = true;
      this.#forget(attempt);
    }
    if (followers.length > 0) this.#host.requeue(followers.map(({ exchange }) => exchange));
  }

  #resume(attempt: Attempt): void {
    this.#readOn(attempt);
    this.#host.onRoom();
  }

  /** Later: undici's parsers take turns, and this may be asked for in the midst of what another connection reads. */
  #readOn(attempt: Attempt): void {
    queueMicrotask(() => {
      const { exchange } = attempt;
      if (!attempt.over && (exchange.settled || !exchange.isPaused)) attempt.client!.resume();
    });
  }

  // ---- looks at the head ----------------------------------------------------------------------------------

  #overdueMs(head: Attempt): number {
    if (!head.sent) return 0;
    return this.#host.link.overdueMs(head.sentAt, this.#turnAt, this.#receivedAt(head), clock.now());
  }

  /** What had arrived, over all connections, when it was the turn of this response, or its request was sent. */
  #receivedAt(attempt: Attempt): number {
    return this.#turnAt > attempt.sentAt ? this.#receivedAtTurn : attempt.receivedAtSent;
  }

  /** Nobody knows how much is to come, and it has been coming for a while. */
  #isEndless(head: Attempt): boolean {
    if (!head.answered || head.length >= 0) return false;
    return (
      head.isEndless || clock.now() - head.begunAt > Math.max(this.#host.link.rttMs, LEAST_PATIENCE_MS) * 2
    );
  }

  /** Those behind a head that does not get on, or of which nobody knows how long it goes on, go elsewhere after a while. */
  #watchHead(sinceMs = clock.now()): void {
    if (this.#headWatch !== null) return;
    const [head] = this.#attempts;
    const { bytes } = head;
    const lookMs = Math.max(LEAST_STUCK_MS, STUCK_RTTS * this.#host.link.rttMs);
    this.#headWatch = clock.setTimer(lookMs, () => {
      this.#headWatch = null;
      if (this.#isGone || (this.#attempts.length < 2 && this.#next === null)) return;
      const isSame = head === this.#attempts[0];
      const stuckMs = clock.now() - sinceMs;
      const isStill = isSame && head.bytes === bytes;
      const isLong = stuckMs >= Math.max(STUCK_MS, lookMs);
      if ((isStill && (isLong || this.#host.hasIdle())) || (isLong && isSame && head.length < 0)) {
        this.#stuck = head;
        this.#moveFollowers();
      } else if (isStill || (isSame && head.answered && head.length < 0)) this.#watchHead(sinceMs);
      else this.#watchHead();
    });
  }

  #isLarge(head: Attempt): boolean {
    const { link } = this.#host;
    const large = Math.max(LARGE_BYTES, 2 * link.rttMs * link.rate);
    return (head.length < 0 ? head.bytes : head.length - head.bytes) > large;
  }
}

/** The request is not one; the connection knows nothing of it. */
function isRefusal(error: Error): boolean {
  const { code } = error as { code?: string };
  return code === 'UND_ERR_INVALID_ARG' || code === 'UND_ERR_REQ_CONTENT_LENGTH_MISMATCH';
}

/** The server had the time that there was for its answer. */
function isTooSlow(error: Error | null | undefined): boolean {
  return (error as { code?: string } | null | undefined)?.code === 'UND_ERR_HEADERS_TIMEOUT';
}

/** Whether the server's bytes are no sequence of responses to what it was asked. */
function isFraming(code: string, error: Error | null): boolean {
  return (
    error?.name === 'HTTPParserError' || // not each has a code
    code === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH' ||
    code === 'UND_ERR_HEADERS_OVERFLOW' ||
    (code === 'UND_ERR_SOCKET' && error!.message.startsWith('bad '))
  );
}

function ignore(): void {}
