import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** How a child's run came out. A child that hangs or dies is an outcome too, never an exception. */
export type ChildOutcome<R> =
  | {
      readonly ok: true;
      readonly result: R /** It had to be killed after it had answered. */;
      readonly lingered: boolean;
    }
  | { readonly ok: false; readonly failure: string };

export interface ChildOptions<P> {
  /** After this the child is killed and counted as hung. */
  readonly timeoutMs: number;
  readonly onProgress?: (progress: P) => void;
}

type FromChild<R, P> =
  | { readonly kind: 'progress'; readonly progress: P }
  | { readonly kind: 'result'; readonly result: R }
  | { readonly kind: 'failure'; readonly failure: string };

/** How long a child may take to end by itself once it has answered. */
const EXIT_GRACE_MS = 5_000;
const MOST_STDERR = 4_000;

/**
 * Runs one task in a process of its own, so that no contender inherits another's compiled code, heap or threads.
 *
 * @param entry a module that calls `serveChild`
 * @param spec what to do; structured-cloned to the child
 */
export function runChild<S, R, P = never>(
  entry: URL,
  spec: S,
  options: ChildOptions<P>,
): Promise<ChildOutcome<R>> {
  return new Promise(resolve => {
    const child: ChildProcess = fork(fileURLToPath(entry), [], {
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    });
    let answer: { result: R } | null = null;
    let failure: string | null = null;
    let lingered = false;
    let stderr = '';
    let timer = setTimeout(() => {
      failure = `no result after ${options.timeoutMs / 1000} s; the process was killed`;
      child.kill('SIGKILL');
    }, options.timeoutMs);
    const awaitExit = () => {
      clearTimeout(timer);
      timer = setTimeout(() => {
        lingered = true;
        child.kill('SIGKILL');
      }, EXIT_GRACE_MS);
    };
    child.stderr!.setEncoding('utf8').on('data', (text: string) => {
      stderr = (stderr + text).slice(-MOST_STDERR);
    });
    child.on('message', message => {
      const came = message as FromChild<R, P>;
      if (came.kind === 'progress') {
        options.onProgress?.(came.progress);
        return;
      }
      if (came.kind === 'result') answer = { result: came.result };
      else failure = came.failure;
      awaitExit();
    });
    child.on('error', error => {
      failure ??= error.message;
    });
    child.on('close', (code, signal) => {
      clearTimeout(timer);
      if (answer !== null) resolve({ ok: true, result: answer.result, lingered });
      else {
        const how = failure ?? `the process ended without a result (${signal ?? `exit code ${code}`})`;
        resolve({ ok: false, failure: stderr === '' ? how : `${how}\n${stderr.trimEnd()}` });
      }
    });
    child.send(spec as object);
  });
}

/** The child's side: takes one task, runs it, answers, and lets the process end by itself. */
export function serveChild<S, R, P = never>(
  run: (spec: S, progress: (progress: P) => void) => Promise<R>,
): void {
  const { channel } = process;
  if (channel == null)
    throw new Error('This module is run by the harness, in a child process; see lab/README.md.');
  process.once('message', async spec => {
    // Without a listener the channel would no longer hold the process, and a contender that forgets to would end it.
    channel.ref();
    let answer: FromChild<R, P>;
    try {
      const result = await run(spec as S, progress => process.send!({ kind: 'progress', progress }));
      answer = { kind: 'result', result };
    } catch (error) {
      answer = {
        kind: 'failure',
        failure: error instanceof Error ? (error.stack ?? error.message) : String(error),
      };
    }
    process.send!(answer, () => process.disconnect());
  });
}
