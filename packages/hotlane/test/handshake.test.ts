import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { greeting, PROTOCOL, refuseGreeting } from '../src/transport/handshake.ts';
import { code } from './support.ts';

describe('a lane’s greeting', () => {
  it('of the same version is taken, with capabilities that the host does not know', () => {
    assert.equal(refuseGreeting(1, greeting), null);
    assert.equal(refuseGreeting(1, { protocol: PROTOCOL, capabilities: ['of tomorrow'] }), null);
  });

  it('of another version, or of none, is refused with an error that names both', () => {
    const wanted = new RegExp(`Lane 3 speaks version 7 .* speaks version ${PROTOCOL}`);
    assert.ok(code('PROTOCOL', wanted)(refuseGreeting(3, { protocol: 7, capabilities: [] })));
    for (const said of [undefined, null, 'up', {}, { protocol: PROTOCOL }]) {
      assert.ok(code('PROTOCOL', /Both sides must come from one version/)(refuseGreeting(3, said)));
    }
  });
});
