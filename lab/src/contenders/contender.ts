/** What is to be called, and with how many threads. */
export interface Target {
  /** URL of the task module. */
  readonly module: string;
  /** The name of a function that it exports and that takes one argument. */
  readonly fn: string;
  readonly threads: number;
}

/** One way to run a function somewhere else; the whole of what the harness knows about it. */
export interface Contender {
  /** As in tables. */
  readonly name: string;
  /** Its settings, in a few words; printed below the tables. */
  readonly settings: string;
  /** @returns when its threads can take calls */
  open(target: Target): Promise<Opened>;
}

export interface Opened {
  call(input: unknown): Promise<unknown>;
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
