import { availableParallelism } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createPool, isHotlaneError, type Pool } from 'hotlane';
import { CommandLineError, type MapArguments, parseMapArguments } from './args.ts';
import type { LaneCounts } from './depth.ts';
import { mapHelp } from './help.ts';
import { openInputs, type Source } from './inputs.ts';
import { Interrupts } from './interrupt.ts';
import { Journal } from './journal.ts';
import { firstLine } from './json.ts';
import type { LaneResult, Opened } from './lane.ts';
import { Output } from './output.ts';
import { noProgress, type Progress, showProgress } from './progress.ts';
import { ProblemLines, Report } from './report.ts';
import { Run } from './run.ts';
import { complain, say, version } from './say.ts';
import { type ItemSink, StreamCalls, statusOf } from './stream-calls.ts';
import { Latency } from './summary.ts';
import { checkOpened, DESCRIBE, findModule, type LaneFunctions, laneModule } from './task-module.ts';
import { Trace } from './trace.ts';

/** How long the last results may take to be written after the second Ctrl-C. */
const LAST_WRITE_MS = 500;
/** How long generators may take for their `finally` then. */
const LAST_CLEANUP_MS = 500;

/**
 * `hotlane map`.
 *
 * @returns the exit code
 * @throws CommandLineError before anything has run
 */
export async function mapCommand(argv: readonly string[]): Promise<number> {
  const args = parseMapArguments(argv);
  if (args.help) return say(mapHelp);
  if (args.version) return say(`${version()}\n`);
  const url = findModule(args.module);
  const source = await openInputs(args.inputs);
  const journal = args.journal === undefined ? undefined : openJournal(args.journal, url, args.exportName);
  const trace = args.trace === undefined ? undefined : openTrace(args, args.trace, url, journal);
  const job = new MapJob(args, source, url, journal, trace);
  try {
    return await job.run();
  } finally {
    await job.close();
    trace?.close();
    await journal?.close();
  }
}

function openJournal(path: string, url: string, exportName: string): Journal {
  const journal = new Journal(path, { module: url, export: exportName, folder: process.cwd() });
  const { cutBytes } = journal;
  if (cutBytes > 0) {
    complain(
      `cut off the last ${cutBytes} bytes of the journal ${path}: no whole results; they are done again`,
    );
  }
  return journal;
}

function openTrace(args: MapArguments, path: string, url: string, journal: Journal | undefined): Trace {
  const others: [string, string | number][] = [['where the results go', 1]];
  if (args.journal !== undefined) others.push(['the journal', args.journal]);
  if (url.startsWith('file:')) others.push(['the module', fileURLToPath(url)]);
  try {
    return new Trace(path, others);
  } catch (error) {
    void journal?.close();
    throw error;
  }
}

/** One run of the command, from the first lane to the exit code. */
class MapJob {
  readonly #args: MapArguments;
  readonly #source: Source;
  readonly #journal: Journal | undefined;
  readonly #trace: Trace | undefined;
  readonly #report: Report;
  readonly #pool: Pool<LaneFunctions>;
  /** With --stream. */
  readonly #streams: StreamCalls | undefined;
  readonly #interrupts: Interrupts;
  readonly #output: Output;
  readonly #run: Run;
  #progress: Progress = noProgress;
  #startedAt = 0;
  /** The end of the lanes that a signal asked for. */
  #ending: Promise<void> | null = null;
  #onStopping!: () => void;
  readonly #stopping = new Promise<void>(resolve => {
    this.#onStopping = resolve;
  });

  constructor(
    args: MapArguments,
    source: Source,
    url: string,
    journal: Journal | undefined,
    trace: Trace | undefined,
  ) {
    this.#args = args;
    this.#source = source;
    this.#journal = journal;
    this.#trace = trace;
    const wanted = args.lanes ?? (args.placement === 'inline' ? 1 : availableParallelism());
    // All at once: a lane that starts late would eat into the deadline of its first call.
    const lanes = Math.min(wanted, Math.max(1, source.total ?? wanted));
    const module = laneModule(url, args.exportName, args.stream);
    trace?.follow(module, () => this.#pool.stats());
    this.#pool = createPool<LaneFunctions>(module, {
      placement: args.placement,
      lanes,
      concurrency: args.concurrency,
      // Until the first lane has loaded the module, the first call says what is wrong, once for all lanes.
      onError: error => this.#startedAt > 0 && complain(firstLine(error.message)),
    });
    this.#interrupts = new Interrupts({ onDrain: () => this.#drain(), onStop: () => this.#stop() });
    this.#output = new Output(process.stdout, {
      stepAside: () => process.stdout.isTTY && this.#progress.stepAside(),
      comeBack: () => process.stdout.isTTY && this.#progress.comeBack(),
    });
    this.#output.onBroken = () => this.#stop();
    if (journal !== undefined) {
      this.#output.beforeWrite = () => journal.flush();
      journal.onBroken = () => this.#stop();
    }
    const hasDeadline = args.deadlineMs !== Number.POSITIVE_INFINITY;
    const options = hasDeadline ? { deadlineMs: args.deadlineMs } : {};
    const call = (hasDeadline ? this.#pool.with(options) : this.#pool.call)[args.exportName]!;
    const open = this.#pool.streamWith(options)[args.exportName]!;
    this.#streams = args.stream
      ? new StreamCalls(input => open(input) as AsyncIterator<LaneResult>)
      : undefined;
    const make = (input: string, items: ItemSink) => this.#streams?.read(input, items) ?? call(input);
    const traced =
      trace === undefined
        ? make
        : (input: string, items: ItemSink) =>
            this.#streams === undefined
              ? trace.call(input, () => make(input, items))
              : trace.stream(args.exportName, input, () => make(input, items), statusOf);
    const latency = new Latency();
    const problems = new ProblemLines();
    this.#run = new Run(source, this.#output, {
      ordered: args.ordered,
      call: args.json ? (input, items) => latency.measure(() => traced(input, items)) : traced,
      retries: args.retries,
      journal,
      // A deadline includes waiting: with one, no call is made before a lane is free for it. A stream that its
      // reader holds up keeps its lane: none is to wait behind it.
      ahead: !hasDeadline && !args.stream,
      lanes: () => this.#countLanes(),
      onProblem: (input, problem) => problems.tell(input, problem),
    });
    this.#report = new Report({
      args,
      source,
      run: this.#run,
      output: this.#output,
      journal,
      trace,
      interrupts: this.#interrupts,
      lanes,
      latency,
    });
  }

  async run(): Promise<number> {
    await this.#open();
    const { exitCode } = this.#interrupts;
    if (exitCode !== undefined) return this.#report.interruptedBefore(exitCode);
    this.#startedAt = performance.now();
    // Somebody who types the inputs needs the line that a bar would stand on.
    const typed = this.#source.total === undefined && process.stdin.isTTY;
    const { quiet, json } = this.#args;
    if (!quiet && !json && !typed) this.#progress = showProgress(process.stderr, () => this.#snapshot());
    try {
      await this.#run.start();
      // Somebody who wants it to stop now does not wait long for a reader that is stuck.
      await Promise.race([this.#output.finish(), this.#stopping.then(() => sleep(LAST_WRITE_MS))]);
      await this.#journal?.finish();
      this.#trace?.flush();
    } finally {
      this.#progress.stop();
    }
    return this.#report.conclude((performance.now() - this.#startedAt) / 1_000);
  }

  async close(): Promise<void> {
    this.#source.stop();
    await this.#ending;
    await this.#pool.destroy();
    this.#interrupts.release();
  }

  /** Waits until a lane has loaded the module. @throws CommandLineError */
  async #open(): Promise<void> {
    const { module, exportName } = this.#args;
    try {
      checkOpened((await this.#pool.call[DESCRIBE]!('')) as Opened, module, exportName);
    } catch (error) {
      if (this.#interrupts.exitCode !== undefined || error instanceof CommandLineError) {
        if (this.#interrupts.exitCode === undefined) throw error;
        return;
      }
      if (!isHotlaneError(error)) throw error;
      throw new CommandLineError(`cannot load ${module}: ${firstLine(error.message)}`);
    }
  }

  #drain(): void {
    if (this.#startedAt === 0) {
      void this.#pool.destroy(); // still loading: nothing to wait for
      return;
    }
    this.#run.stop();
    this.#report.draining();
  }

  #stop(): void {
    this.#onStopping();
    this.#run.abort();
    this.#ending ??= this.#endLanes();
  }

  async #endLanes(): Promise<void> {
    if (this.#streams !== undefined) {
      const late = new AbortController();
      const { signal } = late;
      await Promise.race([
        this.#streams.stop(),
        sleep(LAST_CLEANUP_MS, undefined, { signal }).catch(() => {}),
      ]);
      late.abort();
    }
    await this.#pool.destroy();
  }

  #snapshot() {
    const { done, failed, reused, running } = this.#run;
    return { done, failed, reused, running, total: this.#source.total, lanes: this.#lanesUp() };
  }

  #lanesUp(): number {
    return this.#pool.stats().lanes.filter(lane => lane.state === 'up').length;
  }

  #countLanes(): LaneCounts {
    const { lanes, running, queued } = this.#pool.stats();
    const up = this.#lanesUp() * this.#args.concurrency;
    return {
      capacity: lanes.length === 0 ? 1 : up,
      abandoned: Math.max(0, running + queued - this.#run.running),
    };
  }
}
