/** The handlers, in grpc-js's own signature: on the server's thread or on another, they are the same. */
import type { sendUnaryData } from '@grpc/grpc-js';
import { burn } from './burn.ts';
import type { SimpleRequest, SimpleResponse } from './definition.ts';

const bodies = new Map<number, Buffer>();

/** What a request is answered with, after the work that it asks for. */
export function answer({ responseSize, responseStatus }: SimpleRequest): SimpleResponse {
  if (responseStatus != null && responseStatus.code > 0) burn(responseStatus.code);
  let body = bodies.get(responseSize);
  if (body === undefined) {
    body = Buffer.alloc(responseSize);
    bodies.set(responseSize, body);
  }
  return { payload: { body } };
}

export function unaryCall(
  call: { readonly request: SimpleRequest },
  callback: sendUnaryData<SimpleResponse>,
): void {
  callback(null, answer(call.request));
}
