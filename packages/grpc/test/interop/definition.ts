import { readFileSync } from 'node:fs';
import type { ServiceDefinition } from '@grpc/grpc-js';
import { loadFileDescriptorSetFromBuffer } from '@grpc/proto-loader';
import { descriptorFile } from './go-client.ts';

const loaded = loadFileDescriptorSetFromBuffer(readFileSync(descriptorFile), { defaults: true });

export const TestService = loaded['grpc.testing.TestService'] as ServiceDefinition;
