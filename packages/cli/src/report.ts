import type { MapArguments } from './args.ts';
import { EXIT_FAILED, EXIT_OK, EXIT_SIGPIPE } from './exit-codes.ts';
import type { Source } from './inputs.ts';
import type { Interrupts } from './interrupt.ts';
import type { Journal } from './journal.ts';
import { type Failure, firstLine } from './json.ts';
import type { Output } from './output.ts';
import type { Run } from './run.ts';
import { complain } from './say.ts';
import { jsonSummary, type Latency, textSummary } from './summary.ts';
import type { Trace } from './trace.ts';

/** More than so many lines about inputs that cannot be used tell nobody anything. */
const MOST_PROBLEM_LINES = 10;

/** What a run is made of, as far as its report has to know. */
export interface ReportParts {
  readonly args: MapArguments;
  readonly source: Source;
  readonly run: Run;
  readonly output: Output;
  readonly journal: Journal | undefined;
  readonly trace: Trace | undefined;
  readonly interrupts: Interrupts;
  readonly lanes: number;
  readonly latency: Latency;
}

/** Lines about inputs that cannot be used, the first few of them. */
export class ProblemLines {
  #count = 0;

  tell(input: string, { message, code }: Failure): void {
    this.#count++;
    if (this.#count <= MOST_PROBLEM_LINES) {
      complain(code === 'EILSEQ' || code === 'EMSGSIZE' ? message : `${input}: ${message}`);
    } else if (this.#count === MOST_PROBLEM_LINES + 1) {
      complain('more inputs like these follow; each is in its place in the output');
    }
  }
}

/** What stderr hears about how a run went, and what that means to the shell. */
export class Report {
  readonly #parts: ReportParts;

  constructor(parts: ReportParts) {
    this.#parts = parts;
  }

  /** After the first Ctrl-C. */
  draining(): void {
    const { done, failed, running } = this.#parts.run;
    if (running === 0) return;
    const counts = `${done} done${failed > 0 ? `, ${failed} failed` : ''}, ${running} still running`;
    complain(`interrupted: ${counts}${this.#notStarted()}; press Ctrl-C again to stop now`);
  }

  interruptedBefore(exitCode: number): number {
    if (this.#parts.args.json) this.#json(exitCode, 0);
    else complain('interrupted before the first input');
    return exitCode;
  }

  /** @returns the exit code */
  conclude(seconds: number): number {
    const exitCode = this.#exitCode();
    // Who closed stdout wants to hear nothing more, unless it is what was asked for.
    const closed = this.#parts.output.broken?.code === 'EPIPE';
    if (!closed) this.#errors();
    if (this.#parts.args.json) this.#json(exitCode, seconds);
    else if (!closed) this.#text(seconds);
    return exitCode;
  }

  #exitCode(): number {
    const { interrupts, journal, output, run, trace } = this.#parts;
    if (interrupts.exitCode !== undefined) return interrupts.exitCode;
    if (output.broken?.code === 'EPIPE') return EXIT_SIGPIPE;
    const errors = [output.broken, journal?.broken ?? null, trace?.broken ?? null, run.inputError];
    return run.failed > 0 || errors.some(error => error !== null) ? EXIT_FAILED : EXIT_OK;
  }

  #errors(): void {
    const { args, journal, output, run, trace } = this.#parts;
    if (output.broken !== null) complain(`cannot write the results: ${firstLine(output.broken.message)}`);
    const broken = journal?.broken ?? null;
    if (broken !== null) complain(`cannot write the journal ${args.journal}: ${firstLine(broken.message)}`);
    const untraced = trace?.broken ?? null;
    if (untraced !== null) complain(`cannot write the trace ${args.trace}: ${firstLine(untraced.message)}`);
    if (run.inputError !== null) complain(firstLine(run.inputError.message));
  }

  #text(seconds: number): void {
    const { args, interrupts, run } = this.#parts;
    const text = textSummary(run, seconds, args.stream);
    const given = run.abandoned > 0 ? `, ${run.abandoned} given up` : '';
    const left = `${given}${this.#notStarted()}`;
    if (interrupts.exitCode === undefined) {
      if (!args.quiet) complain(run.stopped ? text + left : text);
      return;
    }
    const how = interrupts.state === 'stopping' ? 'stopped' : 'interrupted';
    complain(`${how}: ${text}${left}`);
  }

  #json(exitCode: number, seconds: number): void {
    const { args, lanes, latency, run, source } = this.#parts;
    const unread = run.stopped || run.inputError !== null;
    const notStarted = source.total !== undefined ? source.total - run.taken : unread ? null : 0;
    const rest = { stream: args.stream, notStarted, lanes, exitCode, latency };
    process.stderr.write(`${jsonSummary(run, seconds, rest)}\n`);
  }

  #notStarted(): string {
    const { run, source } = this.#parts;
    return source.total === undefined
      ? ', the rest of stdin not read'
      : `, ${source.total - run.taken} not started`;
  }
}
