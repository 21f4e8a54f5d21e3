/** The load generator where there is no Go: does what `go/load.go` does, by grpc-js. */
import { Client, credentials } from '@grpc/grpc-js';
import { cpuNow } from '../harness/cpu.ts';
import { answerLines } from '../harness/json-process.ts';
import { mean, quantile } from '../harness/stats.ts';
import { loadDefinition, type SimpleResponse } from './definition.ts';
import type { LoadAnswer, LoadCommand } from './load.ts';

const WINDOW_MS = 100;
const { path, requestSerialize, responseDeserialize } = loadDefinition().UnaryCall!;
const known = new Map<string, Client[]>();

interface Timed {
  readonly endedMs: number;
  readonly tookMs: number;
}

/** Connections are kept: a measurement does not begin with making them. */
function clientsOf(address: string, count: number): Client[] {
  const key = `${address}/${count}`;
  let clients = known.get(key);
  if (clients === undefined) {
    const own = { 'grpc.use_local_subchannel_pool': 1, 'grpc.max_receive_message_length': 64 << 20 };
    clients = Array.from({ length: count }, () => new Client(address, credentials.createInsecure(), own));
    known.set(key, clients);
  }
  return clients;
}

function ask(client: Client, bytes: number, workUs: number): Promise<void> {
  const request = { responseSize: bytes, payload: { body: Buffer.alloc(bytes) } };
  const message = workUs > 0 ? { ...request, responseStatus: { code: workUs } } : request;
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(path, requestSerialize, responseDeserialize, message, (error, response) => {
      const got = (response as SimpleResponse | undefined)?.payload.body.length;
      if (error !== null) reject(error);
      else if (got !== bytes) reject(new Error(`Asked for ${bytes} bytes, got ${got}.`));
      else resolve();
    });
  });
}

async function load(command: LoadCommand): Promise<LoadAnswer> {
  const { address, connections, inFlight, warmUpMs, ms, bytes, workUs, perSecond } = command;
  const clients = clientsOf(address, connections);
  const cpu = cpuNow().all;
  const began = performance.now();
  const since = () => performance.now() - began;
  const endMs = warmUpMs + ms;
  const all: Timed[] = [];
  if (perSecond === 0) {
    const strand = async (client: Client) => {
      for (let atMs = since(); atMs < endMs; ) {
        await ask(client, bytes, workUs);
        const endedMs = since();
        all.push({ endedMs, tookMs: endedMs - atMs });
        atMs = endedMs;
      }
    };
    await Promise.all(Array.from({ length: inFlight }, (_, i) => strand(clients[i % clients.length]!)));
  } else {
    await atRate(command, clients, since, all);
  }
  return sumUp(command, all, cpuNow().all - cpu);
}

/** Calls at fixed times, timed from when they were made. */
async function atRate(command: LoadCommand, clients: Client[], since: () => number, all: Timed[]) {
  const { warmUpMs, ms, bytes, workUs, perSecond, slowPlaces, slowUs } = command;
  const calls: Promise<void>[] = [];
  for (let n = 0; (n / perSecond) * 1000 < warmUpMs + ms; n++) {
    const restMs = (n / perSecond) * 1000 - since();
    if (restMs > 0) await new Promise(resolve => setTimeout(resolve, restMs));
    const isSlow = slowPlaces !== '' && Number(slowPlaces[Math.floor(n / 10) % slowPlaces.length]) === n % 10;
    const fromMs = since();
    const call = ask(clients[n % clients.length]!, bytes, isSlow ? slowUs : workUs);
    const keep = () => {
      if (!isSlow) all.push({ endedMs: since(), tookMs: since() - fromMs });
    };
    calls.push(call.then(keep));
  }
  await Promise.all(calls);
}

function sumUp({ warmUpMs, ms, perSecond }: LoadCommand, all: readonly Timed[], cpuUs: number): LoadAnswer {
  // What is made at a rate counts when it was made, however late it ended.
  const counted = all.filter(({ endedMs, tookMs }) =>
    perSecond > 0 ? endedMs - tookMs >= warmUpMs : endedMs >= warmUpMs && endedMs < warmUpMs + ms,
  );
  const took = counted.map(({ tookMs }) => tookMs * 1000).sort((a, b) => a - b);
  const perWindow = new Array<number>(Math.floor(ms / WINDOW_MS)).fill(0);
  for (const { endedMs } of counted) {
    const window = Math.floor((endedMs - warmUpMs) / WINDOW_MS);
    if (window < perWindow.length) perWindow[window]!++;
  }
  return {
    calls: counted.length,
    allCalls: all.length,
    perSecond: (counted.length / ms) * 1000,
    p50Us: quantile(took, 0.5),
    p90Us: quantile(took, 0.9),
    p99Us: quantile(took, 0.99),
    meanUs: mean(took),
    cpuUs,
    perWindow,
  };
}

await answerLines(load);
for (const client of [...known.values()].flat()) client.close();
