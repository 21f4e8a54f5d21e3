import { channel, tracingChannel } from 'node:diagnostics_channel';
import { TraceFile } from './trace-file.ts';
import { TraceRows } from './trace-rows.ts';

/** So much of an input is in its event. */
const MOST_INPUT_CHARS = 200;
/** How far apart two values of the counter are, at least. */
const COUNT_EVERY_NS = 1_000_000;
/** The row of what belongs to no lane. */
const HOST = 0;

/** The messages of hotlane's channels, as far as they are used. Times are in milliseconds on a common clock. */
interface CallMessage {
  readonly module: string;
  readonly name: string;
  readonly lane?: number;
  readonly queuedAt: number;
  readonly startedAt?: number;
  readonly endedAt?: number;
  readonly result?: unknown;
  readonly error?: { readonly code?: unknown };
}

interface LaneMessage {
  readonly module: string;
  readonly lane: number;
  readonly state: 'starting' | 'up' | 'draining' | 'ended';
  readonly cause?: { readonly message?: unknown };
}

/** What the counter tells. */
export type QueueDepth = () => { readonly queued: number; readonly running: number };

/** Writes what lanes and calls do as trace events, for Perfetto and chrome://tracing. Times are the lanes' own. */
export class Trace {
  readonly #file: TraceFile;
  readonly #rows: TraceRows;
  readonly #originNs = process.hrtime.bigint();
  /** What the call is for that is being made. */
  #making: string | undefined;
  readonly #inputs = new WeakMap<object, string>();
  readonly #lanes = new Set<number>();
  #module = '';
  #depth: QueueDepth = () => ({ queued: 0, running: 0 });
  #lastCountNs = Number.NEGATIVE_INFINITY;
  #lastId = 0;
  readonly #onStart = (message: unknown) => this.#started(message as CallMessage);
  readonly #onEnd = (message: unknown) => this.#ended(message as CallMessage);
  readonly #onLane = (message: unknown) => this.#lane(message as LaneMessage);

  /** @throws CommandLineError; see `TraceFile` */
  constructor(...file: ConstructorParameters<typeof TraceFile>) {
    this.#file = new TraceFile(...file);
    this.#rows = new TraceRows(this.#file);
    for (const name of ['process_name', 'thread_name']) {
      this.#file.add({ ph: 'M', name, ts: 0, tid: HOST, args: { name: 'hotlane map' } });
    }
  }

  /** Why nothing more is written. */
  get broken(): NodeJS.ErrnoException | null {
    return this.#file.broken;
  }

  /** Follows the pool of a module, which is to be made after this. @param depth is not asked before the first call */
  follow(module: string, depth: QueueDepth): void {
    this.#module = module;
    this.#depth = depth;
    tracingChannel('hotlane:call').start.subscribe(this.#onStart);
    tracingChannel('hotlane:call').asyncEnd.subscribe(this.#onEnd);
    channel('hotlane:lane').subscribe(this.#onLane);
  }

  /** Makes a call, which the channels tell of. */
  call<T>(input: string, make: () => T): T {
    this.#making = input;
    try {
      return make();
    } finally {
      this.#making = undefined;
    }
  }

  /** Makes a call of a stream. The channels do not tell of those: so its lane is not known, and the times are the host's. */
  async stream<T>(
    name: string,
    input: string,
    make: () => Promise<T>,
    statusOf: (end: T) => string,
  ): Promise<T> {
    const startNs = this.#nowNs();
    let status = 'failed';
    try {
      const end = await make();
      status = statusOf(end);
      return end;
    } finally {
      this.#span('stream', name, startNs, this.#nowNs(), { input: clip(input), status });
      this.#count();
    }
  }

  /** Writes what is there; then `broken` tells whether that can be done. */
  flush(): void {
    this.#file.flush();
  }

  /** To be called when the lanes have ended. */
  close(): void {
    tracingChannel('hotlane:call').start.unsubscribe(this.#onStart);
    tracingChannel('hotlane:call').asyncEnd.unsubscribe(this.#onEnd);
    channel('hotlane:lane').unsubscribe(this.#onLane);
    for (const lane of this.#lanes) this.#life('e', lane);
    this.#count(true);
    this.#file.close();
  }

  #started(message: CallMessage): void {
    if (this.#making === undefined || message.module !== this.#module) return;
    this.#inputs.set(message, this.#making);
    this.#count();
  }

  #ended(message: CallMessage): void {
    const input = this.#inputs.get(message);
    if (input === undefined) return;
    const { name, lane, queuedAt, startedAt, endedAt, result, error } = message;
    const status = typeof result === 'string' ? 'done' : 'failed';
    const queuedNs = this.#sinceNs(queuedAt);
    const args = { input: clip(input), status };
    if (lane === undefined || startedAt === undefined || endedAt === undefined) {
      // It was given up, or its lane was lost: nobody knows what it did, only how long it was waited for.
      this.#span('not finished', name, queuedNs, this.#nowNs(), { ...args, code: error?.code });
    } else {
      const startNs = this.#sinceNs(startedAt);
      const endNs = Math.max(startNs, this.#sinceNs(endedAt));
      const tid = this.#rows.take(lane, startNs, endNs);
      const waitedMs = Math.max(0, startNs - queuedNs) / 1e6;
      const times = { ts: startNs / 1e3, dur: (endNs - startNs) / 1e3 };
      this.#file.add({ ph: 'X', cat: 'call', name, tid, ...times, args: { ...args, waitedMs } });
    }
    this.#count();
  }

  #lane({ module, lane, state, cause }: LaneMessage): void {
    if (module !== this.#module) return;
    if (state === 'starting') {
      this.#lanes.add(lane);
      this.#rows.open(lane);
      this.#life('b', lane);
    } else if (state === 'ended') {
      if (!this.#lanes.delete(lane)) return;
      this.#life('e', lane, cause === undefined ? {} : { cause: clip(String(cause.message)) });
      this.#rows.forget(lane);
    } else if (this.#lanes.has(lane)) this.#life('n', lane, { state });
  }

  #life(ph: 'b' | 'n' | 'e', lane: number, args: object = {}): void {
    const ts = this.#nowNs() / 1e3;
    this.#file.add({ ph, cat: 'lane', id: `lane ${lane}`, name: `lane ${lane}`, ts, tid: HOST, args });
  }

  /** Something that may overlap with others. */
  #span(cat: string, name: string, startNs: number, endNs: number, args: object): void {
    const about = { cat, name, id: `${++this.#lastId}`, tid: HOST };
    this.#file.add({ ph: 'b', ...about, ts: startNs / 1e3, args });
    this.#file.add({ ph: 'e', ...about, ts: Math.max(startNs, endNs) / 1e3 });
  }

  #count(always = false): void {
    const nowNs = this.#nowNs();
    if (!always && nowNs - this.#lastCountNs < COUNT_EVERY_NS) return;
    this.#lastCountNs = nowNs;
    const { queued, running } = this.#depth();
    this.#file.add({ ph: 'C', name: 'calls', ts: nowNs / 1e3, tid: HOST, args: { queued, running } });
  }

  #nowNs(): number {
    return Number(process.hrtime.bigint() - this.#originNs);
  }

  /** Whole nanoseconds, so that what does not overlap does not after rounding either. */
  #sinceNs(ms: number): number {
    return Math.max(0, Math.round(ms * 1e6 - Number(this.#originNs)));
  }
}

function clip(text: string): string {
  return text.length <= MOST_INPUT_CHARS ? text : `${text.slice(0, MOST_INPUT_CHARS)}…`;
}
