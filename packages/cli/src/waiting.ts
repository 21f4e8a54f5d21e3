/** Something that will have a line, once. */
export interface Entry {
  /** The line to write, null while there is none; '' when there will be none. */
  line: string | null;
}

/** Entries from the moment they are taken until their lines are written, in the order in which these are due. */
export class Waiting<E extends Entry> {
  /** Of the lines that are there and not written. */
  chars = 0;
  readonly #ordered: boolean;
  /** Shifted by an index, since `shift` moves what follows. */
  #entries: E[] = [];
  #head = 0;

  /** @param ordered false: the first line that is there is the first that is due */
  constructor(ordered: boolean) {
    this.#ordered = ordered;
  }

  get length(): number {
    return this.#entries.length - this.#head;
  }

  push(entry: E): void {
    this.#entries.push(entry);
  }

  setLine(entry: E, line: string): void {
    entry.line = line;
    this.chars += line.length;
    if (this.#ordered) return;
    const at = this.#entries.indexOf(entry, this.#head);
    this.#entries.copyWithin(this.#head + 1, this.#head, at);
    this.#entries[this.#head] = entry;
  }

  /** Takes out the line that is due; undefined when it is not there yet. */
  shift(): string | undefined {
    const line = this.#entries[this.#head]?.line ?? null;
    if (line === null) return undefined;
    this.#head++;
    this.chars -= line.length;
    if (this.#head > 1_024 && this.#head * 2 > this.#entries.length) {
      this.#entries = this.#entries.slice(this.#head);
      this.#head = 0;
    }
    return line;
  }
}
