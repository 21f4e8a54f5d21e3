import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import type { LaneEvents, Outcomes } from 'hotlane/lanes';
import { type LaneRig, laneContract } from 'hotlane/testing';
import { buildConnector } from 'undici';
import { createClient } from '../src/client.ts';
import { Connection, type ConnectionHost } from '../src/connection.ts';
import { Exchange } from '../src/exchange.ts';
import { Link } from '../src/link.ts';
import { Trust } from '../src/trust.ts';

/** A real server: it answers at once, or when it is told to let its answers go. */
const held: ServerResponse[] = [];
let begun = 0;
let released = false;
const server = createServer((request, response) => {
  if (request.url !== '/held') {
    response.end('quick');
    return;
  }
  begun++;
  if (released) response.end('held');
  else held.push(response);
});
let url = '';

before(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
after(() => server.close());

function open(outcomes: Outcomes, depth: number): LaneRig {
  begun = 0;
  released = false;
  const trust = new Trust(depth, () => {});
  trust.import({ state: 'proven', depth, strikes: 0, brokenUntil: 0, closesAfter: 0 });
  const { hostname, host: address, protocol, port } = new URL(url);
  const host: ConnectionHost = {
    link: new Link(),
    trust,
    connect: done =>
      buildConnector({})(
        { hostname, host: address, protocol, port },
        done as Parameters<ReturnType<typeof buildConnector>>[1],
      ),
    createClient: socket => createClient(url, socket, {}),
    mayTry: () => true,
    isUrgent: () => false,
    hasIdle: () => false,
    isPressed: () => false,
    backlogMs: () => 0,
    idleMs: 10_000,
    maxRequests: Number.POSITIVE_INFINITY,
    maxResponseBytes: Number.POSITIVE_INFINITY,
    onRoom() {},
    putBack() {},
    requeue() {},
    settle: (call, failed, value, lane) => outcomes.settle(call, failed, value, lane),
    finished: (call, lane) => outcomes.finished(call, lane),
  };
  const lanes = new Set<Connection>();
  const handler = { onRequestStart() {}, onResponseError() {} };
  const nobody = { servername: '127.0.0.1', cancel() {}, onSettled() {} };
  const make = (path: string, headers = {}) =>
    new Exchange(nobody, { path, method: 'GET', headers }, handler);
  const kinds = {
    quick: () => make('/quick'),
    failing: () => make('/quick', { 'not a name': 'for a header' }),
    held: () => make('/held'),
  };
  return {
    placement: {
      window: null,
      createLane(id: number, events: LaneEvents) {
        const lane = new Connection(id, host, events);
        lanes.add(lane);
        return lane;
      },
      running: () => [...lanes].reduce((sum, lane) => sum + lane.running(), 0),
      handed: () => [...lanes].flatMap(lane => lane.handed()),
    },
    call: what => kinds[what](),
    begun: () => begun,
    release() {
      released = true;
      for (const response of held.splice(0)) response.end('held');
    },
    dispose() {},
  };
}

describe('the lane contract: connections', () => {
  for (const { name, run } of laneContract({ open })) it(name, { timeout: 30_000 }, run);
});
