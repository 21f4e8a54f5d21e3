/** Asks the server about files: `node examples/grpc/client.ts README.md`, with the server's address in `SERVER`. */
import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { credentials } from '@grpc/grpc-js';
import { type Digest, type Pair, type Summary, Texts } from './texts.ts';

const files = process.argv.slice(2);
if (files.length === 0) {
  console.error('Which files? node examples/grpc/client.ts README.md');
  process.exit(2);
}

const client: any = new Texts(process.env.SERVER ?? '127.0.0.1:50051', credentials.createInsecure());
/** The last argument of a call without a stream of answers: a callback. Here, what settles a promise. */
const answer = <T>(call: (done: (error: Error | null, value: T) => void) => void) =>
  new Promise<T>((resolve, reject) =>
    call((error, value) => (error === null ? resolve(value) : reject(error))),
  );

async function ask(file: string): Promise<void> {
  const text = await readFile(file, 'utf8');
  const deadline = Date.now() + 30_000;
  const summary = await answer<Summary>(done => client.summarize({ text, most: 3 }, { deadline }, done));
  const digest = await answer<Digest>(done => {
    const upload = client.hash({ deadline }, done);
    createReadStream(file)
      .on('data', bytes => upload.write({ bytes }))
      .on('end', () => upload.end());
  });
  const pairs: string[] = [];
  const similar = client.similar({ text, most: 1 }, { deadline });
  for await (const { one, other } of similar as AsyncIterable<Pair>) {
    if (pairs.push(`${one}/${other}`) === 3) break;
  }
  similar.on('error', () => {}).cancel(); // enough: it ends the generator in its lane too
  const common = summary.common.map(({ word, times }) => `${word} ${times}`).join(', ');
  console.log(
    `${file}: ${summary.words} words (${common}), ${digest.bytes} bytes, sha256 ${digest.sha256.slice(0, 8)}, alike: ${pairs.join(' ')}`,
  );
}

// All at once, on one connection: each call goes to whatever lane is free.
const outcomes = await Promise.allSettled(files.map(ask));
for (const outcome of outcomes) {
  if (outcome.status === 'fulfilled') continue;
  console.error(String(outcome.reason));
  process.exitCode = 1;
}
client.close();
