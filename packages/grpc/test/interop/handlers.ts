/** The standard test service, as its description has it: what is asked for is sent back, of the sizes asked for. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ServerDuplexStream, ServerReadableStream, ServerUnaryCall, sendUnaryData } from '@grpc/grpc-js';
import { Metadata } from '@grpc/grpc-js';

interface Status {
  readonly code: number;
  readonly message: string;
}

interface SimpleRequest {
  readonly response_size: number;
  readonly response_status: Status | null;
}

interface StreamRequest {
  readonly response_parameters: readonly { readonly size: number; readonly interval_us: number }[];
  readonly response_status: Status | null;
}

interface Reply {
  readonly payload: { readonly body: Buffer };
}

const payload = (size: number) => ({ payload: { body: Buffer.alloc(size) } });

function echo(call: { readonly metadata: Metadata; sendMetadata(headers: Metadata): void }): Metadata {
  const headers = new Metadata();
  for (const value of call.metadata.get('x-grpc-test-echo-initial')) {
    headers.add('x-grpc-test-echo-initial', value);
  }
  call.sendMetadata(headers);
  const trailers = new Metadata();
  for (const value of call.metadata.get('x-grpc-test-echo-trailing-bin')) {
    trailers.add('x-grpc-test-echo-trailing-bin', value);
  }
  return trailers;
}

function refused(status: Status | null): { code: number; details: string } | null {
  return status === null || status.code === 0 ? null : { code: status.code, details: status.message };
}

export default {
  emptyCall(_: unknown, respond: sendUnaryData<object>): void {
    respond(null, {});
  },

  unaryCall(call: ServerUnaryCall<SimpleRequest, Reply>, respond: sendUnaryData<Reply>): void {
    const trailers = echo(call);
    const { response_size, response_status } = call.request;
    const error = refused(response_status);
    if (error !== null) respond(error, null, trailers);
    else respond(null, payload(response_size), trailers);
  },

  async streamingInputCall(call: ServerReadableStream<{ payload: { body: Buffer } | null }, object>) {
    let aggregated_payload_size = 0;
    for await (const { payload } of call) aggregated_payload_size += payload?.body.length ?? 0;
    return { aggregated_payload_size };
  },

  async *streamingOutputCall({ request }: ServerUnaryCall<StreamRequest, Reply>) {
    for (const { size, interval_us } of request.response_parameters) {
      if (interval_us > 0) await sleep(interval_us / 1_000);
      yield payload(size);
    }
  },

  async fullDuplexCall(call: ServerDuplexStream<StreamRequest, Reply>) {
    const trailers = echo(call);
    for await (const { response_parameters, response_status } of call as AsyncIterable<StreamRequest>) {
      const error = refused(response_status);
      if (error !== null) throw error;
      for (const { size, interval_us } of response_parameters) {
        if (interval_us > 0) await sleep(interval_us / 1_000);
        call.write(payload(size));
      }
    }
    call.end(trailers);
  },
};
