import { createRequire } from 'node:module';
import type { Metadata, MetadataValue } from '@grpc/grpc-js';

/** Metadata on its way between host and lane: key, value, key, value. No object, whose keys clients could choose. */
export type MetadataValues = (string | Buffer)[];

const require = createRequire(import.meta.url);
let MetadataClass: typeof Metadata | undefined;

/** Flattens metadata. It may be of another copy of grpc-js than ours. @param values to append to */
export function toValues(metadata: Metadata, values: MetadataValues = []): MetadataValues {
  const all = metadata.toJSON() as Record<string, MetadataValue[]>;
  for (const key in all) for (const value of all[key]) values.push(key, value);
  return values;
}

/**
 * Texts as one text, which crosses in a fraction of the time: HTTP allows no line feed in headers. Where there are bytes, or a line feed
 * all the same, the list itself.
 */
export function joined(values: MetadataValues): string | MetadataValues {
  return values.every(isOneLine) ? values.join('\n') : values;
}

export function parted(values: string | MetadataValues): MetadataValues {
  return typeof values === 'string' ? values.split('\n') : values;
}

function isOneLine(value: string | Buffer): boolean {
  return typeof value === 'string' && !value.includes('\n');
}

/** @param from where in the values it begins */
export function toMetadata(values: MetadataValues, from = 0): Metadata {
  // Loaded when first needed: a lane whose handlers never look at metadata starts without it.
  MetadataClass ??= (require('@grpc/grpc-js') as typeof import('@grpc/grpc-js')).Metadata;
  const metadata = new MetadataClass();
  for (let i = from; i < values.length; i += 2) metadata.add(values[i] as string, values[i + 1]);
  return metadata;
}

export function isMetadata(value: unknown): value is Metadata {
  return typeof (value as Metadata | null | undefined)?.toJSON === 'function';
}
