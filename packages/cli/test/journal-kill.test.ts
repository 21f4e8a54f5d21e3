import assert from 'node:assert/strict';
import { existsSync, readFileSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Cli, makeFolder, makeGate, tasks } from './cli.ts';

/** Whole results in the journal, by input and which time it came. */
function heldIn(path: string): Map<string, unknown> {
  if (!existsSync(path)) return new Map();
  const lines = readFileSync(path, 'utf8').split('\n').slice(1, -1);
  return new Map(
    lines.map(line => JSON.parse(line)).map(({ nth, input, value }) => [`${nth} ${input}`, value]),
  );
}

test('killed with SIGKILL again and again, a run gets done: nothing that the journal held is run again, and nothing is missing', async t => {
  const gate = makeGate(t);
  const cwd = makeFolder(t);
  const path = join(cwd, 'j');
  const inputs = Array.from({ length: 400 }, (_, i) => `${i % 300}`); // a hundred of them twice
  const args = ['map', tasks('unique'), '--lanes', '2', '--journal', 'j', '-'];
  let kills = 0;
  for (;;) {
    const held = heldIn(path);
    const startedBefore = gate.started().length;
    const cli = new Cli(args, { cwd, env: gate.env, stdin: `${inputs.join('\n')}\n` });
    let over = false;
    void cli.ended.then(() => {
      over = true;
    });
    const enough = held.size + 60;
    while (!over && heldIn(path).size < enough) await new Promise(resolve => setTimeout(resolve, 5));
    cli.child.kill('SIGKILL');
    const { code, results, stderr } = await cli.ended;
    assert.equal(cli.leftBehind(), false);

    // Of each input as many calls as the journal had not.
    const open = new Map<string, number>();
    for (const input of inputs) open.set(input, (open.get(input) ?? 0) + 1);
    for (const key of held.keys()) {
      const input = key.split(' ')[1]!;
      open.set(input, open.get(input)! - 1);
    }
    for (const input of gate.started().slice(startedBefore)) {
      open.set(input, open.get(input)! - 1);
      assert.ok(open.get(input)! >= 0, `${input} was run again, after ${kills} kills`);
    }
    if (code === null) {
      kills++;
      // What a kill in the middle of a write leaves: the end of a line is missing.
      if (kills % 2 === 1) truncateSync(path, readFileSync(path).length - 5);
      continue;
    }

    assert.equal(code, 0, stderr);
    assert.deepEqual(
      results.map(r => r.input),
      inputs,
    );
    const nths = new Map<string, number>();
    for (const { input, value } of results) {
      const nth = (nths.get(input) ?? 0) + 1;
      nths.set(input, nth);
      const key = `${nth} ${input}`;
      assert.deepEqual(value, heldIn(path).get(key), key);
      if (held.has(key)) assert.deepEqual(value, held.get(key), key);
    }
    assert.equal(new Set(results.map(r => r.value.call)).size, inputs.length, 'two inputs have one call');
    break;
  }
  assert.ok(kills >= 3, `${kills} kills`);
});
