import type { Memory } from '../call/memory.ts';

/**
 * Memory for the arguments of calls. The host alone allocates and frees; lanes only read. So it needs no
 * atomics: what a lane reads was written before the slot that leads to it was published, and is freed only
 * after the host saw the answer (or got the slot back).
 *
 *   segment:  | page | page | run of 3 pages    | page | …       pages of 16 KiB
 *
 * Small payloads are laid one behind the other on the current page; a page is free again when all on it are
 * freed. What is larger than a page has a run of pages to itself. New segments double the memory, up to the
 * limit; past it `allocate` says no and the payload travels on the side channel.
 */
export const PAGE_SHIFT = 14;
export const PAGE_BYTES = 1 << PAGE_SHIFT;
const PAGE_MASK = PAGE_BYTES - 1;
const FIRST_SEGMENT_BYTES = 512 * 1024;

/**
 * Payloads of runs begin so many bytes into their first page. Large buffers lie 16 bytes behind the start of a page as a
 * rule, and processors copy up to twenty times slower to a place that is a few bytes nearer to one.
 */
const RUN_LEAD = 128;

/** A page that belongs to a run that began further down. */
const IN_RUN = -1;

class Segment {
  readonly memory: Memory;
  readonly pages: number;
  /** Live payloads per page (and one for being the current page), 0 for a free one, IN_RUN inside a run. */
  readonly live: Int32Array;
  /** At a run's first page: its length in pages; otherwise 0. */
  readonly run: Int32Array;
  next = 0;

  constructor(memory: Memory) {
    this.memory = memory;
    this.pages = memory.bytes.length >> PAGE_SHIFT;
    this.live = new Int32Array(this.pages);
    this.run = new Int32Array(this.pages);
  }

  /**
   * Finds so many free pages in a row, from where some were found last: what was freed last is still in the caches of
   * the lane that read it, and to write there takes four times as long as elsewhere. −1 when there are none.
   */
  find(pages: number): number {
    const { live } = this;
    let free = 0;
    let at = this.next;
    for (let seen = 0; seen < this.pages + pages; seen++) {
      if (at === this.pages) {
        at = 0;
        free = 0;
      }
      free = live[at] === 0 ? free + 1 : 0;
      at++;
      if (free === pages) {
        this.next = at === this.pages ? 0 : at;
        return at - pages;
      }
    }
    return -1;
  }
}

export class Arena {
  /** The result of the last `allocate`. */
  segment = 0;
  start = 0;
  readonly #segments: Segment[] = [];
  readonly #mostBytes: number;
  readonly #onSegment: (index: number, buffer: SharedArrayBuffer) => void;
  readonly #createMemory: (buffer: SharedArrayBuffer) => Memory;
  #bytes = 0;
  /** Where the last run was found: the next is looked for from there on. */
  #runSegment = 0;
  /** The page that small payloads go to now: its segment, and the range still free. */
  #pageSegment = -1;
  #page = 0;
  #pos = 0;
  #end = 0;

  /**
   * @param mostBytes the most memory that all segments may take together
   * @param onSegment is told of each new segment before anything is allocated in it
   */
  constructor(
    mostBytes: number,
    createMemory: (buffer: SharedArrayBuffer) => Memory,
    onSegment: (index: number, buffer: SharedArrayBuffer) => void,
  ) {
    this.#mostBytes = mostBytes;
    this.#createMemory = createMemory;
    this.#onSegment = onSegment;
    this.#grow(0);
  }

  get bytes(): number {
    return this.#bytes;
  }

  memory(segment: number): Memory {
    return this.#segments[segment].memory;
  }

  /**
   * Opens the free end of the current page for writing: `segment`, `start`, and the returned end. Nothing is
   * taken until `commit`.
   */
  open(): number {
    if (this.#end - this.#pos < 256 && !this.#turnPage()) return -1;
    this.segment = this.#pageSegment;
    this.start = this.#pos;
    return this.#end;
  }

  /** Takes `length` bytes of what `open` gave, from `start` on. */
  commit(start: number, length: number): void {
    this.#segments[this.#pageSegment].live[this.#page]++;
    this.#pos = Math.min(this.#end, (start + length + 7) & ~7);
  }

  /** Takes a run of pages for `bytes` bytes; false when there is no room and no more may be had. */
  allocateRun(bytes: number): boolean {
    const pages = (RUN_LEAD + bytes + PAGE_MASK) >> PAGE_SHIFT;
    const count = this.#segments.length;
    let index = this.#runSegment;
    let first = -1;
    for (let tried = 0; tried < count && first < 0; tried++) {
      index = (this.#runSegment + tried) % count;
      first = this.#segments[index].find(pages);
    }
    if (first < 0) {
      if (!this.#grow(RUN_LEAD + bytes)) return false;
      index = this.#segments.length - 1;
      first = this.#segments[index].find(pages);
      if (first < 0) return false;
    }
    this.#runSegment = index;
    const { live, run } = this.#segments[index];
    live.fill(IN_RUN, first, first + pages);
    live[first] = 1;
    run[first] = pages;
    this.segment = index;
    this.start = (first << PAGE_SHIFT) + RUN_LEAD;
    return true;
  }

  /** Gives back the pages of a run that turned out not to be needed. */
  trimRun(segment: number, start: number, bytes: number): void {
    const { live, run } = this.#segments[segment];
    const first = start >> PAGE_SHIFT;
    const keep = (RUN_LEAD + bytes + PAGE_MASK) >> PAGE_SHIFT;
    live.fill(0, first + keep, first + run[first]);
    run[first] = keep;
  }

  /** @param start where a payload begins, as `open` or `allocateRun` gave it */
  free(segment: number, start: number): void {
    const { live, run } = this.#segments[segment];
    const page = start >> PAGE_SHIFT;
    const left = --live[page];
    if (left === 0) {
      if (run[page] === 0) return;
      live.fill(0, page, page + run[page]);
      run[page] = 0;
    } else if (left === 1 && segment === this.#pageSegment && page === this.#page) {
      this.#pos = page << PAGE_SHIFT; // all on the current page is free: begin it again, while it is warm
    }
  }

  #turnPage(): boolean {
    for (let index = 0; ; index++) {
      if (index === this.#segments.length && !this.#grow(PAGE_BYTES)) return false;
      const segment = this.#segments[index];
      const page = segment.find(1);
      if (page < 0) continue;
      if (this.#pageSegment >= 0) this.#segments[this.#pageSegment].live[this.#page]--;
      segment.live[page] = 1;
      this.#pageSegment = index;
      this.#page = page;
      this.#pos = page << PAGE_SHIFT;
      this.#end = this.#pos + PAGE_BYTES;
      return true;
    }
  }

  #grow(atLeast: number): boolean {
    let bytes = this.#bytes === 0 ? FIRST_SEGMENT_BYTES : this.#bytes;
    while (bytes < atLeast) bytes *= 2;
    bytes = Math.min(bytes, this.#mostBytes - this.#bytes) & ~PAGE_MASK;
    if (bytes < Math.max(atLeast, PAGE_BYTES)) return false;
    const buffer = new SharedArrayBuffer(bytes);
    this.#bytes += bytes;
    this.#segments.push(new Segment(this.#createMemory(buffer)));
    this.#onSegment(this.#segments.length - 1, buffer);
    return true;
  }
}
