import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { it } from 'node:test';
import * as http from '@hotlane/http';

it('the public surface of @hotlane/http is what it was', () => {
  assert.deepEqual(Object.keys(http), ['Hotline']);
  const index = readFileSync(new URL('../src/index.ts', import.meta.url), 'utf8');
  const names = [...index.matchAll(/^export (?:type )?\{([^}]*)\}/gm)].flatMap(([, list]) => list.split(','));
  assert.deepEqual(names.map(name => name.replace('type', '').trim()).sort(), [
    'ConnectionMessage',
    'Hotline',
    'HotlineOptions',
    'HotlineStats',
    'OriginStats',
    'RequestHints',
    'RequestOptions',
    'RetryMessage',
    'TrustMessage',
    'TrustRecord',
    'TrustState',
  ]);
});
