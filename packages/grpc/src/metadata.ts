import { createRequire } from 'node:module';
import type { Metadata, MetadataValue } from '@grpc/grpc-js';

/** Metadata on its way between host and lane: key, value, key, value. No object, whose keys clients could choose. */
export type MetadataValues = (string | Buffer)[];

const require = createRequire(import.meta.url);
let MetadataClass: typeof Metadata | undefined;

/** Flattens metadata. It may be of another copy of grpc-js than ours. */
export function toValues(metadata: Metadata): MetadataValues {
  const values: MetadataValues = [];
  const all = metadata.toJSON() as Record<string, MetadataValue[]>;
  for (const key in all) for (const value of all[key]) values.push(key, value);
  return values;
}

export function toMetadata(values: MetadataValues): Metadata {
  // Loaded when first needed: a lane whose handlers never look at metadata starts without it.
  MetadataClass ??= (require('@grpc/grpc-js') as typeof import('@grpc/grpc-js')).Metadata;
  const metadata = new MetadataClass();
  for (let i = 0; i < values.length; i += 2) metadata.add(values[i] as string, values[i + 1]);
  return metadata;
}

export function isMetadata(value: unknown): value is Metadata {
  return typeof (value as Metadata | null | undefined)?.toJSON === 'function';
}
