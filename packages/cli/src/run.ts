import { setImmediate as nextTurn } from 'node:timers/promises';
import { isHotlaneError } from 'hotlane';
import { Depth, type LaneCounts } from './depth.ts';
import type { Input, Source } from './inputs.ts';
import { ItemFlow } from './item-flow.ts';
import type { Journal } from './journal.ts';
import { type Failure, failureOf } from './json.ts';
import type { LaneResult } from './lane.ts';
import type { Output } from './output.ts';
import { Retries } from './retries.ts';
import { GIVEN_UP, type ItemSink, type StreamEnd } from './stream-calls.ts';
import { type Entry, Waiting } from './waiting.ts';

/** Bounds on results that wait for a slower one before them. */
const MOST_WAITING = 4_096;
const MOST_WAITING_CHARS = 64 * 1024 * 1024;
const REVIEW_MS = 20;
/** What the journal holds needs no wait; after so many the event loop has a turn, for signals and the output. */
const REUSED_PER_TURN = 256;

export interface RunOptions {
  readonly ordered: boolean;
  /** Makes one call. The items of a stream go to the sink, and then the call's result is how the stream ended. */
  readonly call: (input: string, items: ItemSink) => Promise<LaneResult | StreamEnd>;
  /** Whether calls may be made ahead of free lanes. */
  readonly ahead: boolean;
  readonly lanes: () => LaneCounts;
  /** How often an input whose call failed is tried again. */
  readonly retries?: number;
  /** Holds results of earlier runs, and takes those of this one. */
  readonly journal?: Pick<Journal, 'count' | 'find' | 'add'>;
  /** An input for which no call could be made. */
  readonly onProblem: (input: string, problem: Failure) => void;
}

/** An input that was taken, until its result is written; there is none for a call that was given up. */
interface InputEntry extends Entry {
  readonly input: string;
  /** Which of the inputs with this text it is; 0 for one that the journal does not know. */
  nth: number;
  /** Calls that were made for it. */
  attempts: number;
  /** What the last of them failed with. */
  failure: Failure | null;
}

/**
 * Inputs in, lines out. Inputs are taken while all of these hold: fewer calls are under way than `Depth` allows,
 * not too many results wait for one before them, and the output keeps up. So memory is bounded by none of:
 * how many inputs there are, how slow one is, how slow the reader is.
 */
export class Run {
  done = 0;
  failed = 0;
  /** Calls that were made again. */
  retried = 0;
  /** Of those done: taken from the journal. */
  reused = 0;
  /** Calls that were under way when the run was abandoned. */
  abandoned = 0;
  /** Of streams. */
  items = 0;
  /** Inputs taken so far. */
  taken = 0;
  running = 0;
  /** It was told to stop while there may have been more inputs. */
  stopped = false;
  /** Why the inputs ended before their end. */
  inputError: Error | null = null;
  readonly #source: Source;
  readonly #output: Output;
  readonly #options: RunOptions;
  readonly #depth: Depth;
  readonly #retries: Retries<InputEntry>;
  /** Calls that are over; `done` and `failed` have inputs without calls in them. */
  #settledCalls = 0;
  readonly #waiting: Waiting<InputEntry>;
  readonly #flow: ItemFlow<InputEntry>;
  #intakeOver = false;
  #aborted = false;
  #wakeIntake: (() => void) | null = null;
  #onOver: () => void = () => {};

  constructor(source: Source, output: Output, options: RunOptions) {
    this.#source = source;
    this.#output = output;
    this.#options = options;
    this.#depth = new Depth(performance.now(), options.ahead);
    this.#waiting = new Waiting(options.ordered);
    this.#flow = new ItemFlow(this.#waiting, output);
    this.#retries = new Retries(options.retries ?? 0);
    this.#retries.onDue = () => this.#advance();
    output.onReady = () => this.#advance();
  }

  /** @returns when all that was taken has been handed to the output */
  async start(): Promise<void> {
    const over = new Promise<void>(resolve => {
      this.#onOver = resolve;
    });
    const review = setInterval(() => this.#review(), REVIEW_MS);
    this.#review();
    void this.#takeInputs();
    await over;
    clearInterval(review);
  }

  /** Takes no more inputs and tries nothing again; what runs finishes. */
  stop(): void {
    for (const entry of this.#retries.end()) this.#settle(entry, entry.failure!);
    if (this.#intakeOver) return;
    this.stopped = true;
    this.#endIntake();
    this.#source.stop();
  }

  /** To be followed by the end of all lanes: their calls count as abandoned, not as failed. */
  abort(): void {
    this.#aborted = true;
    this.#flow.end();
    this.stop();
  }

  async #takeInputs(): Promise<void> {
    try {
      for await (const input of this.#source) {
        if (this.#intakeOver) return;
        const reused = this.#take(input);
        if (reused && this.reused % REUSED_PER_TURN === 0) await nextTurn();
        while (!this.#hasRoom()) {
          await new Promise<void>(resolve => {
            this.#wakeIntake = resolve;
          });
        }
        if (this.#intakeOver) return;
      }
    } catch (error) {
      this.inputError = error as Error;
    }
    this.#endIntake();
  }

  #hasRoom(): boolean {
    if (this.#intakeOver) return true;
    return (
      this.running < this.#depth.limit &&
      this.#waiting.length < this.#depth.limit + MOST_WAITING &&
      this.#waiting.chars < MOST_WAITING_CHARS &&
      !this.#output.full
    );
  }

  /** @returns whether its result was in the journal */
  #take({ text, problem, garbled }: Input): boolean {
    this.taken++;
    const line = { text: '', items: 0, over: false };
    const entry: InputEntry = { input: text, nth: 0, attempts: 0, failure: null, ...line };
    this.#waiting.push(entry);
    const { journal } = this.#options;
    if (journal !== undefined && garbled === undefined) {
      entry.nth = journal.count(text);
      const line = journal.find(text, entry.nth);
      if (line !== undefined) {
        this.done++;
        this.reused++;
        this.#finish(entry, line);
        return true;
      }
    }
    if (problem === undefined) {
      this.#call(entry);
    } else {
      this.#options.onProblem(text, problem);
      this.#settle(entry, problem);
    }
    return false;
  }

  #call(entry: InputEntry): void {
    this.running++;
    entry.attempts++;
    if (entry.attempts > 1) this.retried++;
    this.#options.call(entry.input, this.#sinkOf(entry)).then(
      result => {
        this.running--;
        this.#settledCalls++;
        if (typeof result === 'symbol') this.#endStream(entry, result);
        else if (typeof result === 'string') this.#settle(entry, result);
        else this.#fail(entry, result);
      },
      error => {
        this.running--;
        this.#settledCalls++;
        if (this.#aborted && isHotlaneError(error, 'CLOSED')) {
          this.abandoned++;
          this.#finish(entry, '');
          return;
        }
        this.#fail(entry, failureOf(error));
        // A function that ignores its deadline holds its lane.
        if (isHotlaneError(error, 'DEADLINE')) this.#review();
      },
    );
  }

  #sinkOf(entry: InputEntry): ItemSink {
    let input = '';
    return {
      add: json => {
        this.items++;
        input ||= JSON.stringify(entry.input);
        this.#waiting.addItem(entry, `{"input":${input},"value":${json}}\n`);
        this.#advance();
      },
      room: () => this.#flow.room(entry),
    };
  }

  #endStream(entry: InputEntry, end: StreamEnd): void {
    if (end === GIVEN_UP) this.abandoned++;
    else this.done++;
    this.#finish(entry, '');
  }

  #fail(entry: InputEntry, failure: Failure): void {
    entry.failure = failure;
    if (this.#retries.rest(entry, entry.attempts)) this.#advance();
    else this.#settle(entry, failure);
  }

  #settle(entry: InputEntry, result: LaneResult): void {
    const input = JSON.stringify(entry.input);
    const attempts = entry.attempts > 1 ? `,"attempts":${entry.attempts}` : '';
    if (typeof result === 'string') {
      this.done++;
      const line = `{"input":${input},"value":${result}${attempts}}\n`;
      this.#options.journal?.add(entry.nth, line);
      this.#finish(entry, line);
    } else {
      this.failed++;
      this.#finish(entry, `{"input":${input},"error":${JSON.stringify(result)}${attempts}}\n`);
    }
  }

  #finish(entry: InputEntry, line: string): void {
    this.#waiting.end(entry, line);
    this.#advance();
  }

  /** Makes and writes what is due, and looks whether there is room now, or nothing left. */
  #advance(): void {
    while (this.#retries.hasDue && this.running < this.#depth.limit) this.#call(this.#retries.next()!);
    while (!this.#output.full || this.#aborted) {
      const line = this.#waiting.shift();
      if (line === undefined) break;
      if (line !== '') this.#output.write(line);
    }
    this.#flow.review();
    if (this.#wakeIntake !== null && this.#hasRoom()) {
      const wake = this.#wakeIntake;
      this.#wakeIntake = null;
      wake();
    }
    if (this.#intakeOver && this.#waiting.length === 0) this.#onOver();
  }

  #endIntake(): void {
    this.#intakeOver = true;
    this.#advance();
  }

  #review(): void {
    this.#depth.review(performance.now(), this.#settledCalls, this.#options.lanes());
    this.#advance();
  }
}
