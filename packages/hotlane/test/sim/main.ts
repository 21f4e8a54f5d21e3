/** `npm run sim -- --seed N --steps M`: one seed; `--seeds K`: so many from N on. */
import { parseArgs } from 'node:util';
import { simulate } from './simulation.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    seeds: { type: 'string', default: '1' },
    steps: { type: 'string', default: '10000' },
  },
});

function whole(name: 'seed' | 'seeds' | 'steps'): number {
  const value = Number(values[name]);
  if (Number.isInteger(value) && value >= 0) return value;
  console.error(`--${name}: expected a whole number, got ${values[name]}`);
  process.exit(2);
}

const [first, seeds, steps] = [whole('seed'), whole('seeds'), whole('steps')];
let [calls, lost] = [0, 0];
const began = performance.now();
for (let seed = first; seed < first + seeds; seed++) {
  const result = await simulate(seed, steps);
  calls += result.calls;
  lost += result.lanesLost;
  if (result.problem !== null) {
    console.error(`seed ${seed}, step ${result.steps}: ${result.problem}`);
    for (const line of result.trace) console.error(`  ${line}`);
    console.error(`again: npm run sim -- --seed ${seed} --steps ${steps}`);
    process.exit(1);
  }
}
const seconds = ((performance.now() - began) / 1_000).toFixed(1);
console.log(`${seeds} seeds, ${calls} calls, ${lost} lanes lost: all as it should be, in ${seconds} s`);
