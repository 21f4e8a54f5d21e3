import { notCloneable } from '../errors.ts';

/** Taken once, as in node.ts. */
const { structuredClone } = globalThis;

export function clone<T>(value: T, transfer: readonly object[]): T {
  return structuredClone(value, { transfer: [...transfer] as never });
}

/** What the pool's lanes are given at their start, as it is now. */
export function snapshot<T>(data: T): T {
  try {
    return structuredClone(data);
  } catch (error) {
    throw notCloneable(error);
  }
}
