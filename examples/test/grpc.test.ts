import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { credentials, status } from '@grpc/grpc-js';
import { type Pair, Texts } from '../grpc/texts.ts';

const file = (name: string) => fileURLToPath(new URL(`../grpc/${name}`, import.meta.url));

/** Starts the example's server. @returns it, and its address */
async function start() {
  const server = spawn(process.execPath, ['--conditions=hotlane-source', file('server.ts')], {
    env: { ...process.env, PORT: '0', LANES: '2' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(server, 'exit');
  const [line] = await once(server.stdout, 'data');
  return { server, exited, address: /listening on (\S+)/.exec(String(line))![1]! };
}

test('the gRPC example answers its client, and ends when the calls in flight have theirs', async t => {
  const { server, exited, address } = await start();
  t.after(() => server.kill('SIGKILL'));
  const about = file('texts.proto');
  const client = spawn(process.execPath, [file('client.ts'), about, file('handlers.ts')], {
    env: { ...process.env, SERVER: address },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [said, [code]] = await Promise.all([text(client.stdout), once(client, 'exit')]);
  assert.equal(code, 0);
  const bytes = readFileSync(about);
  const sum = createHash('sha256').update(bytes).digest('hex').slice(0, 8);
  assert.match(
    said,
    new RegExp(`texts\\.proto: \\d+ words .*, ${bytes.length} bytes, sha256 ${sum}, alike: `),
  );
  assert.equal(said.trim().split('\n').length, 2);

  const stub: any = new Texts(address, credentials.createInsecure());
  t.after(() => stub.close());
  const empty = await new Promise<any>(resolve => stub.summarize({ text: '' }, resolve));
  assert.deepEqual([empty.code, empty.details], [status.INVALID_ARGUMENT, 'The text has no words.']);

  const words = Array.from(
    { length: 400 },
    (_, i) => `w${String.fromCharCode(97 + (i % 26))}${'x'.repeat(i % 9)}`,
  );
  const pairs = stub.similar({ text: words.join(' '), most: 2 });
  const found: Pair[] = [];
  await new Promise(resolve => pairs.once('data', resolve));
  pairs.on('data', (pair: Pair) => found.push(pair));
  server.kill('SIGTERM');
  const ended = await new Promise<any>(resolve => pairs.on('status', resolve));
  assert.equal(ended.code, status.OK);
  assert.ok(found.length > 100);
  stub.close();
  assert.deepEqual(await exited, [0, null]);
});
