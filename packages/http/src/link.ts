/** How much the newest sample counts in a running mean, once there are enough of them. */
const NEWEST = 1 / 16;
/** A shorter time than this cannot be told from none, in milliseconds. */
const LEAST_RATE_MS = 0.05;
/** From less than a segment no rate is learned, in bytes. */
const LEAST_RATE_BYTES = 1_400;
/** Of so many bodies the one that came fastest tells the link's rate: others were held up by the server. */
const RATES = 8;
/** Of so many thinking times the middle one is the usual one. */
const THINKS = 9;
/** The shortest round trip counts for so long, in milliseconds; the path may change. */
const RTT_HOLDS_MS = 60_000;
/** What a response is taken to measure before one was seen, in bytes. */
const USUAL_BYTES = 8 * 1024;

/**
 * What is known of the way to an origin and of how fast it answers: learned from each response, over all connections.
 *
 * Three things make a response late, and only one of them is the server's own doing: the way there and back, the bytes
 * that go before it, and the time that the server thinks. They are told apart by what else arrived meanwhile: where the
 * bytes of all connections would have filled the time, the link was the limit.
 *
 *   sent ──── round trip ────┬── other bytes, at the link's rate ──┬── thinking ──▶ first byte
 */
export class Link {
  /** The shortest round trip seen, in milliseconds; 0 while none is known. */
  rttMs = 0;
  /** What a connection takes to come up, in milliseconds: a running mean; 0 while none is known. */
  connectMs = 0;
  /** How long the server takes to begin with a response whose turn it is, in milliseconds: a running mean. */
  thinkMs = 0;
  /** How long it usually takes: unlike the mean, few that take long do not change it. */
  usualThinkMs = 0;
  /** From a request's sending to its response's end, in milliseconds: a running mean; 0 while nothing is known. */
  serviceMs = 0;
  /** How many bytes arrive in a millisecond where the link is the limit; 0 while nothing is known. */
  rate = 0;
  /** The mean size of a response's body, in bytes. */
  bytes = USUAL_BYTES;
  /** Responses learned from. */
  responses = 0;
  /** Bytes of bodies that arrived so far, over all connections. */
  received = 0;
  #thinks = 0;
  readonly #lastThinks: number[] = [];
  #connects = 0;
  #rttSeenAt = 0;
  readonly #rates = new Float64Array(RATES);
  #nextRate = 0;

  /** @param plain it took one round trip, since nothing but TCP's own was exchanged */
  onConnected(ms: number, plain: boolean, now: number): void {
    this.connectMs += (ms - this.connectMs) * weight(++this.#connects);
    if (plain) this.#sawRoundTrip(ms, now);
  }

  /**
   * A response begins.
   *
   * @param sentAt when its request was sent
   * @param turnAt when the response before it on its connection had ended; `sentAt` where there was none
   * @param received what had arrived in all at the later of the two
   */
  onFirstByte(sentAt: number, turnAt: number, received: number, now: number): void {
    if (turnAt <= sentAt) this.#sawRoundTrip(now - sentAt, now);
    const think = this.overdueMs(sentAt, turnAt, received, now);
    this.thinkMs += (think - this.thinkMs) * weight(++this.#thinks);
    this.#lastThinks[this.#thinks % THINKS] = think;
    this.usualThinkMs = middleOf(this.#lastThinks);
  }

  /** How long the server has let us wait for a response whose turn it is, the link's share left out. See `onFirstByte`. */
  overdueMs(sentAt: number, turnAt: number, received: number, now: number): number {
    const since = Math.max(sentAt, turnAt);
    const onTheWay = Math.max(0, sentAt + this.rttMs - since);
    const others = this.rate === 0 ? 0 : (this.received - received) / this.rate;
    return Math.max(0, now - since - Math.max(onTheWay, others));
  }

  /**
   * The rest of a body has arrived after its first part. What came meanwhile, of all connections, came as fast as the link
   * lets it: from bodies that come in one part nothing is learned, since they come as seldom as they are asked for.
   *
   * @param firstAt when the first part arrived
   * @param received what had arrived in all by then
   */
  onRest(firstAt: number, received: number, now: number): void {
    if (this.received - received < LEAST_RATE_BYTES) return; // what drips says nothing either
    const took = Math.max(LEAST_RATE_MS, now - firstAt);
    this.#rates[this.#nextRate++ % RATES] = (this.received - received) / took;
    this.rate = Math.max(...this.#rates);
  }

  /** A response has ended, and was not cut short. */
  onResponse(sentAt: number, bytes: number, now: number): void {
    const share = weight(++this.responses);
    this.serviceMs += (now - sentAt - this.serviceMs) * share;
    this.bytes += (bytes - this.bytes) * share;
  }

  /** What it costs to do without a connection: another, and the requests once more. In milliseconds. */
  get moveMs(): number {
    return this.connectMs + this.rttMs;
  }

  #sawRoundTrip(ms: number, now: number): void {
    if (this.rttMs !== 0 && ms > this.rttMs && now - this.#rttSeenAt < RTT_HOLDS_MS) return;
    this.rttMs = ms;
    this.#rttSeenAt = now;
  }
}

function middleOf(times: readonly number[]): number {
  const sorted = times.filter(time => time !== undefined).sort((a, b) => a - b);
  return sorted[sorted.length >> 1];
}

/** Of the n-th sample: first all count the same, then the newest a sixteenth. */
function weight(n: number): number {
  return Math.max(NEWEST, 1 / n);
}
