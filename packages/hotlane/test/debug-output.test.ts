import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { fixture } from './support.ts';

type Variables = Readonly<Record<string, string | undefined>>;

async function stderrWith(variables: Variables): Promise<string[]> {
  const { NODE_DEBUG: _1, HOTLANE_DEBUG: _2, ...env } = process.env;
  const program = fileURLToPath(fixture('debugged.mjs'));
  const { stderr } = await promisify(execFile)(process.execPath, ['--conditions=hotlane-source', program], {
    env: { ...env, ...variables },
  });
  return stderr.split('\n').filter(line => line !== '');
}

/** What a line must look like, times and the process's number left open. */
const line = (text: string) =>
  new RegExp(
    `^HOTLANE \\d+: ${text.replaceAll(/[().]/g, '\\$&').replaceAll('TIME', '\\d+ ms').replaceAll('…', '.*')}$`,
  );

const LIFE = [
  'pool 1 (tasks.ts) made, placement thread, lanes 1, concurrency 1',
  'pool 1 (tasks.ts) lane 1 starting',
  'pool 1 (tasks.ts) lane 1 up after TIME',
  'pool 1 (tasks.ts) lane 2 starting, recycles lane 1',
  'pool 1 (tasks.ts) lane 2 up after TIME',
  'pool 1 (tasks.ts) lane 1 draining after TIME, 1 call',
  'pool 1 (tasks.ts) lane 1 ended after TIME, 1 call',
  'pool 1 (tasks.ts) lane 2 draining after TIME, 0 calls',
  'pool 1 (tasks.ts) lane 2 ended after TIME, 0 calls',
  'pool 2 (not-there.ts) made, placement thread, lanes …, concurrency 1',
  'pool 2 (not-there.ts) lane 1 starting',
  'pool 2 (not-there.ts) lane 1 draining after TIME, 0 calls: HotlaneError: Cannot find the task module…',
  'pool 2 (not-there.ts) a lane could not start, next try in 100 ms: HotlaneError: Cannot find the task module…',
  'pool 2 (not-there.ts) lane 1 ended after TIME, 0 calls: HotlaneError: Cannot find the task module…',
];

describe('the debug output', () => {
  for (const variables of [
    { HOTLANE_DEBUG: '1' },
    { NODE_DEBUG: 'hotlane' },
    { NODE_DEBUG: 'net,hotlane' },
  ]) {
    it(`tells the life of lanes, a line each, with ${JSON.stringify(variables)}`, async () => {
      const lines = (await stderrWith(variables)).filter(text => text.startsWith('HOTLANE'));
      assert.equal(lines.length, LIFE.length, lines.join('\n'));
      for (const [i, expected] of LIFE.entries()) assert.match(lines[i], line(expected));
    });
  }

  it('says nothing unless asked to', async () => {
    for (const variables of [{}, { HOTLANE_DEBUG: '0' }, { NODE_DEBUG: 'net' }] as Variables[]) {
      const lines = await stderrWith(variables);
      assert.deepEqual(
        lines.filter(text => text.includes('HOTLANE')),
        [],
      );
    }
  });
});
