/** Large requests are moved to lanes: nobody on the host has use for a request that went there. */

/** From so many bytes on, to move a request costs less than to copy it. */
const MOVED_BYTES = 128 * 1024;
/** What stands before a message in its frame, and so in its memory. */
const FRAME_BYTES = 5;
/** The pool's own default. */
const MOST_BYTES = 512 * 1024 * 1024;

export class Moved {
  readonly #most: number;
  #bytes = 0;

  /** @param most how many bytes may be moved and unanswered: the pool counts only what is copied */
  constructor(most = MOST_BYTES) {
    this.#most = most;
  }

  /** What to move for a request; undefined when it is to be copied, and counted by the pool. `release` must follow. */
  take({ buffer, byteLength }: Buffer): ArrayBuffer[] | undefined {
    const isAlone = buffer.byteLength - byteLength <= FRAME_BYTES;
    if (byteLength < MOVED_BYTES || !isAlone || this.#bytes + buffer.byteLength > this.#most)
      return undefined;
    this.#bytes += buffer.byteLength;
    return [buffer as ArrayBuffer];
  }

  /** The call is over. @param bytes of what was moved, when it still was here */
  release(bytes: number): void {
    this.#bytes -= bytes;
  }
}
