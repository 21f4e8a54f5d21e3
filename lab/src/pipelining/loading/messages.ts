import type { PageLoad } from './load-page.ts';

/** To the loader: load a page, with connections of its own. */
export interface LoadTask {
  readonly do: 'load';
  /** Name of a page of the manifest. */
  readonly page: string;
  readonly origin: string;
  readonly contender: string;
  readonly quota: number;
  readonly timeoutMs: number;
}

/** To the loader: ask for one small object again and again. */
export interface RateTask {
  readonly do: 'rate';
  readonly origin: string;
  readonly path: string;
  readonly contender: string;
  readonly quota: number;
  readonly inFlight: number;
  readonly warmUpMs: number;
  readonly windows: number;
  readonly windowMs: number;
}

export type Task = LoadTask | RateTask;

export interface Loaded extends PageLoad {
  /** What the contender counted, where it counts. */
  readonly stats: unknown;
}

export interface Rated {
  /** The median of the windows. */
  readonly perSecond: number;
}

export type Answer =
  | { readonly ok: true; readonly result: unknown }
  | { readonly ok: false; readonly why: string };
