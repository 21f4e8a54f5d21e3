import type { Socket } from 'node:net';

/** What a link carries of one flow before it turns to the next: a segment. */
const PIECE_BYTES = 1460;
/** Headers of IP and TCP, which take their time as well. */
const HEADER_BYTES = 40;
/** Of a flow that has so much waiting, no more is read. */
const MOST_WAITING_BYTES = 32 * 1024;

/** One direction of a network: flows take turns on it, and what it has carried arrives after its delay. */
export class ShapedLink {
  readonly #msPerByte: number;
  readonly #delayMs: number;
  /** Flows with something to send, in turn. */
  readonly #turns: Flow[] = [];
  /** In the order in which they arrive. Timers of their own would fire in another: Node rounds them. */
  readonly #flights: Flight[] = [];
  readonly #timers = new Set<NodeJS.Timeout>();
  #freeAt = 0;
  #isCarrying = false;
  #isDelivering = false;

  constructor(kbit: number, delayMs: number) {
    this.#msPerByte = 8 / kbit;
    this.#delayMs = delayMs;
  }

  /** A flow has something to send. */
  add(flow: Flow): void {
    this.#turns.push(flow);
    if (!this.#isCarrying) this.#carry();
  }

  /** Nothing arrives any more. */
  close(): void {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
  }

  /** Calls back at a time of `performance.now()`, unless the link is closed by then. */
  at(timeMs: number, then: () => void): void {
    const timer = setTimeout(
      () => {
        this.#timers.delete(timer);
        then();
      },
      Math.max(0, Math.ceil(timeMs - performance.now())),
    );
    this.#timers.add(timer);
  }

  /** Carries all that the link would have by now: timers are late, but the rate is kept since each piece has its time. */
  #carry(): void {
    this.#isCarrying = false;
    const now = performance.now();
    while (this.#turns.length > 0) {
      if (this.#freeAt > now) {
        this.#isCarrying = true;
        this.at(this.#freeAt, () => this.#carry());
        return;
      }
      const flow = this.#turns.shift()!;
      const piece = flow.take();
      this.#freeAt = Math.max(this.#freeAt, flow.readyAt) + (piece.length + HEADER_BYTES) * this.#msPerByte;
      this.#flights.push({ dueAt: this.#freeAt + this.#delayMs, flow, piece });
      if (!this.#isDelivering) this.#deliver();
      if (flow.hasMore) this.#turns.push(flow);
    }
  }

  #deliver(): void {
    this.#isDelivering = false;
    const now = performance.now();
    while (this.#flights.length > 0) {
      const { dueAt, flow, piece } = this.#flights[0]!;
      if (dueAt > now) {
        this.#isDelivering = true;
        this.at(dueAt, () => this.#deliver());
        return;
      }
      this.#flights.shift();
      flow.deliver(piece);
    }
  }
}

interface Flight {
  readonly dueAt: number;
  readonly flow: Flow;
  readonly piece: Buffer;
}

const END = Buffer.alloc(0);

/** What one socket sends to another over a link. */
export class Flow {
  readonly #link: ShapedLink;
  readonly #from: Socket;
  readonly #to: Socket;
  readonly #waiting: Buffer[] = [];
  #waitingBytes = 0;
  /** Since when what waits could have been sent. */
  readyAt = 0;

  /** @param opensAt nothing is sent before */
  constructor(link: ShapedLink, from: Socket, to: Socket, opensAt: number) {
    this.#link = link;
    this.#from = from;
    this.#to = to;
    from.pause();
    from.on('data', (data: Buffer) => this.#add(data));
    from.on('end', () => this.#add(END));
    link.at(opensAt, () => from.resume());
  }

  get hasMore(): boolean {
    return this.#waiting.length > 0;
  }

  /** Takes the next piece; the empty one says that there is no more to come. */
  take(): Buffer {
    const first = this.#waiting[0]!;
    const piece = first.subarray(0, PIECE_BYTES);
    if (piece.length === first.length) this.#waiting.shift();
    else this.#waiting[0] = first.subarray(PIECE_BYTES);
    this.#waitingBytes -= piece.length;
    if (this.#waitingBytes < MOST_WAITING_BYTES && this.#from.isPaused()) this.#from.resume();
    return piece;
  }

  deliver(piece: Buffer): void {
    if (piece.length === 0) this.#to.end();
    else if (!this.#to.destroyed) this.#to.write(piece);
  }

  #add(data: Buffer): void {
    const had = this.hasMore;
    this.#waiting.push(data);
    this.#waitingBytes += data.length;
    if (this.#waitingBytes >= MOST_WAITING_BYTES) this.#from.pause();
    if (had) return;
    this.readyAt = performance.now();
    this.#link.add(this);
  }
}
