/** What is to be called, and with how many threads. */
export interface Target {
  /** URL of the task module. */
  readonly module: string;
  /** The name of a function that it exports and that takes one argument. */
  readonly fn: string;
  /** So many, always; `'adaptive'`: as many as the contender thinks fit, as it is when nothing is set. */
  readonly threads: number | 'adaptive';
}

/** One way to run a function somewhere else; the whole of what the harness knows about it. */
export interface Contender {
  /** As in tables. */
  readonly name: string;
  /** Its settings, in a few words; printed below the tables. */
  readonly settings: string;
  open(target: Target): Promise<Opened>;
}

export interface Opened {
  call(input: unknown): Promise<unknown>;
  /** As `call`, but moves these instead of copying them; absent where there is no such thing. */
  move?(input: unknown, transfer: readonly object[]): Promise<unknown>;
  /** Ends all threads. */
  close(): Promise<void>;
}

export type TaskFunction = (input: unknown) => unknown;

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
    close: async () => void (await Promise.all(all.map(opened => opened.close()))),
  };
}
