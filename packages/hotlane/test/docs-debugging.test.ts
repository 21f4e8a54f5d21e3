/** What docs/guide/debugging.md promises of Node's own tools. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { Debuggee, type Thread } from './docs-inspector.ts';
import { fixture } from './support.ts';

const TIMEOUT = { timeout: 60_000 };
const tasks = fixture('tasks.ts');

function program(body: string): string[] {
  const text = `
    import { createPool } from 'hotlane';
    const tasks = ${JSON.stringify(tasks.href)};
    ${body}`;
  return ['--conditions=hotlane-source', '--input-type=module', '--eval', text];
}

async function debug(
  t: TestContext,
  body: string,
  onThread: (thread: Thread) => Promise<unknown>,
): Promise<Debuggee> {
  const debuggee = await Debuggee.start(program(body), onThread, t.signal);
  t.after(() => debuggee.kill());
  return debuggee;
}

describe('a debugger', () => {
  it('sees each lane as a thread with its name, and can evaluate in it', TIMEOUT, async t => {
    const titles: string[] = [];
    const values: string[] = [];
    const debuggee = await debug(
      t,
      `const pool = createPool(tasks, { lanes: 2 });
      await pool.broadcast.add(1, 2);
      console.log('done');`,
      async ({ title, session }) => {
        titles.push(title);
        const expression = 'process.getBuiltinModule("worker_threads").threadName';
        const { result } = await session.send('Runtime.evaluate', { expression });
        values.push(result.value);
      },
    );
    await debuggee.end('done');
    assert.deepEqual(titles.sort(), ['[worker 1] hotlane 1', '[worker 2] hotlane 2']);
    assert.deepEqual(values.sort(), ['hotlane 1', 'hotlane 2']);
  });

  it('can pause a lane in a task, look at it and let it go on: every call settles', TIMEOUT, async t => {
    const line = readFileSync(tasks, 'utf8')
      .split('\n')
      .findIndex(text => text.startsWith('export function add('));
    const { promise: lane, resolve: onLane } = Promise.withResolvers<Thread>();
    const { promise: atBreakpoint, resolve: onBreakpoint } = Promise.withResolvers<any[]>();
    const debuggee = await debug(
      t,
      `const pool = createPool(tasks, { lanes: 1 });
      const calls = Array.from({ length: 20 }, (_, i) => pool.call.add(i, 100));
      console.log((await Promise.all(calls)).join(' '), pool.stats().failed);`,
      async thread => {
        onLane(thread);
        // A debugger that waits for threads has each of them paused at its first line, too.
        thread.session.events.on('Debugger.paused', ({ callFrames, hitBreakpoints }) => {
          if (hitBreakpoints.length > 0) onBreakpoint(callFrames);
          else void thread.session.send('Debugger.resume');
        });
        await thread.session.send('Debugger.enable');
        await thread.session.send('Debugger.setBreakpointByUrl', {
          urlRegex: '/fixtures/tasks\\.ts$',
          lineNumber: line + 1,
        });
      },
    );
    const { session } = await lane;
    const callFrames = await atBreakpoint;
    assert.equal(callFrames[0].functionName, 'add');
    const { result } = await session.send('Debugger.evaluateOnCallFrame', {
      callFrameId: callFrames[0].callFrameId,
      expression: 'a + b',
    });
    assert.equal(result.value, 100);
    await session.send('Debugger.disable');
    const sums = Array.from({ length: 20 }, (_, i) => i + 100).join(' ');
    assert.equal((await debuggee.end(' 0\n')).trim(), `${sums} 0`);
  });
});

describe('--cpu-prof', () => {
  it('writes a profile for each lane, with the functions that it ran', TIMEOUT, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'hotlane-prof-'));
    try {
      const args = program(`
        const pool = createPool(tasks, { lanes: 1 });
        await pool.call.block(100);
        await pool.close();`);
      await promisify(execFile)(process.execPath, ['--cpu-prof', `--cpu-prof-dir=${folder}`, ...args]);
      const functions = readdirSync(folder).map(name => {
        const { nodes } = JSON.parse(readFileSync(join(folder, name), 'utf8'));
        return nodes.map((node: any) => `${node.callFrame.functionName} ${node.callFrame.url}`);
      });
      assert.equal(functions.length, 2);
      const ofTasks = functions.filter(names => names.includes(`block ${tasks.href}`));
      assert.equal(ofTasks.length, 1, 'the lane ran it, the host did not');
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

describe('a heap snapshot of a lane', () => {
  it('is written by the lane, when it is asked to', TIMEOUT, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'hotlane-heap-'));
    try {
      const args = program(`
        const pool = createPool('node:v8', { lanes: 1 });
        console.log(await pool.call.writeHeapSnapshot(${JSON.stringify(join(folder, 'lane.heapsnapshot'))}));
        await pool.close();`);
      const { stdout } = await promisify(execFile)(process.execPath, args);
      const { snapshot } = JSON.parse(readFileSync(stdout.trim(), 'utf8'));
      assert.ok(snapshot.node_count > 1_000);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
