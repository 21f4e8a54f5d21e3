import { isHotlaneError } from 'hotlane';
import { Depth, type LaneCounts } from './depth.ts';
import type { Input, Source } from './inputs.ts';
import { type Failure, failureOf } from './json.ts';
import type { LaneResult } from './lane.ts';
import type { Output } from './output.ts';

/** Bounds on results that wait for a slower one before them. */
const MOST_WAITING = 4_096;
const MOST_WAITING_CHARS = 64 * 1024 * 1024;
const REVIEW_MS = 20;

export interface RunOptions {
  readonly ordered: boolean;
  /** Makes one call. */
  readonly call: (input: string) => Promise<LaneResult>;
  /** Whether calls may be made ahead of free lanes. */
  readonly ahead: boolean;
  readonly lanes: () => LaneCounts;
  /** An input for which no call could be made. */
  readonly onProblem: (input: string, problem: Failure) => void;
}

/** An input that was taken, until its result is written. */
interface Entry {
  readonly input: string;
  /** The line to write, null while there is none; '' for a call that was given up. */
  line: string | null;
}

/**
 * Inputs in, lines out. Inputs are taken while all of these hold: fewer calls are under way than `Depth` allows,
 * not too many results wait for one before them, and the output keeps up. So memory is bounded by none of:
 * how many inputs there are, how slow one is, how slow the reader is.
 */
export class Run {
  done = 0;
  failed = 0;
  /** Calls that were under way when the run was abandoned. */
  abandoned = 0;
  /** Inputs taken so far. */
  taken = 0;
  running = 0;
  /** Why the inputs ended before their end. */
  inputError: Error | null = null;
  readonly #source: Source;
  readonly #output: Output;
  readonly #options: RunOptions;
  readonly #depth: Depth;
  /** Calls that are over; `done` and `failed` have inputs without calls in them. */
  #settledCalls = 0;
  /** In order: all that were taken and not written. Shifted by an index, since `shift` moves what follows. */
  #entries: Entry[] = [];
  #head = 0;
  #waitingChars = 0;
  #intakeOver = false;
  #aborted = false;
  #wakeIntake: (() => void) | null = null;
  #onOver: () => void = () => {};

  constructor(source: Source, output: Output, options: RunOptions) {
    this.#source = source;
    this.#output = output;
    this.#options = options;
    this.#depth = new Depth(performance.now(), options.ahead);
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

  /** Takes no more inputs; what runs finishes. */
  stop(): void {
    if (this.#intakeOver) return;
    this.#endIntake();
    this.#source.stop();
  }

  /** To be followed by the end of all lanes: their calls count as abandoned, not as failed. */
  abort(): void {
    this.#aborted = true;
    this.stop();
  }

  async #takeInputs(): Promise<void> {
    try {
      for await (const input of this.#source) {
        if (this.#intakeOver) return;
        this.#take(input);
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
      this.#entries.length - this.#head < this.#depth.limit + MOST_WAITING &&
      this.#waitingChars < MOST_WAITING_CHARS &&
      !this.#output.full
    );
  }

  #take({ text, problem }: Input): void {
    this.taken++;
    const entry: Entry = { input: text, line: null };
    this.#entries.push(entry);
    if (problem !== undefined) {
      this.#options.onProblem(text, problem);
      this.#settle(entry, problem);
      return;
    }
    this.running++;
    this.#options.call(text).then(
      result => {
        this.running--;
        this.#settledCalls++;
        this.#settle(entry, result);
      },
      error => {
        this.running--;
        this.#settledCalls++;
        if (this.#aborted && isHotlaneError(error, 'CLOSED')) {
          this.abandoned++;
          entry.line = '';
          this.#advance();
          return;
        }
        this.#settle(entry, failureOf(error));
        // A function that ignores its deadline holds its lane.
        if (isHotlaneError(error, 'DEADLINE')) this.#review();
      },
    );
  }

  #settle(entry: Entry, result: LaneResult): void {
    const input = JSON.stringify(entry.input);
    if (typeof result === 'string') {
      this.done++;
      entry.line = `{"input":${input},"value":${result}}\n`;
    } else {
      this.failed++;
      entry.line = `{"input":${input},"error":${JSON.stringify(result)}}\n`;
    }
    this.#waitingChars += entry.line.length;
    if (!this.#options.ordered) this.#moveUp(entry);
    this.#advance();
  }

  /** Without order: the first that waits is the first that is finished. */
  #moveUp(entry: Entry): void {
    const at = this.#entries.indexOf(entry, this.#head);
    this.#entries.copyWithin(this.#head + 1, this.#head, at);
    this.#entries[this.#head] = entry;
  }

  /** Writes what is due, and looks whether there is room now, or nothing left. */
  #advance(): void {
    while (this.#head < this.#entries.length && (!this.#output.full || this.#aborted)) {
      const { line } = this.#entries[this.#head]!;
      if (line === null) break;
      this.#head++;
      this.#waitingChars -= line.length;
      if (line !== '') this.#output.write(line);
    }
    if (this.#head > 1_024 && this.#head * 2 > this.#entries.length) {
      this.#entries = this.#entries.slice(this.#head);
      this.#head = 0;
    }
    if (this.#wakeIntake !== null && this.#hasRoom()) {
      const wake = this.#wakeIntake;
      this.#wakeIntake = null;
      wake();
    }
    if (this.#intakeOver && this.#head === this.#entries.length) this.#onOver();
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
