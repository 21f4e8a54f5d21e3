// What the tests of networks run at their ends: node network-ends.ts WHAT ARGS…
import { type SpawnOptions, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import dgram from 'node:dgram';
import net, { type AddressInfo } from 'node:net';
import { openNetwork } from '../src/pipelining/network/network.ts';
import { PROFILES } from '../src/pipelining/network/profiles.ts';

const [what, ...args] = process.argv.slice(2);
const say = (text: string) => process.stdout.write(`${text}\n`);

switch (what) {
  // Says its port. Answers `bytes\n` with so many bytes, and after the client's end says its own name.
  case 'serve': {
    const [host, port, name] = args as [string, string, string];
    const server = net.createServer({ allowHalfOpen: true }, socket => {
      let asked = '';
      socket.setEncoding('utf8').on('data', text => {
        asked += text;
        if (asked.endsWith('\n')) socket.write(bytesOf(Number(asked)));
      });
      socket.on('end', () => socket.end(name));
    });
    server.listen(Number(port), host, () => say(String((server.address() as AddressInfo).port)));
    break;
  }
  // Asks for so many bytes: says whether they were the right ones, and what came after its end.
  case 'fetch': {
    const [host, port, bytes] = args as [string, string, string];
    const socket = net.connect({ host, port: Number(port), allowHalfOpen: true });
    const chunks: Buffer[] = [];
    let length = 0;
    const began = performance.now();
    let tookMs = 0;
    socket.write(`${bytes}\n`);
    socket.on('data', chunk => {
      chunks.push(chunk);
      if (length < Number(bytes) && length + chunk.length >= Number(bytes)) {
        tookMs = performance.now() - began;
        socket.end();
      }
      length += chunk.length;
    });
    socket.on('end', () => {
      const all = Buffer.concat(chunks);
      const body = all.subarray(0, Number(bytes));
      const name = all.subarray(Number(bytes)).toString();
      say(JSON.stringify({ isRight: digest(body) === digest(bytesOf(Number(bytes))), name, tookMs }));
    });
    break;
  }
  // So many datagrams, each a byte longer than the one before.
  case 'send': {
    const [host, port, count] = args as [string, string, string];
    const socket = dgram.createSocket('udp4');
    for (let i = 1; i <= Number(count); i++) {
      await new Promise(resolve => socket.send(Buffer.alloc(i), Number(port), host, resolve));
    }
    socket.close();
    break;
  }
  case 'swallow': {
    const [host, port] = args as [string, string];
    dgram.createSocket('udp4').bind(Number(port), host, () => say(port));
    break;
  }
  // Starts a process that does not end with it, and says its id.
  case 'leave-behind': {
    const left = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], {
      detached: true,
      stdio: 'ignore',
    });
    say(String(left.pid));
    setInterval(() => {}, 1000);
    break;
  }
  // Opens a network with a process at each end, says their ids, and waits to be killed.
  case 'open': {
    const network = await openNetwork({ profile: PROFILES.lan, lossPercent: 0, seed: 1 });
    const options: SpawnOptions = { stdio: ['ignore', 'pipe', 'ignore'] };
    const ends = [
      network.spawnServer(process.execPath, [import.meta.filename, 'leave-behind'], options),
      network.spawnClient(process.execPath, [import.meta.filename, 'leave-behind'], options),
    ];
    const left = await Promise.all(
      ends.map(
        end => new Promise<number>(resolve => end.stdout!.once('data', text => resolve(Number(text)))),
      ),
    );
    say(JSON.stringify([...ends.map(end => end.pid), ...left]));
    break;
  }
}

function bytesOf(length: number): Buffer {
  const bytes = Buffer.alloc(length);
  for (let i = 0; i < length; i++) bytes[i] = (i * 31 + (i >>> 8)) & 255;
  return bytes;
}

function digest(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}
