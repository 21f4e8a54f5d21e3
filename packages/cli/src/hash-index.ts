const LEAST_CELLS = 1_024;

/**
 * Numbers under hashes, in flat memory: 16 bytes a cell, where a Map of strings takes a hundred and the garbage
 * collector walks through it. Several numbers may stand under one hash; whoever asks tells which one is meant.
 *
 * Open addressing: an entry lies in the first cell that was free from `hash` on; a cell with hash 0 is free.
 */
export class HashIndex {
  #hashes = new Float64Array(LEAST_CELLS);
  #values = new Float64Array(LEAST_CELLS);
  #size = 0;

  add(hash: number, value: number): void {
    if (this.#size >= this.#hashes.length * 0.7) this.#grow();
    this.#put(hash, value);
    this.#size++;
  }

  /** The first number under this hash that `isMeant` takes. */
  find(hash: number, isMeant: (value: number) => boolean): number | undefined {
    const mask = this.#hashes.length - 1;
    for (let cell = hash & mask; this.#hashes[cell] !== 0; cell = (cell + 1) & mask) {
      if (this.#hashes[cell] === hash && isMeant(this.#values[cell]!)) return this.#values[cell];
    }
    return undefined;
  }

  /** Counts. @returns how often it was called for this hash */
  increment(hash: number): number {
    const mask = this.#hashes.length - 1;
    for (let cell = hash & mask; this.#hashes[cell] !== 0; cell = (cell + 1) & mask) {
      if (this.#hashes[cell] === hash) return ++this.#values[cell]!;
    }
    this.add(hash, 1);
    return 1;
  }

  #put(hash: number, value: number): void {
    const mask = this.#hashes.length - 1;
    let cell = hash & mask; // of a number above 2^31 the low 32 bits
    while (this.#hashes[cell] !== 0) cell = (cell + 1) & mask;
    this.#hashes[cell] = hash;
    this.#values[cell] = value;
  }

  #grow(): void {
    const hashes = this.#hashes;
    const values = this.#values;
    this.#hashes = new Float64Array(hashes.length * 2);
    this.#values = new Float64Array(hashes.length * 2);
    for (let cell = 0; cell < hashes.length; cell++) {
      if (hashes[cell] !== 0) this.#put(hashes[cell]!, values[cell]!);
    }
  }
}

/** 53 bits of a text and a number; never 0. */
export function hashOf(text: string, salt: number): number {
  let a = 0x9e3779b9 ^ salt;
  let b = 0x85ebca6b ^ Math.imul(salt, 0xc2b2ae35);
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    a = Math.imul(a ^ unit, 0x01000193);
    b = Math.imul(b ^ unit, 0x5bd1e995);
    a ^= a >>> 15;
    b ^= b >>> 13;
  }
  a = Math.imul(a ^ (b >>> 16), 0x85ebca6b);
  b = Math.imul(b ^ (a >>> 13), 0xc2b2ae35);
  a ^= a >>> 16;
  return (b >>> 11) * 2 ** 32 + (a >>> 0) || 1;
}
