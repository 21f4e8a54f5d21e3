/**
 * Object shapes: ordered key lists that are sent once and then named by number.
 *
 * The writing side finds the shape of an object by walking a trie, one step per key. Each node
 * remembers the child it went to last, so that for an object like the one before a step is one compare
 * of two interned strings:
 *
 * ```
 *   root ──id──▶ ● ──name──▶ ● ──tags──▶ ● shape 7: [id, name, tags]
 *                            └──email──▶ ● seen once: not yet a shape
 * ```
 *
 * Dictionaries (objects whose keys are data) must not fill it: a shape is defined only when it comes
 * again, keys and their number are bounded, and nodes that led to no shape are pruned.
 */

import { createReading, type ShapeReading } from './shape-reading.ts';

/** Objects with more keys than this are written with their keys. */
export const MAX_SHAPE_KEYS = 64;
/** So are objects with a key longer than this, in UTF-16 code units. */
export const MAX_SHAPE_KEY_LENGTH = 64;
/** A shape's number has 16 bits on the wire. */
export const MAX_SHAPES = 65_535;
/** Nodes of a writer's trie; at some 400 bytes each, 3 MB at worst. */
export const MAX_SHAPE_NODES = 8_192;
/** While learning is paused now and then (see `ShapeTrie`), so many nodes are made between two pauses. */
const LEARN_NODES = 512;
/** The longest pause, in objects of unknown shape. */
const MAX_PAUSE = 4_096;

export interface ShapeNode {
  /** The child that the last step went to, by its key. */
  lastKey: string | undefined;
  lastChild: ShapeNode;
  children: Map<string, ShapeNode> | undefined;
  /** The keys from the root to here; empty until the node is a shape. */
  keys: readonly string[];
  /** The shape's number, −1 when there is none (yet). */
  id: number;
  /** How often an object ended here; −1 when it cannot become a shape. */
  seen: number;
  readonly key: string;
  readonly depth: number;
  readonly parent: ShapeNode | undefined;
}

/** What the encoder needs. `lastKey`/`lastChild` of a node are read by it directly. */
export interface ShapeWriter {
  readonly root: ShapeNode;
  /** Where a key leads from a node, when it is not where the last one led; `dead` when nowhere. */
  step(node: ShapeNode, key: string): ShapeNode;
  /** Where key lists end up that will never be shapes: every step from it leads back to it. */
  readonly dead: ShapeNode;
  /** Called at the end of an object whose node has no number: counts it, defines it when it is time. */
  sighted(node: ShapeNode): number;
}

/** What a reader knows of a shape. */
export class ReadShape {
  readonly keys: readonly string[];
  /** An object with these keys, to copy: cheaper than to add one key after the other. */
  readonly template: object;
  /** Reads a whole object, contents first; null until the shape has come often. */
  reading: ShapeReading | null = null;
  #untilReading: number;

  /** @param readingAfter `reading` is made when so many objects of this shape were read */
  constructor(keys: readonly string[], readingAfter: number) {
    this.keys = keys;
    this.template = shapeTemplate(keys);
    this.#untilReading = readingAfter;
  }

  /** Counts an object that was read without it. */
  count(): void {
    if (--this.#untilReading === 0) this.reading = createReading(this.keys);
  }
}

/** What the decoder needs. */
export interface ShapeReader {
  /** @throws HotlaneError `PROTOCOL` when no such shape was defined */
  shape(id: number): ReadShape;
}

function node(key: string, parent: ShapeNode | undefined): ShapeNode {
  const made = {
    lastKey: undefined,
    lastChild: undefined as unknown as ShapeNode,
    children: undefined,
    keys: [],
    id: -1,
    seen: 0,
    key,
    depth: parent === undefined ? 0 : parent.depth + 1,
    parent,
  };
  made.lastChild = made;
  return made;
}

/** Index-like keys sort before others, wherever they were written, and are a dictionary's anyway. */
function unfit(key: string): boolean {
  if (key.length > MAX_SHAPE_KEY_LENGTH || key === '__proto__') return true;
  const first = key.charCodeAt(0);
  return first >= 48 && first <= 57;
}

/** The trie. `define` puts a shape in the log and gives its number, or −1 when the log has no room. */
export class ShapeTrie implements ShapeWriter {
  readonly root: ShapeNode = node('', undefined);
  readonly dead: ShapeNode = node('', undefined);
  readonly #define: (keys: readonly string[]) => number;
  readonly #maxNodes: number;
  #nodes = 0;
  /**
   * Where dictionaries come by, making nodes for each costs more than writing its keys. So each
   * pruning with no new shape since the last one doubles how many unknown objects are passed over
   * between two short spells of learning; the next shape found ends that.
   */
  #pause = 0;
  #passOver = 0;
  #learn = LEARN_NODES;
  #fruitful = false;
  /** Set when pruning no longer helps: what is known keeps working. */
  #closed = false;

  constructor(define: (keys: readonly string[]) => number, maxNodes: number = MAX_SHAPE_NODES) {
    this.#define = define;
    this.#maxNodes = maxNodes;
    this.root.seen = -1;
    this.dead.seen = -1;
  }

  /** How many nodes are held now, without the root. */
  get nodes(): number {
    return this.#nodes;
  }

  step(from: ShapeNode, key: string): ShapeNode {
    if (from === this.dead) return from;
    let child = from.children?.get(key);
    if (child === undefined) {
      if (this.#closed || from.depth >= MAX_SHAPE_KEYS || unfit(key)) return this.dead;
      if (this.#pause > 0 && !this.#mayLearn()) return this.dead;
      if (this.#nodes >= this.#maxNodes) {
        // The branch being walked may be cut off by this: then its object is counted in vain, no more.
        this.#prune();
        if (this.#closed) return this.dead;
      }
      child = node(key, from);
      this.#nodes++;
      from.children ??= new Map();
      from.children.set(key, child);
    }
    from.lastKey = key;
    from.lastChild = child;
    return child;
  }

  sighted(at: ShapeNode): number {
    if (at.seen < 0 || this.#closed) return -1;
    at.seen++;
    // The more keys, the likelier it is a dictionary, and the more of the log it takes.
    if (at.seen < 2 + (at.depth >> 3)) return -1;
    const keys: string[] = new Array(at.depth);
    for (let n: ShapeNode = at; n.parent !== undefined; n = n.parent) keys[n.depth - 1] = n.key;
    const id = this.#define(keys);
    if (id < 0) {
      at.seen = -1;
      return -1;
    }
    at.keys = keys;
    at.id = id;
    this.#fruitful = true;
    this.#pause = 0;
    return id;
  }

  #mayLearn(): boolean {
    if (this.#passOver > 0) {
      this.#passOver--;
      return false;
    }
    if (--this.#learn > 0) return true;
    this.#learn = LEARN_NODES;
    this.#passOver = this.#pause;
    return false;
  }

  /** Drops every node on no way to a shape. */
  #prune(): void {
    if (!this.#fruitful) this.#pause = Math.min(MAX_PAUSE, Math.max(16, this.#pause * 2));
    this.#fruitful = false;
    this.#nodes = 0;
    this.#keep(this.root);
    // Mostly shapes: to prune again soon would free little, each time.
    if (this.#nodes > this.#maxNodes * 0.75) this.#closed = true;
  }

  /** As deep as shapes have keys, so recursion is bounded. */
  #keep(at: ShapeNode): boolean {
    let kept = at.id >= 0;
    at.lastKey = undefined;
    at.lastChild = at;
    for (const [key, child] of at.children ?? []) {
      if (this.#keep(child)) {
        this.#nodes++;
        kept = true;
      } else {
        at.children!.delete(key);
      }
    }
    return kept;
  }
}

/**
 * Builds an object with the given keys whose fields hold any value without changing its layout: V8
 * specialises the layout to the first values it sees, and would do so again and again for copies.
 */
function shapeTemplate(keys: readonly string[]): object {
  let made: Record<string, unknown> = {};
  for (const filler of [0, 'x', null, 0]) {
    made = {};
    for (const key of keys) made[key] = filler;
  }
  return made;
}
