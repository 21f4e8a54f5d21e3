import { createServer } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { create, createFileRegistry, fromBinary } from '@bufbuild/protobuf';
import { FileDescriptorProtoSchema, FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import type { ServiceImpl } from '@connectrpc/connect';
import { connectNodeAdapter } from '@connectrpc/connect-node';
import { loadDefinition, type SimpleRequest } from '../definition.ts';
import { answer } from '../handlers.ts';
import type { OpenServer } from './server.ts';

/** connect-node, asked in gRPC's own protocol; its handlers run on its own thread. */
export const open: OpenServer = async () => {
  const service = findService();
  const implementation = { unaryCall: (request: SimpleRequest) => answer(request) };
  const handler = connectNodeAdapter({
    routes: router => router.service(service, implementation as unknown as ServiceImpl<typeof service>),
  });
  const server = createServer(handler);
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { address: `127.0.0.1:${port}`, close: () => void server.close() };
};

/** From the same .proto file, by the descriptors that its loader leaves with each message. */
function findService() {
  const { requestType } = loadDefinition().UnaryCall as unknown as {
    requestType: { fileDescriptorProtos: Uint8Array[] };
  };
  const file = requestType.fileDescriptorProtos.map(bytes => fromBinary(FileDescriptorProtoSchema, bytes));
  // The loader leaves names of types as the file has them; a registry wants them in full.
  for (const { package: its, messageType, service } of file) {
    const full = (name: string) => (name === '' || name.startsWith('.') ? name : `.${its}.${name}`);
    for (const field of messageType.flatMap(message => message.field)) field.typeName = full(field.typeName);
    for (const method of service.flatMap(one => one.method)) {
      method.inputType = full(method.inputType);
      method.outputType = full(method.outputType);
    }
  }
  const registry = createFileRegistry(create(FileDescriptorSetSchema, { file }));
  const service = registry.getService('grpc.testing.BenchmarkService');
  if (service === undefined) throw new Error('The descriptors have no BenchmarkService.');
  return service;
}
