/** How thoroughly a study is run. */
export type ModeName = 'full' | 'quick' | 'smoke';

export interface Mode<Plan> {
  readonly rounds: number;
  /** Processes of the control measurement, before and after. */
  readonly controlProcesses: number;
  readonly plan: Plan;
}

export type Modes<Plan> = Readonly<Record<ModeName, Mode<Plan>>>;
