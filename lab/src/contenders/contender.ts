/** What is to be called, and with how many threads. */
export interface Target {
  /** URL of the task module. */
  readonly module: string;
  /** The name of a function that it exports and that takes one argument. */
  readonly fn: string;
  /** So many, always; `'adaptive'`: as many as the contender thinks fit, as it is when nothing is set. */
  readonly threads: number | 'adaptive';
  /** Threads are replaced by fresh ones after so many calls; left out: never. */
  readonly recycleAfter?: number;
}

/** One way to run a function somewhere else; the whole of what the harness knows about it. */
export interface Contender {
  /** As in tables. */
  readonly name: string;
  /** Its settings, in a few words; printed below the tables. */
  readonly settings: string;
  /** Another contender that differs only in its settings: being better than that is no news. */
  readonly variantOf?: string;
  open(target: Target): Promise<Opened>;
}

/** Ways to use what was opened. All but `call` are absent where there is no such thing. */
export interface Opened {
  call(input: unknown): Promise<unknown>;
  /** As `call`, but moves these instead of copying them. */
  move?(input: unknown, transfer: readonly object[]): Promise<unknown>;
  /** As `call`, and blocks this thread until the result is there. */
  sync?(input: unknown): unknown;
  /** The function is a generator: hands on each item in order, and resolves after the last. */
  each?(input: unknown, onItem: (item: unknown) => void): Promise<void>;
  /**
   * The function's second argument is a function of this thread.
   *
   * @param oneWay the lane wants no answers from it
   */
  callingBack?(input: unknown, back: (value: number) => unknown, oneWay: boolean): Promise<unknown>;
  /** Calls the function once on each thread. */
  everywhere?(input: unknown): Promise<readonly unknown[]>;
  /** As `call`, in order with all calls of the same key. */
  keyed?(key: number): (input: unknown) => Promise<unknown>;
  /** How many threads there have been so far. */
  threadsSoFar?(): number;
  /** Ends all threads. */
  close(): Promise<void>;
}

export type TaskFunction = (input: unknown, back?: unknown) => unknown;

/**
 * Imports a target's function.
 *
 * @throws TypeError when the module has no such function
 */
export async function loadFunction(target: Target): Promise<TaskFunction> {
  const module = (await import(target.module)) as Record<string, unknown>;
  const fn = module[target.fn];
  if (typeof fn !== 'function') throw new TypeError(`${target.module} exports no function \`${target.fn}\`.`);
  return fn as TaskFunction;
}

/** For contenders that know one thread only: opens as many as wanted and calls them in turn. */
export async function inTurn(target: Target, open: (target: Target) => Promise<Opened>): Promise<Opened> {
  const threads = target.threads === 'adaptive' ? 1 : target.threads;
  const all = await Promise.all(Array.from({ length: threads }, () => open(target)));
  const [one] = all as [Opened];
  if (all.length === 1) return one;
  let next = 0;
  return {
    call: input => all[next++ % threads]!.call(input),
    everywhere: input => Promise.all(all.map(one => one.call(input))),
    close: async () => void (await Promise.all(all.map(opened => opened.close()))),
  };
}
