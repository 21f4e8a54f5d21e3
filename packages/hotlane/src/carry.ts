import type { NamedStorage } from './call/storages.ts';
import { traceHeaders } from './call/traces.ts';
import { HotlaneError, isHotlaneError } from './errors.ts';
import type { Carried } from './worker/carried.ts';

/** What goes along with a call made now; undefined for nothing. */
export function pack(storages: readonly NamedStorage[]): Carried | undefined {
  const trace = traceHeaders();
  const stores = storages.length === 0 ? undefined : storesOf(storages);
  if (stores === undefined) return trace === undefined ? undefined : { trace };
  return trace === undefined ? { stores } : { stores, trace };
}

function storesOf(storages: readonly NamedStorage[]): Record<string, unknown> | undefined {
  let stores: Record<string, unknown> | undefined;
  for (const { name, storage } of storages) {
    const store = storage.getStore();
    if (store === undefined) continue;
    stores ??= {};
    stores[name] = store;
  }
  return stores;
}

/**
 * Why a call could not be encoded, when it may be for what went along with it: then the error names the storage.
 *
 * @param encode encodes one value by itself, and throws when that cannot be
 */
export function blame(error: unknown, { stores = {} }: Carried, encode: (value: unknown) => void): unknown {
  if (!isHotlaneError(error, 'NOT_CLONEABLE')) return error;
  for (const [name, store] of Object.entries(stores)) {
    try {
      encode(store);
    } catch (cause) {
      if (!isHotlaneError(cause, 'NOT_CLONEABLE')) continue;
      const what = cause.message.replace(/^args\[0\]/, 'getStore()');
      return new HotlaneError('NOT_CLONEABLE', `Storage \`${name}\`, which calls carry: ${what}`, { cause });
    }
  }
  return error;
}
