import { fileURLToPath } from 'node:url';
import type { ServiceDefinition } from '@grpc/grpc-js';
import { loadSync, type Options } from '@grpc/proto-loader';

export const PROTO = new URL('./bench.proto', import.meta.url);
/** As most servers have them. */
export const LOADER: Options = { longs: String, enums: String, defaults: true, oneofs: true };

export interface SimpleRequest {
  readonly responseSize: number;
  readonly responseStatus: { readonly code: number } | null;
}

export interface SimpleResponse {
  readonly payload: { readonly body: Uint8Array };
}

/** The benchmark service, for grpc-js. */
export function loadDefinition(): ServiceDefinition {
  return loadSync(fileURLToPath(PROTO), LOADER)['grpc.testing.BenchmarkService'] as ServiceDefinition;
}
