import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { createPool, registerError } from 'hotlane';
import { ManyErrors, ValidationError } from './fixtures/errors.ts';
import { code, fixture, leavesNothingBehind, PLACEMENTS, tasksPool, until } from './support.ts';

leavesNothingBehind();

const caught = (promise: Promise<unknown>): Promise<any> =>
  promise.then(
    () => assert.fail('it should have been rejected'),
    error => error,
  );

/** The frames of a stack, and marks, each as the name of its function. */
function outline(stack: string): string[] {
  return stack
    .split('\n')
    .slice(1)
    .map(line => /── in lane|(?:async )?\w+(?= \()/.exec(line.trim().replace(/^at /, ''))?.[0] ?? '?');
}

for (const placement of PLACEMENTS) {
  describe(`a registered class of errors, ${placement}`, () => {
    it('arrives as itself, with its causes, accessors and own properties', async () => {
      await using pool = tasksPool({ placement });
      const error = await caught(pool.call.throwRegistered('plain'));
      assert.ok(error instanceof ValidationError && error instanceof TypeError);
      assert.equal(error.constructor, ValidationError);
      assert.equal(error.report, 'ValidationError: age');
      assert.equal(error.message, 'age is not valid');
      assert.ok(error.cause instanceof ValidationError);
      assert.deepEqual(Object.keys(error), ['field']);
    });

    it('stands for those that extend it, and keeps the errors of an AggregateError', async () => {
      await using pool = tasksPool({ placement });
      assert.equal((await caught(pool.call.throwRegistered('narrower'))).constructor, ValidationError);
      const many = await caught(pool.call.throwRegistered('many'));
      assert.equal(many.constructor, ManyErrors);
      assert.deepEqual(
        many.errors.map((error: Error) => error.constructor),
        [ValidationError, RangeError],
      );
    });

    it('goes to lanes too, as an argument', async () => {
      await using pool = tasksPool({ placement });
      const seen = await pool.call.lookAt(new ValidationError('name'));
      assert.deepEqual(seen, { class: true, report: 'ValidationError: name', own: ['field'] });
    });

    it('that nobody registered arrives as its built-in class, with name and properties', async () => {
      await using pool = tasksPool({ placement });
      const error = await caught(pool.call.throwRegistered('unregistered'));
      assert.equal(error.constructor, RangeError);
      assert.equal(error.name, 'Unregistered');
      assert.equal(error.code, 'E_UNREGISTERED');
    });
  });

  describe(`the stack of what a task throws, ${placement}`, () => {
    it('shows the task’s frames, then a mark with the lane, then who awaited the call', async () => {
      await using pool = tasksPool({ placement, lanes: 1 });
      async function inner(): Promise<void> {
        await pool.call.throwDeep('from afar');
      }
      async function outer(): Promise<void> {
        await inner();
      }
      const { stack } = await caught(outer());
      assert.match(stack, /^RangeError: from afar\n/);
      const mark = '── in lane';
      assert.deepEqual(outline(stack).slice(0, 5), [
        'deeper',
        'throwDeep',
        mark,
        'async inner',
        'async outer',
      ]);
      assert.match(stack, /── in lane 1, called from ──/);
      assert.match(stack, /fixtures\/tasks\.ts:\d+/);
      assert.match(stack, /errors\.test\.ts:\d+/);
    });

    it('does so for async tasks and Promise.all, and shows the lane alone when nobody awaits the call', async () => {
      await using pool = tasksPool({ placement, lanes: 1 });
      async function all(): Promise<void> {
        await Promise.all([pool.call.add(1, 1), pool.call.throwDeepLater('one of many')]);
      }
      const { stack } = await caught(all());
      assert.match(stack, /at throwDeepLater.*── in lane 1.*at async Promise\.all.*at async all /s);
      let seen: Error | undefined;
      pool.call.throwDeep('x').catch(error => {
        seen = error;
      });
      await until(() => seen !== undefined);
      assert.deepEqual(outline(seen!.stack!), ['deeper', 'throwDeep', '── in lane']);
      assert.match(seen!.stack!, /── in lane 1 ──$/);
    });

    it('leads errors of ours to who awaited the call, and leaves a signal’s reason alone', async () => {
      await using pool = tasksPool({ placement, lanes: 1, graceMs: 60_000 });
      async function waits(): Promise<void> {
        await pool.with({ deadlineMs: 5 }).later('x', 50);
      }
      const error = await caught(waits());
      assert.ok(code('DEADLINE')(error));
      assert.deepEqual(outline(error.stack).slice(0, 1), ['async waits']);
      const reason = new Error('mine');
      const { stack } = reason;
      const stop = new AbortController();
      const call = pool.with({ signal: stop.signal }).later('x', 50);
      stop.abort(reason);
      assert.equal(await caught(call), reason);
      assert.equal(reason.stack, stack);
    });
  });
}

describe('source maps', () => {
  it('are respected in lanes where the process turned them on by itself', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'hotlane-'));
    try {
      // The built file's first line comes from line 7, column 3 of the source.
      const map = { version: 3, sources: ['original.ts'], names: [], mappings: 'AAME' };
      const url = `data:application/json;base64,${Buffer.from(JSON.stringify(map)).toString('base64')}`;
      const built = `export const bad = () => { throw new RangeError('built') };\n//# sourceMappingURL=${url}\n`;
      writeFileSync(join(folder, 'built.mjs'), built);
      const main = `
        import { createPool } from 'hotlane';
        process.setSourceMapsEnabled(true);
        const pool = createPool(${JSON.stringify(join(folder, 'built.mjs'))});
        await pool.call.bad().catch(error => console.log(error.stack));
        await pool.close();`;
      const flags = ['--conditions=hotlane-source', '--input-type=module', '-e', main];
      const output = execFileSync(process.execPath, flags, { encoding: 'utf8', cwd: import.meta.dirname });
      assert.match(output, /original\.ts:7:3/);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

describe('registerError', () => {
  it('refuses what is no class of errors, and a name that another class has; says what to do', () => {
    class Other extends Error {}
    for (const bad of [undefined, {}, () => {}, Map, class {}]) {
      assert.throws(() => registerError(bad as never), code('OPTION', /expected a class that extends Error/));
    }
    assert.throws(() => registerError(Other, { name: '' }), code('OPTION', /a name of one letter/));
    assert.throws(
      () => registerError(Other, { name: 'ValidationError' }),
      code('OPTION', /another class is registered as `ValidationError`.*another name/),
    );
    registerError(ValidationError);
    assert.throws(
      () => registerError(ValidationError, { name: 'Second' }),
      code('OPTION', /registered already, as `ValidationError`/),
    );
  });

  it('on one side only does no harm: the other gets the built-in class', async () => {
    await using pool = createPool(fixture('tasks.ts'), { lanes: 1 });
    class OnlyHere extends SyntaxError {}
    registerError(OnlyHere);
    assert.deepEqual(await pool.call.lookAt(new OnlyHere('x')), { class: false, report: undefined, own: [] });
  });
});
