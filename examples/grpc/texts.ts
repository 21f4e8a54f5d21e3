/** The service, for whoever needs it: the server, its lanes, and clients. */
import { fileURLToPath } from 'node:url';
import { type GrpcObject, loadPackageDefinition, type ServiceClientConstructor } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';

const proto = fileURLToPath(new URL('./texts.proto', import.meta.url));
const loaded = loadPackageDefinition(loadSync(proto, { longs: Number, defaults: true }));

export const Texts = (loaded.texts as GrpcObject).Texts as ServiceClientConstructor;

export interface Text {
  readonly text: string;
  /** The most answers that are wanted. */
  readonly most: number;
}

export interface Summary {
  readonly words: number;
  readonly common: readonly { readonly word: string; readonly times: number }[];
}

export interface Digest {
  readonly sha256: string;
  readonly bytes: number;
}

export interface Pair {
  readonly one: string;
  readonly other: string;
  readonly letters: number;
}
