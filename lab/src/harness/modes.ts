/** How thoroughly a study is run. */
export type ModeName = 'full' | 'quick' | 'smoke';

export interface Mode<Plan> {
  readonly rounds: number;
  /** Repeats of the control measurement before and after. */
  readonly controlRepeats: number;
  readonly plan: Plan;
}

export type Modes<Plan> = Readonly<Record<ModeName, Mode<Plan>>>;
