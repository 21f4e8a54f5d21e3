import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  ResponderBuilder,
  ServerInterceptingCall,
  type ServerInterceptor,
  ServerListenerBuilder,
  status,
} from '@grpc/grpc-js';
import { Turn } from '../src/turn.ts';
import { serve } from './kit/serve.ts';

test('what comes up in one turn is done together after it, in order', async () => {
  const turn = new Turn();
  const done: string[] = [];
  const add = (what: string) => turn.add(() => void done.push(what));
  add('a');
  await Promise.resolve(); // still the same turn
  add('b');
  turn.add(() => add('for the next'));
  assert.deepEqual(done, []);
  await new Promise(resolve => setImmediate(resolve));
  assert.deepEqual(done, ['a', 'b']);
  await new Promise(resolve => setImmediate(resolve));
  assert.deepEqual(done, ['a', 'b', 'for the next']);
});

test('what was done early is not done again', async () => {
  const turn = new Turn();
  let times = 0;
  turn.add(() => times++);
  turn.flush();
  assert.equal(times, 1);
  turn.add(() => times++);
  await new Promise(resolve => setImmediate(resolve));
  assert.equal(times, 2);
});

test('a call that came in the turn in which the service is closed is served, the next refused', async t => {
  let close = () => {};
  const closing: ServerInterceptor = (_, call) => {
    const listener = new ServerListenerBuilder()
      .withOnReceiveHalfClose(next => {
        next(); // the handler has the call
        close();
      })
      .build();
    const responder = new ResponderBuilder().withStart(next => next(listener)).build();
    return new ServerInterceptingCall(call, responder);
  };
  const { client, service } = await serve(t, { server: { interceptors: [closing] } as object });
  await client.ask({});
  close = () => void service.close();
  const outcomes = [await client.ask({ text: 'echo' }), await client.ask({ text: 'echo' })];
  assert.deepEqual(
    outcomes.map(({ code }) => code),
    [status.OK, status.UNAVAILABLE],
  );
});

test('of a connection that is gone at the end of the turn nothing is asked any more', async t => {
  let gone = false;
  class Call extends ServerInterceptingCall {
    override getPeer(): string {
      if (gone) throw new Error('the socket is gone');
      return super.getPeer();
    }
  }
  const leaving: ServerInterceptor = (_, call) => {
    const listener = new ServerListenerBuilder()
      .withOnReceiveHalfClose(next => {
        next(); // the handler has the call
        gone = true;
      })
      .build();
    return new Call(call, new ResponderBuilder().withStart(next => next(listener)).build());
  };
  const { client } = await serve(t, { server: { interceptors: [leaving] } as object });
  assert.equal((await client.ask({ text: 'echo' })).code, status.OK);
});
