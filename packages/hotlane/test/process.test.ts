import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { fixture, PLACEMENTS } from './support.ts';

/** What a whole process does: programs of their own. */
async function run(body: string, ...flags: string[]): Promise<string> {
  const program = `
    import { createPool } from 'hotlane';
    const tasks = ${JSON.stringify(fixture('tasks.ts').href)};
    ${body}`;
  const args = ['--conditions=hotlane-source', ...flags, '--input-type=module', '--eval', program];
  const { stdout } = await promisify(execFile)(process.execPath, args, {
    cwd: import.meta.dirname,
    timeout: 30_000,
  });
  return stdout.trim();
}

for (const placement of PLACEMENTS) {
  describe(`a process with a pool, ${placement}`, () => {
    it('ends by itself when nothing is in flight, although the pool is not closed', async () => {
      const out = await run(`
        const pool = createPool(tasks, { placement: '${placement}', lanes: 2 });
        console.log(await pool.call.add(1, 2));`);
      assert.equal(out, '3');
    });

    it('stays until calls in flight are answered, although nothing else holds it', async () => {
      const out = await run(`
        const pool = createPool(tasks, { placement: '${placement}' });
        pool.call.later('answered', 150).then(console.log);`);
      assert.equal(out, 'answered');
    });

    it('stays until a call that waits for a lane to start has failed', async () => {
      const out = await run(`
        const pool = createPool('./no-such-file.js', { placement: '${placement}' });
        pool.call.add(1, 2).catch(error => console.log(error.code));`);
      assert.equal(out, 'ERR_HOTLANE_LANE_START');
    });

    it('ends by itself after a call whose transfer was refused', async () => {
      const out = await run(`
        const pool = createPool(tasks, { placement: '${placement}' });
        await pool.with({ transfer: [{}] }).echo(1).catch(error => console.log(error.code));`);
      assert.equal(out, 'ERR_HOTLANE_NOT_CLONEABLE');
    });

    it('ends by itself after cancelled calls, although their functions go on', async () => {
      const out = await run(`
        const pool = createPool(tasks, { placement: '${placement}', lanes: 1, graceMs: Infinity });
        await pool.call.add(1, 2);
        await pool.with({ deadlineMs: 20 }).later('x', 100).catch(error => console.log(error.code));`);
      assert.equal(out, 'ERR_HOTLANE_DEADLINE');
    });
  });
}

describe('a process that waits for close()', () => {
  it('stays until a cancelled call’s function has returned', async () => {
    const out = await run(`
      const pool = createPool(tasks, { lanes: 1 });
      await pool.call.add(1, 2);
      await pool.with({ deadlineMs: 20 }).later('x', 200).catch(() => {});
      await pool.close();
      console.log('closed');`);
    assert.equal(out, 'closed');
  });

  it('stays for calls that come after a lost lane', async () => {
    const out = await run(`
      const pool = createPool(tasks, { lanes: 1 });
      for (let i = 0; i < 3; i++) {
        await pool.call.exit(1).catch(() => {});
        await pool.call.block(5);
      }
      console.log(await pool.call.add(1, 2));`);
    assert.equal(out, '3');
  });
});

describe('an idle pool', () => {
  it('burns next to no CPU, host and lanes together', async () => {
    // Not a time but an amount: CPU milliseconds in two seconds in which nothing is to be done.
    const out = await run(`
      const pool = createPool(tasks, { lanes: 2 });
      await Promise.all(Array.from({ length: 50_000 }, (_, i) => pool.call.add(i, 1)));
      const wait = ms => new Promise(resolve => setTimeout(resolve, ms));
      await wait(300);
      const before = process.cpuUsage();
      await wait(2_000);
      const { user, system } = process.cpuUsage(before);
      console.log((user + system) / 1_000);
      await pool.close();`);
    assert.ok(Number(out) < 60, `${out} ms of CPU in 2 s`);
  });

  it('lets timers in its lanes tick on', async () => {
    const out = await run(`
      const pool = createPool(tasks, { lanes: 1 });
      await pool.call.startTicking(10);
      const before = await pool.call.ticksSoFar();
      await new Promise(resolve => setTimeout(resolve, 1_000));
      console.log(await pool.call.ticksSoFar() - before);
      await pool.close();`);
    assert.ok(Number(out) >= 30, `${out} ticks of a 10 ms interval in 1 s`);
  });

  it('lets timers tick on in a lane that is never idle', async () => {
    const out = await run(`
      const pool = createPool(tasks, { lanes: 1 });
      await pool.call.startTicking(10);
      const before = await pool.call.ticksSoFar();
      const end = performance.now() + 1_000;
      let n = 0;
      await Promise.all(Array.from({ length: 64 }, async () => { while (performance.now() < end) await pool.call.add(n++, 1); }));
      console.log(await pool.call.ticksSoFar() - before);
      await pool.close();`);
    assert.ok(Number(out) >= 20, `${out} ticks of a 10 ms interval in 1 s`);
  });
});

describe('a process that forbids code from strings', () => {
  it('reads objects all the same', async () => {
    const program = fileURLToPath(fixture('prints-object.mjs'));
    const flags = ['--conditions=hotlane-source', '--disallow-code-generation-from-strings'];
    const { stdout } = await promisify(execFile)(process.execPath, [...flags, program], { timeout: 30_000 });
    assert.equal(stdout.trim(), '{"id":299,"tags":["a",{"b":null}]}');
  });
});
