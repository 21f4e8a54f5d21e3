import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, readlink, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import {
  canEmulate,
  type Network,
  type NetworkOptions,
  openNetwork,
  type Packet,
} from '../src/pipelining/network/network.ts';
import { PROFILES, type Profile } from '../src/pipelining/network/profiles.ts';

const ends = fileURLToPath(new URL('./network-ends.ts', import.meta.url));
const PORT = 8080;
/** With its headers; the MTU. */
const FULL_PACKET_BYTES = 1500;

/** Slow enough to see each packet's time, fast enough for a test. */
const SLOW: Profile = {
  name: 'slow',
  title: 'Slow',
  downKbit: 1_000,
  upKbit: 500,
  rttMs: 100,
  queueBytes: 100_000,
  initcwnd: 3,
  congestion: 'reno',
};

const able = await canEmulate();
const skip = able === true ? false : able;

function open(options: Partial<NetworkOptions> = {}): Promise<Network> {
  return openNetwork({ profile: SLOW, lossPercent: 0, seed: 1, ...options });
}

interface Serving {
  readonly server: ChildProcess;
  /** What the client connects to. */
  readonly port: number;
}

/** Runs something of network-ends.ts at the server's end, and resolves when it says that it is there. */
async function serve(network: Network, what: string, ...args: string[]): Promise<Serving> {
  const wanted = network.mode === 'proxy' ? 0 : PORT;
  const server = network.spawnServer(
    process.execPath,
    [ends, what, network.serverHost, String(wanted), ...args],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const [said] = await once(server.stdout!, 'data');
  return { server, port: await network.reach(Number(said)) };
}

async function runClient(network: Network, what: string, port: number, ...args: string[]): Promise<string> {
  const client = network.spawnClient(
    process.execPath,
    [ends, what, network.serverHost, String(port), ...args],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  return text(client.stdout!);
}

interface Fetched {
  readonly isRight: boolean;
  readonly name: string;
  readonly tookMs: number;
}

async function fetch(network: Network, bytes: number, port = PORT): Promise<Fetched> {
  return JSON.parse(await runClient(network, 'fetch', port, String(bytes)));
}

/** Ids of processes, with who started them and which network namespace they are in. */
async function processes(): Promise<{ pid: number; parent: number; namespace: string }[]> {
  const ids = (await readdir('/proc')).filter(name => /^\d+$/.test(name));
  const all = await Promise.all(
    ids.map(async id => {
      try {
        const stat = await readFile(`/proc/${id}/stat`, 'utf8');
        const [state, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
        if (state === 'Z') return [];
        const namespace = await readlink(`/proc/${id}/ns/net`);
        return [{ pid: Number(id), parent: Number(parent), namespace }];
      } catch {
        return []; // it has ended meanwhile
      }
    }),
  );
  return all.flat();
}

const childrenOf = async (pid: number) => (await processes()).filter(({ parent }) => parent === pid);

/** Waits until none of them runs; a test that waits in vain is ended by the runner. */
async function areGone(pids: readonly number[]): Promise<void> {
  while ((await processes()).some(({ pid }) => pids.includes(pid))) await sleep(10);
}

describe('a network of namespaces', { skip }, () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'hotlane-network-'));
  });
  after(() => rm(folder, { recursive: true }));

  test('delivers no packet before its delay, and none faster than the rate allows', async () => {
    await using network = await open();
    assert.equal(network.mode, 'namespaces');
    assert.equal(network.congestion, 'reno');
    await serve(network, 'serve', 'here');
    await network.startRecording();
    assert.equal((await fetch(network, 60_000)).isRight, true);
    const { packets, latestMs } = await network.stopRecording();

    const down = packets.filter(({ up }) => !up);
    const up = packets.filter(packet => packet.up);
    const [syn] = up as [Packet];
    const [synAck] = down as [Packet];
    assert.equal(syn.kind, 'control');
    assert.equal(synAck.kind, 'control');
    assert.ok(synAck.atMs - syn.atMs >= SLOW.rttMs, `answered after ${synAck.atMs - syn.atMs} ms`);
    const asked = up.find(({ kind }) => kind === 'payload')!;
    const answered = down.find(({ kind }) => kind === 'payload')!;
    assert.ok(answered.atMs - asked.atMs >= SLOW.rttMs);

    const full = down.filter(({ bytes }) => bytes > FULL_PACKET_BYTES - 60);
    assert.ok(full.length >= 40, `${full.length} of ${down.length}`);
    const packetMs = (FULL_PACKET_BYTES * 8) / SLOW.downKbit;
    for (const [i, one] of full.entries()) {
      for (const [j, later] of full.slice(i + 1).entries()) {
        const least = (j + 1) * packetMs - latestMs;
        const between = later.atMs - one.atMs;
        assert.ok(between > least - 0.01, `${j + 1} packets in ${between} ms, not in ${least}`);
      }
    }
  });

  test('lets a new connection send as many segments as the profile says', async () => {
    for (const initcwnd of [3, 7]) {
      await using network = await open({
        profile: { ...PROFILES['edge-700'], downKbit: 100_000, rttMs: 200, initcwnd },
      });
      await serve(network, 'serve', 'here');
      await network.startRecording();
      await fetch(network, 40_000);
      const { packets } = await network.stopRecording();
      const asked = packets.find(({ up, kind }) => up && kind === 'payload')!;
      // The server learns of no acknowledgement before a further round trip: what comes until then was sent at once.
      const burst = packets.filter(
        ({ up, kind, atMs }) => !up && kind === 'payload' && atMs - asked.atMs < 2 * 200,
      );
      assert.ok(burst.length <= initcwnd, `${burst.length} with ${initcwnd}`);
      assert.ok(burst.length > 0);
    }
  });

  test('counts what tcpdump counts in the file that it writes', {
    skip: spawnSync('tcpdump', ['--version']).status === 0 ? false : 'tcpdump is not installed.',
  }, async () => {
    const file = join(folder, 'packets.pcap');
    await using network = await open({ profile: PROFILES.lan });
    await serve(network, 'serve', 'here');
    await network.startRecording(file);
    await Promise.all([fetch(network, 300_000), fetch(network, 1_000)]);
    const { up, down, packets } = await network.stopRecording();

    const count = (filter: string) =>
      execFileSync('tcpdump', ['-nn', '-r', file, filter], { encoding: 'utf8', stdio: 'pipe' })
        .split('\n')
        .filter(line => line !== '').length;
    const hasPayload = '((ip[2:2] - ((ip[0] & 0xf) << 2)) - ((tcp[12] & 0xf0) >> 2)) != 0';
    const isControl = 'tcp[tcpflags] & (tcp-syn | tcp-fin | tcp-rst) != 0';
    for (const [way, counts] of [
      ['dst', up],
      ['src', down],
    ] as const) {
      const those = `tcp and ${way} host ${network.serverHost} and ${way} port ${PORT}`;
      assert.equal(counts.payload, count(`${those} and ${hasPayload}`));
      assert.equal(counts.control, count(`${those} and not (${hasPayload}) and ${isControl}`));
      assert.equal(counts.ack, count(`${those} and not (${hasPayload}) and not (${isControl})`));
      const listed = packets.filter(packet => packet.up === (way === 'dst'));
      assert.equal(counts.payload + counts.ack + counts.control, listed.length);
      assert.equal(counts.dropped, 0);
    }
    assert.equal(count(''), packets.length);
    assert.equal(new Set(packets.map(({ port }) => port)).size, 2);
    const payloadBytes = packets.reduce((sum, { up, bytes }) => sum + (up ? 0 : bytes), 0);
    assert.equal(payloadBytes, 301_000 + 2 * 'here'.length);
  });

  test('loses the same packets for the same seed, others for another, and none without loss', async () => {
    const COUNT = 400;
    await using network = await open({ profile: PROFILES.lan, lossPercent: 10, seed: 7 });
    await serve(network, 'swallow');
    const passed = async () => {
      await network.startRecording();
      await runClient(network, 'send', PORT, String(COUNT));
      const { up, packets } = await network.stopRecording();
      assert.equal(up.payload + up.dropped, COUNT);
      return packets.map(({ bytes }) => bytes);
    };
    const first = await passed();
    const lost = COUNT - first.length;
    assert.ok(lost > COUNT * 0.04 && lost < COUNT * 0.18, `${lost} lost`);
    await network.setLoss(10, 7);
    assert.deepEqual(await passed(), first);
    await network.setLoss(10, 8);
    assert.notDeepEqual(await passed(), first);
    await network.setLoss(0, 7);
    assert.equal((await passed()).length, COUNT);
  });

  test('gets all bytes across, in their order, though packets are lost', async () => {
    await using network = await open({ profile: PROFILES.lan, lossPercent: 3, seed: 5 });
    await serve(network, 'serve', 'here');
    await network.startRecording();
    const { isRight, name } = await fetch(network, 400_000);
    assert.deepEqual({ isRight, name }, { isRight: true, name: 'here' });
    assert.ok((await network.stopRecording()).down.dropped > 0);
  });

  test('drops what finds no room in the queue', async () => {
    const profile = { ...PROFILES.lan, upKbit: 1_000, queueBytes: 5_000 };
    await using network = await open({ profile });
    await serve(network, 'swallow');
    await network.startRecording();
    await runClient(network, 'send', PORT, '300');
    const { up, packets } = await network.stopRecording();
    assert.ok(up.dropped > 0);
    assert.equal(up.payload + up.dropped, 300);
    const sizes = packets.filter(packet => packet.up).map(({ bytes }) => bytes);
    assert.deepEqual(
      sizes,
      [...sizes].sort((a, b) => a - b),
    );
    assert.equal(sizes[0], 1);
  });

  test('sees nothing of another that is open beside it', async () => {
    await using first = await open({ profile: PROFILES.lan });
    await using second = await open({ profile: PROFILES.lan });
    await using third = await open({ profile: PROFILES.lan });
    const networks = [first, second, third];
    await Promise.all(networks.map((network, i) => serve(network, 'serve', `server ${i}`)));
    await Promise.all(networks.map(network => network.startRecording()));
    const fetched = await Promise.all([first, second].map(network => fetch(network, 50_000)));
    assert.deepEqual(
      fetched.map(({ name }) => name),
      ['server 0', 'server 1'],
    );
    const [one, two, three] = await Promise.all(networks.map(network => network.stopRecording()));
    assert.ok(one!.down.payload > 0 && two!.down.payload > 0);
    assert.equal(new Set(one!.packets.map(({ port }) => port)).size, 1);
    assert.deepEqual(three!.packets, []);
  });

  test('is gone when it is disposed of, with all that ran in it', async () => {
    const before = await childrenOf(process.pid);
    const network = await open({ profile: PROFILES.lan });
    const server = network.spawnServer(process.execPath, [ends, 'leave-behind'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [said] = await once(server.stdout!, 'data');
    const left = Number(said);
    const all = await processes();
    const namespace = all.find(({ pid }) => pid === left)!.namespace;
    assert.notEqual(namespace, await readlink('/proc/self/ns/net'));

    await network[Symbol.asyncDispose]();
    await network[Symbol.asyncDispose]();
    await areGone([left, server.pid!]);
    assert.deepEqual(await childrenOf(process.pid), before);
    assert.equal((await processes()).filter(one => one.namespace === namespace).length, 0);
    await assert.rejects(network.startRecording(), /emulator ended/);
  });

  test('is gone when the process that opened it is killed', async () => {
    const owner = spawn(process.execPath, [ends, 'open'], { stdio: ['ignore', 'pipe', 'inherit'] });
    const [said] = await once(owner.stdout!, 'data');
    const inside: number[] = JSON.parse(said);
    assert.equal(inside.length, 4);
    const itsOwn = (await childrenOf(owner.pid!)).map(({ pid }) => pid);
    assert.equal(itsOwn.length, 3, 'the emulator, and a process at each end');
    owner.kill('SIGKILL');
    await areGone([...inside, ...itsOwn]);
  });

  test('says so when the emulator was killed, and ends what it left without a network', async () => {
    await using network = await open({ profile: PROFILES.lan });
    const [emulator] = await childrenOf(process.pid);
    const { server } = await serve(network, 'serve', 'here');
    const ended = once(server, 'exit');
    process.kill(emulator!.pid, 'SIGKILL');
    assert.deepEqual(await ended, [null, 'SIGKILL']);
    await assert.rejects(network.startRecording(), /The network emulator ended: SIGKILL\./);
  });

  test('tells of a recording that cannot be, and of a command that is not there', async () => {
    await using network = await open({ profile: PROFILES.lan });
    await assert.rejects(network.stopRecording(), /nothing is recorded/);
    await assert.rejects(network.startRecording(join(folder, 'missing', 'x.pcap')), /no such file/);
    const missing = network.spawnClient('no-such-command', [], { stdio: ['ignore', 'ignore', 'pipe'] });
    const [said, [code]] = await Promise.all([text(missing.stderr!), once(missing, 'exit')]);
    assert.equal(code, 127);
    assert.match(said, /no-such-command/);
  });
});

describe('a network of a proxy', () => {
  const proxied = (options: Partial<NetworkOptions> = {}) => open({ mode: 'proxy', ...options });

  test('gets all bytes across, no sooner than its link would', async () => {
    await using network = await proxied();
    assert.equal(network.mode, 'proxy');
    const { port } = await serve(network, 'serve', 'here');
    const [one, two] = await Promise.all([30_000, 20_000].map(bytes => fetch(network, bytes, port)));
    for (const { isRight, name } of [one, two])
      assert.deepEqual({ isRight, name }, { isRight: true, name: 'here' });
    // Connecting is a round trip, asking another.
    const least = 2 * SLOW.rttMs + (30_000 * 8) / SLOW.downKbit;
    assert.ok(one!.tookMs >= least, `${one!.tookMs} ms, not ${least}`);
  });

  test('has no packets to show', async () => {
    await using network = await proxied();
    await assert.rejects(network.stopRecording(), /Nothing is recorded/);
    await network.startRecording();
    const { up, down, packets } = await network.stopRecording();
    const none = { payload: 0, ack: 0, control: 0, dropped: 0, bytes: 0 };
    assert.deepEqual({ up, down, packets }, { up: none, down: none, packets: [] });
  });

  test('refuses to lose packets', async () => {
    await assert.rejects(proxied({ lossPercent: 1 }), /cannot lose packets/);
    await using network = await proxied();
    await assert.rejects(network.setLoss(1, 1), /cannot lose packets/);
    await network.setLoss(0, 1);
  });

  test('is gone when it is disposed of, with what ran in it and in the middle of a transfer', async () => {
    const network = await proxied({ profile: PROFILES['edge-700'] });
    const { server, port } = await serve(network, 'serve', 'here');
    const client = network.spawnClient(
      process.execPath,
      [ends, 'fetch', network.serverHost, String(port), '1000000'],
      { stdio: 'ignore' },
    );
    await network[Symbol.asyncDispose]();
    await areGone([server.pid!, client.pid!]);
  });
});

describe('opening a network', () => {
  test('gives packets where they can be had, and says why where not', async () => {
    await using network = await open();
    assert.equal(network.mode, able === true ? 'namespaces' : 'proxy');
    if (able === true) return;
    assert.match(able, /^[A-Z].*\.$/s);
    await assert.rejects(open({ mode: 'namespaces' }), { message: able });
  });

  test('says what is missing to who may not', {
    skip: process.getuid?.() === 0 ? false : 'Giving up root takes root.',
  }, async () => {
    const said = execFileSync(
      process.execPath,
      [
        '-e',
        `process.setuid(65534); import(process.argv[1]).then(async it => console.log(await it.canEmulate()))`,
        fileURLToPath(new URL('../src/pipelining/network/network.ts', import.meta.url)),
      ],
      { encoding: 'utf8' },
    );
    assert.match(said, /takes root/);
  });

  test('refuses what no network can be', async () => {
    await assert.rejects(open({ lossPercent: 100 }), /`lossPercent`: expected .* got 100/);
    await assert.rejects(open({ seed: -1 }), /`seed`: expected .* got -1/);
  });
});

after(async () => {
  const left = await childrenOf(process.pid);
  assert.deepEqual(left, [], 'processes are left behind');
});
