/** What a function gives to --stream, item by item. Runs in the lanes. */
import type { TaskFunction } from 'hotlane/modules';
import { failureOf, toJson } from './json.ts';
import type { LaneResult } from './lane.ts';

/**
 * Calls the function.
 *
 * @returns its items as they are written, and after them a failure if there was one; what cannot be iterated as it
 *   is: the library says what was expected
 */
export async function openItems(task: TaskFunction, input: string): Promise<unknown> {
  try {
    const made: unknown = await task(input);
    if (typeof made !== 'object' || made === null) return made;
    if (Symbol.asyncIterator in made) return asyncItems(made as AsyncIterable<unknown>);
    if (Symbol.iterator in made) return items(made as Iterable<unknown>);
    return made;
  } catch (error) {
    return [failureOf(error)];
  }
}

function* items(made: Iterable<unknown>): Generator<LaneResult> {
  try {
    for (const item of made) {
      // As JSON it would be `{}`, and whoever made it did not mean that.
      if (item instanceof Promise) {
        item.catch(() => {});
        throw new TypeError(
          'an item is a promise; make the function an async generator, which awaits its items',
        );
      }
      yield toJson(item);
    }
  } catch (error) {
    yield failureOf(error);
  }
}

async function* asyncItems(made: AsyncIterable<unknown>): AsyncGenerator<LaneResult> {
  try {
    for await (const item of made) yield toJson(item);
  } catch (error) {
    yield failureOf(error);
  }
}

/** Whether a result is a generator, or another thing whose items nobody took: as JSON it would be `{}`. */
export function isUnread(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const { next, toJSON } = value as { next?: unknown; toJSON?: unknown };
  if (typeof toJSON === 'function') return false;
  return Symbol.asyncIterator in value || (Symbol.iterator in value && typeof next === 'function');
}
