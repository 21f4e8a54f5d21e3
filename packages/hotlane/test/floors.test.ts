import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { describe, it } from 'node:test';

const src = join(import.meta.dirname, '../src');

/** Floors from the top; a file imports only from floors below its own, or from its own. */
/** What tests and adapters build on stands above the pool. */
const FLOORS = [
  'testing',
  'pool',
  'place',
  'fleet',
  'schedule',
  'transport',
  'worker',
  'lane',
  'options',
  'call',
  'errors',
];
/** Nothing of Node or the DOM on these: platforms are given to them. */
const PURE = ['fleet', 'schedule', 'transport', 'worker', 'lane', 'options', 'call', 'errors', 'pool'];
/** Files at the top of src that are part of the pool's floor. */
const POOL_FILES = [
  'pool.ts',
  'map.ts',
  'pool-type.ts',
  'ready.ts',
  'refusals.ts',
  'results.ts',
  'talk.ts',
  'cancel.ts',
  'carry.ts',
  'call-object.ts',
  'stack.ts',
  'types.ts',
  'index.ts',
  'exports.ts',
  'index.browser.ts',
  'web-worker.ts',
  'lanes.ts',
  'modules.ts',
];

const files = readdirSync(src, { recursive: true, encoding: 'utf8' })
  .filter(name => name.endsWith('.ts'))
  .map(name => join(src, name));

function floorOf(file: string): string {
  const [first] = relative(src, file).split(/[\\/]/);
  return POOL_FILES.includes(first) ? 'pool' : first.replace(/\.ts$/, '');
}

function importsOf(file: string): string[] {
  return [
    ...readFileSync(file, 'utf8').matchAll(/^(?:import|export)\b[^;]*?from '([^']+)'|^import '([^']+)'/gm),
  ].map(([, from, bare]) => from ?? bare);
}

describe('the floors of the core', () => {
  it('know every file', () => {
    for (const file of files)
      assert.ok(FLOORS.includes(floorOf(file)), `${relative(src, file)} is on no floor`);
  });

  it('are imported from above only', () => {
    for (const file of files) {
      for (const name of importsOf(file).filter(name => name.startsWith('.'))) {
        const target = resolve(dirname(file), name);
        const [from, to] = [FLOORS.indexOf(floorOf(file)), FLOORS.indexOf(floorOf(target))];
        assert.ok(to >= from, `${relative(src, file)} imports ${relative(src, target)}, a floor above`);
      }
    }
  });

  it('do not go round in circles', () => {
    const done = new Set<string>();
    const visit = (file: string, path: string[]): void => {
      assert.ok(
        !path.includes(file),
        `circle: ${[...path, file].map(name => relative(src, name)).join(' → ')}`,
      );
      if (done.has(file)) return;
      const text = readFileSync(file, 'utf8');
      for (const name of importsOf(file)) {
        if (!name.startsWith('.')) continue;
        // Types alone are gone at run time: lane.ts and call.ts may speak of each other.
        if (new RegExp(`^(?:import|export) type [^;]*from '${name.replaceAll('.', '\\.')}'`, 'm').test(text))
          continue;
        visit(resolve(dirname(file), name), [...path, file]);
      }
      done.add(file);
    };
    for (const file of files) visit(file, []);
  });

  it('below `place` import nothing of Node', () => {
    for (const file of files.filter(
      name => PURE.includes(floorOf(name)) && !/(index|modules)\.ts$/.test(name),
    )) {
      const foreign = importsOf(file).filter(name => !name.startsWith('.'));
      assert.deepEqual(foreign, [], relative(src, file));
    }
  });

  it('have no dependency from outside', () => {
    const manifest = JSON.parse(readFileSync(join(src, '../package.json'), 'utf8'));
    assert.equal(manifest.dependencies, undefined);
    for (const file of files) {
      for (const name of importsOf(file)) assert.match(name, /^(\.|node:)/, relative(src, file));
    }
  });
});
