/** How each Node server of the study is opened. */
export interface Opened {
  /** Host and port. */
  readonly address: string;
  /** How many threads have been put in another's place so far, where that happens. */
  readonly replaced?: () => number;
  readonly close: () => Promise<void> | void;
}

export type OpenServer = () => Promise<Opened>;
