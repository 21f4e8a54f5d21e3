import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import * as hotlane from 'hotlane';
import * as lanes from 'hotlane/lanes';
import * as modules from 'hotlane/modules';
import * as testing from 'hotlane/testing';
import * as webWorker from 'hotlane/web-worker';
import * as worker from 'hotlane/worker';

const root = join(import.meta.dirname, '..');

describe('the public surface', () => {
  it('is what it was: values', () => {
    assert.deepEqual(Object.keys(hotlane).sort(), [
      'HotlaneError',
      'callback',
      'createPool',
      'isHotlaneError',
      'registerError',
      'registerStorage',
    ]);
    assert.deepEqual(Object.keys(webWorker), ['expose']);
    assert.deepEqual(Object.keys(modules).sort(), ['loadTasks', 'resolveModule']);
    assert.deepEqual(Object.keys(lanes).sort(), [
      'Call',
      'Fleet',
      'KeepAlive',
      'NOWHERE',
      'Scheduler',
      'clock',
    ]);
    assert.deepEqual(Object.keys(worker).sort(), ['context', 'registerError', 'registerStorage']);
    assert.deepEqual(Object.keys(testing).sort(), [
      'Random',
      'SimClock',
      'SimPlacement',
      'callContract',
      'laneContract',
    ]);
    assert.deepEqual(Object.keys(worker.context).sort(), ['aborted', 'laneId', 'signal', 'transfer']);
  });

  it('is the same in browsers', () => {
    const exportsOf = (file: string) =>
      [...readFileSync(join(root, file), 'utf8').matchAll(/^export .*?(?: from '.*?'|\()/gms)].map(
        ([text]) => text,
      );
    const here = exportsOf('src/index.ts').filter(text => !text.includes('ModuleReference'));
    assert.deepEqual(exportsOf('src/index.browser.ts').sort(), here.sort());
  });

  it('is what it was: types', () => {
    const index = ['src/index.ts', 'src/exports.ts']
      .map(file => readFileSync(join(root, file), 'utf8'))
      .join('\n');
    const exported = [...index.matchAll(/^export (?:type )?\{([^}]*)\}/gm)]
      .flatMap(([, names]) => names.split(','))
      .map(name => name.replace('type', '').trim())
      .filter(name => name !== '' && !(name in hotlane));
    assert.deepEqual(exported.sort(), [
      'Argument',
      'Arguments',
      'Broadcasts',
      'CallOptions',
      'Callback',
      'CallbackOptions',
      'Calls',
      'ContextStorage',
      'ErrorClass',
      'ErrorCode',
      'FunctionNames',
      'Key',
      'LaneOptions',
      'LaneState',
      'MapOptions',
      'MapOutcome',
      'ModuleReference',
      'NotCloneable',
      'Pool',
      'PoolOptions',
      'PoolStats',
      'RecycleOptions',
      'Remote',
      'ResultStream',
      'StreamOptions',
      'Streams',
      'SyncCalls',
      'SyncOptions',
      'TaskModule',
      'WebWorker',
    ]);
  });

  it('of a pool is what it was', async () => {
    await using pool = hotlane.createPool(new URL('./fixtures/tasks.ts', import.meta.url));
    const methods = Object.getOwnPropertyNames(Object.getPrototypeOf(pool));
    for (const name of ['with', 'syncWith', 'streamWith', 'map', 'ready', 'stats', 'close', 'destroy'])
      assert.ok(methods.includes(name), name);
    assert.deepEqual(Object.keys(pool).sort(), ['broadcast', 'call', 'stream', 'sync']);
  });

  it('packs what it names, and nothing of the tests', () => {
    const [packed] = JSON.parse(
      execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
        cwd: root,
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'ignore'],
      }),
    );
    const files: string[] = packed.files.map((file: { path: string }) => file.path);
    for (const needed of [
      'dist/index.js',
      'dist/index.d.ts',
      'dist/worker/index.js',
      'dist/place/thread-entry.bundle.js',
      'dist/testing/index.js',
      'dist/testing/contract-tasks.js',
      'package.json',
      'LICENSE',
      'README.md',
    ]) {
      assert.ok(files.includes(needed), `${needed} is missing`);
    }
    assert.deepEqual(
      files.filter(name => /(^|\/)test\/|tsbuildinfo/.test(name)),
      [],
    );
  });
});
