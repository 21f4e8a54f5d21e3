/**
 * grpc-go's interop client, built from its module, and the test service's definition, read from the same module: neither is
 * kept in this repository.
 */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);

const VERSION = 'v1.85.0';
const MODULE = 'google.golang.org/grpc';
const FILES = ['empty', 'messages', 'test'];

const cache = fileURLToPath(
  new URL(`../../../../node_modules/.cache/grpc-interop-${VERSION}/`, import.meta.url),
);
export const clientFile = join(cache, 'client');
export const descriptorFile = join(cache, 'testing.binpb');

/** Makes both, once. @returns why that is not possible here; undefined when they are there */
export async function prepare(): Promise<string | undefined> {
  if (existsSync(clientFile) && existsSync(descriptorFile)) return;
  let modules: string;
  try {
    modules = (await run('go', ['env', 'GOMODCACHE'])).stdout.trim();
  } catch {
    return 'Go is not installed, so there is no grpc-go client to ask the service.';
  }
  await mkdir(cache, { recursive: true });
  try {
    const env = { ...process.env, GOBIN: cache };
    await run('go', ['install', `${MODULE}/interop/client@${VERSION}`], { env });
  } catch (error) {
    return `grpc-go's client cannot be built here: ${String((error as { stderr?: string }).stderr).trim()}`;
  }
  const folder = join(modules, `${MODULE}@${VERSION}`, 'interop/grpc_testing');
  const files = await Promise.all(FILES.map(name => descriptorOf(join(folder, `${name}.pb.go`))));
  // Whole or not at all: another run may look at it meanwhile.
  await writeFile(`${descriptorFile}.part`, Buffer.concat(files.flatMap(file => [lengthOf(file), file])));
  await rename(`${descriptorFile}.part`, descriptorFile);
}

/** Asks the service. @throws with what the client says, when a case fails */
export async function ask(address: string, testCase: string): Promise<void> {
  const [host, port] = address.split(':');
  const args = [`--server_host=${host}`, `--server_port=${port}`, `--test_case=${testCase}`];
  await run(clientFile, args, { timeout: 30_000 });
}

/** The descriptor of a .proto file, as generated Go code has it: a constant of text that is joined of many. */
async function descriptorOf(file: string): Promise<Buffer> {
  const source = await readFile(file, 'utf8');
  const [, constant] = /_rawDesc = ""((?: \+\n\t"(?:[^"\\]|\\.)*")+)/.exec(source) ?? [];
  if (constant === undefined) throw new Error(`${file} has no descriptor in the form that is known.`);
  const parts = [...constant.matchAll(/\t"((?:[^"\\]|\\.)*)"/g)].map(([, text]) => unquoted(text!));
  return Buffer.concat(parts);
}

const ESCAPES: Record<string, number> = { a: 7, b: 8, t: 9, n: 10, v: 11, f: 12, r: 13 };

function unquoted(text: string): Buffer {
  const parts = text.match(/\\x[0-9a-f]{2}|\\.|[^\\]+/g) ?? [];
  return Buffer.concat(
    parts.map(part => {
      if (!part.startsWith('\\')) return Buffer.from(part);
      if (part.length === 4) return Buffer.from([Number.parseInt(part.slice(2), 16)]);
      return Buffer.from([ESCAPES[part[1]!] ?? part.charCodeAt(1)]);
    }),
  );
}

/** Before each file of a set: the field's number, and its length. */
function lengthOf(file: Buffer): Buffer {
  const bytes = [10];
  for (let rest = file.length; ; rest >>= 7) {
    bytes.push(rest > 127 ? (rest & 127) | 128 : rest);
    if (rest <= 127) return Buffer.from(bytes);
  }
}
