import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { credentials, ServerCredentials, status } from '@grpc/grpc-js';
import { makeCertificates } from './kit/certificates.ts';
import type { ProbeClient } from './kit/client.ts';
import { type Credentials, fixture, serve } from './kit/serve.ts';

const made = makeCertificates();
const skip = made === undefined && 'there is no openssl here';

/** @param asks whether the server asks for the client's certificate. The client has one to show only then */
function keys(asks: boolean): Credentials {
  const { authority, server, client } = made!;
  return {
    server: ServerCredentials.createSsl(authority, [server], asks),
    client: asks
      ? credentials.createSsl(authority, client.private_key, client.cert_chain)
      : credentials.createSsl(authority),
  };
}

/** What handlers of all four kinds are told of the client. */
async function toldBy(client: ProbeClient, lane: number): Promise<string[]> {
  const outcomes = [
    await client.ask({}),
    await client.add([{}]),
    await client.count({}),
    await client.chat([]),
  ];
  return outcomes.map(({ answer, answers, code, details }) => {
    assert.equal(code, status.OK, details);
    const given = answer ?? answers[0];
    assert.equal(given?.lane, lane);
    return given!.text;
  });
}

async function told(t: TestContext, asks: boolean): Promise<string[]> {
  const options = {
    handlers: fixture('auth-handlers.ts'),
    credentials: keys(asks),
    client: { 'grpc.ssl_target_name_override': 'server.test' },
  };
  const inline = await toldBy((await serve(t, { ...options, mode: 'inline' })).client, 0);
  assert.deepEqual(await toldBy((await serve(t, options)).client, 1), inline);
  return inline;
}

test('over mutual TLS handlers of all kinds know the client by its certificate, as inline', {
  skip,
}, async t => {
  const [text] = await told(t, true);
  assert.match(text!, /transportSecurityType: 'ssl'/);
  assert.match(text!, /raw: <Buffer/);
  assert.match(text!, /CN: 'client'/);
  assert.match(text!, /spiffe:\/\/hotlane\.test\/client/);
});

test('over TLS with a client that shows no certificate they know nothing of it, as inline', {
  skip,
}, async t => {
  assert.deepEqual(new Set(await told(t, false)), new Set(['{}']));
});
