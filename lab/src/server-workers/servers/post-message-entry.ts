import { parentPort } from 'node:worker_threads';
import { loadDefinition, type SimpleRequest } from '../definition.ts';
import { answer } from '../handlers.ts';
import type { Post } from './post-message.ts';

const port = parentPort!;
const { requestDeserialize, responseSerialize } = loadDefinition().UnaryCall!;

port.on('message', ([id, { buffer, byteOffset, byteLength }]: Post) => {
  const request = requestDeserialize(Buffer.from(buffer, byteOffset, byteLength)) as SimpleRequest;
  const bytes = responseSerialize(answer(request));
  port.postMessage([id, new Uint8Array(bytes)] satisfies Post); // a small one lies in a buffer with others
});
port.postMessage('ready');
