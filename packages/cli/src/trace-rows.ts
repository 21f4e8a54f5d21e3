import type { TraceFile } from './trace-file.ts';

/** A row of a lane: what runs there runs one after the other. */
interface Row {
  readonly tid: number;
  /** When its last call ended, in nanoseconds. */
  endNs: number;
}

/**
 * The rows of lanes. A lane that runs several calls at once has as many, since complete events on one row must not
 * overlap. Calls come when they have ended: of the rows that are free at its start, a call takes the one that was
 * in use last, so that no more rows are needed than calls run at once.
 */
export class TraceRows {
  readonly #file: TraceFile;
  readonly #lanes = new Map<number, Row[]>();
  #lastTid = 0;

  constructor(file: TraceFile) {
    this.#file = file;
  }

  /** @returns the row (`tid`) of a call */
  take(lane: number, startNs: number, endNs: number): number {
    const rows = this.#lanes.get(lane) ?? this.open(lane);
    let best: Row | undefined;
    for (const row of rows) {
      if (row.endNs <= startNs && (best === undefined || row.endNs > best.endNs)) best = row;
    }
    best ??= this.#add(lane, rows);
    best.endNs = endNs;
    return best.tid;
  }

  /** A lane has its first row, with its name, from its start. */
  open(lane: number): Row[] {
    const rows: Row[] = [];
    this.#lanes.set(lane, rows);
    this.#add(lane, rows);
    return rows;
  }

  /** The lane has ended: its rows stay in the file only. */
  forget(lane: number): void {
    this.#lanes.delete(lane);
  }

  #add(lane: number, rows: Row[]): Row {
    const row = { tid: ++this.#lastTid, endNs: 0 };
    rows.push(row);
    const { tid } = row;
    const name = rows.length === 1 ? `lane ${lane}` : `lane ${lane} (${rows.length})`;
    this.#file.add({ ph: 'M', name: 'thread_name', ts: 0, tid, args: { name } });
    const sortIndex = lane * 1_000 + rows.length;
    this.#file.add({ ph: 'M', name: 'thread_sort_index', ts: 0, tid, args: { sort_index: sortIndex } });
    return row;
  }
}
