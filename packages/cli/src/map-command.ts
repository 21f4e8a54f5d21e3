import { availableParallelism } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { createPool, isHotlaneError, type Pool } from 'hotlane';
import { CommandLineError, type MapArguments, parseMapArguments } from './args.ts';
import type { LaneCounts } from './depth.ts';
import { EXIT_FAILED, EXIT_OK, EXIT_SIGPIPE } from './exit-codes.ts';
import { mapHelp } from './help.ts';
import { openInputs, type Source } from './inputs.ts';
import { Interrupts } from './interrupt.ts';
import { type Failure, firstLine } from './json.ts';
import type { Opened } from './lane.ts';
import { Output } from './output.ts';
import { noProgress, type Progress, showProgress, summary } from './progress.ts';
import { Run } from './run.ts';
import { complain, say, version } from './say.ts';
import { checkOpened, DESCRIBE, findModule, type LaneFunctions, laneModule } from './task-module.ts';

/** More than so many lines about inputs that cannot be used tell nobody anything. */
const MOST_PROBLEM_LINES = 10;
/** How long the last results may take to be written after the second Ctrl-C. */
const LAST_WRITE_MS = 500;

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
  const job = new MapJob(args, source, url);
  try {
    return await job.run();
  } finally {
    await job.close();
  }
}

/** One run of the command, from the first lane to the exit code. */
class MapJob {
  readonly #args: MapArguments;
  readonly #source: Source;
  readonly #pool: Pool<LaneFunctions>;
  readonly #interrupts: Interrupts;
  readonly #output: Output;
  readonly #run: Run;
  #progress: Progress = noProgress;
  #startedAt = 0;
  #onStopping!: () => void;
  readonly #stopping = new Promise<void>(resolve => {
    this.#onStopping = resolve;
  });
  #problems = 0;

  constructor(args: MapArguments, source: Source, url: string) {
    this.#args = args;
    this.#source = source;
    const wanted = args.lanes ?? (args.placement === 'inline' ? 1 : availableParallelism());
    this.#pool = createPool<LaneFunctions>(laneModule(url, args.exportName), {
      placement: args.placement,
      // All at once: a lane that starts late would eat into the deadline of its first call.
      lanes: Math.min(wanted, Math.max(1, source.total ?? wanted)),
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
    const calls =
      args.deadlineMs === Number.POSITIVE_INFINITY
        ? this.#pool.call
        : this.#pool.with({ deadlineMs: args.deadlineMs });
    this.#run = new Run(source, this.#output, {
      ordered: args.ordered,
      call: calls[args.exportName]!,
      // A deadline includes waiting: with one, no call is made before a lane is free for it.
      ahead: args.deadlineMs === Number.POSITIVE_INFINITY,
      lanes: () => this.#countLanes(),
      onProblem: (input, problem) => this.#tellProblem(input, problem),
    });
  }

  async run(): Promise<number> {
    await this.#open();
    if (this.#interrupts.exitCode !== undefined) {
      complain('interrupted before the first input');
      return this.#interrupts.exitCode;
    }
    this.#startedAt = performance.now();
    // Somebody who types the inputs needs the line that a bar would stand on.
    const typed = this.#source.total === undefined && process.stdin.isTTY;
    if (!this.#args.quiet && !typed) this.#progress = showProgress(process.stderr, () => this.#snapshot());
    try {
      await this.#run.start();
      // Somebody who wants it to stop now does not wait long for a reader that is stuck.
      await Promise.race([this.#output.finish(), this.#stopping.then(() => sleep(LAST_WRITE_MS))]);
    } finally {
      this.#progress.stop();
    }
    return this.#conclude();
  }

  async close(): Promise<void> {
    this.#source.stop();
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
    const { done, failed, running } = this.#run;
    if (running === 0) return;
    const counts = `${done} done${failed > 0 ? `, ${failed} failed` : ''}, ${running} still running`;
    complain(`interrupted: ${counts}${this.#notStarted()}; press Ctrl-C again to stop now`);
  }

  #stop(): void {
    this.#onStopping();
    this.#run.abort();
    void this.#pool.destroy();
  }

  /** Says how it went, and what that means to the shell. */
  #conclude(): number {
    const { exitCode } = this.#interrupts;
    const { broken } = this.#output;
    const seconds = (performance.now() - this.#startedAt) / 1_000;
    if (broken?.code === 'EPIPE') return exitCode ?? EXIT_SIGPIPE;
    if (broken !== null) complain(`cannot write the results: ${firstLine(broken.message)}`);
    const { abandoned, failed, inputError } = this.#run;
    if (inputError !== null) complain(firstLine(inputError.message));
    if (exitCode !== undefined) {
      const how = this.#interrupts.state === 'stopping' ? 'stopped' : 'interrupted';
      const given = abandoned > 0 ? `, ${abandoned} given up` : '';
      complain(`${how}: ${summary(this.#run, seconds)}${given}${this.#notStarted()}`);
      return exitCode;
    }
    if (!this.#args.quiet) complain(summary(this.#run, seconds));
    return failed > 0 || broken !== null || inputError !== null ? EXIT_FAILED : EXIT_OK;
  }

  #notStarted(): string {
    const { total } = this.#source;
    return total === undefined ? ', the rest of stdin not read' : `, ${total - this.#run.taken} not started`;
  }

  #tellProblem(input: string, { message, code }: Failure): void {
    this.#problems++;
    if (this.#problems <= MOST_PROBLEM_LINES) {
      complain(code === 'EILSEQ' || code === 'EMSGSIZE' ? message : `${input}: ${message}`);
    } else if (this.#problems === MOST_PROBLEM_LINES + 1) {
      complain('more inputs like these follow; each is in its place in the output');
    }
  }

  #snapshot() {
    const { done, failed, running } = this.#run;
    return { done, failed, running, total: this.#source.total, lanes: this.#lanesUp() };
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
