/** Something that will have a line, or with --stream any number of them. */
export interface Entry {
  /** The lines to write that are there and not taken out yet. */
  text: string;
  /** How many items of a stream are in `text`. */
  items: number;
  /** No more lines follow. There need not have been one. */
  over: boolean;
}

/** Entries from the moment they are taken until all their lines are written, in the order in which these are due. */
export class Waiting<E extends Entry> {
  /** How many entries have lines that are not written, or will have some. */
  length = 0;
  /** Of the lines that are there and not written. */
  chars = 0;
  readonly #ordered: boolean;
  /** All of them; unordered those that have something to write. Shifted by an index, since `shift` moves what follows. */
  #entries: E[] = [];
  #head = 0;

  /** @param ordered false: the first line that is there is the first that is due */
  constructor(ordered: boolean) {
    this.#ordered = ordered;
  }

  push(entry: E): void {
    this.length++;
    if (this.#ordered) this.#entries.push(entry);
  }

  /** Whether what is added to it can be written at once. */
  isDue(entry: E): boolean {
    return !this.#ordered || this.#entries[this.#head] === entry;
  }

  /** The one whose lines are written now; undefined when that is nobody, or anybody. */
  get first(): E | undefined {
    return this.#ordered ? this.#entries[this.#head] : undefined;
  }

  /** An item of a stream. */
  addItem(entry: E, line: string): void {
    this.#queue(entry);
    this.#append(entry, line);
    entry.items++;
  }

  /** @param line the last one; '' when there is none */
  end(entry: E, line: string): void {
    this.#queue(entry);
    this.#append(entry, line);
    entry.over = true;
  }

  /** Takes out the lines that are due, '' for an entry that ends without any; undefined when none are there yet. */
  shift(): string | undefined {
    const entry = this.#entries[this.#head];
    if (entry === undefined || (entry.text === '' && !entry.over)) return undefined;
    const { text } = entry;
    this.chars -= text.length;
    entry.text = '';
    entry.items = 0;
    if (entry.over) this.length--;
    if (entry.over || !this.#ordered) this.#next();
    return text;
  }

  #append(entry: E, lines: string): void {
    entry.text += lines;
    this.chars += lines.length;
  }

  #queue(entry: E): void {
    if (!this.#ordered && entry.text === '') this.#entries.push(entry);
  }

  #next(): void {
    this.#head++;
    if (this.#head > 1_024 && this.#head * 2 > this.#entries.length) {
      this.#entries = this.#entries.slice(this.#head);
      this.#head = 0;
    }
  }
}
