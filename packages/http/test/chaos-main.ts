/** `chaos-main.ts --from S --seeds N`: so many seeds from S on; `--subject pool` shows how undici fares, `--keep-going` how often. */
import { parseArgs } from 'node:util';
import type { Dispatcher } from 'undici';
import { addCounts, noCounts, report, runSeeds } from './kit/chaos.ts';
import { POLICIES, type PolicyName } from './kit/script.ts';
import { chaosSubject, pipeliningPool } from './kit/subject.ts';

const { values } = parseArgs({
  options: {
    from: { type: 'string', default: '1' },
    seeds: { type: 'string', default: '100' },
    requests: { type: 'string', default: '24' },
    'at-once': { type: 'string', default: '24' },
    policy: { type: 'string' },
    subject: { type: 'string', default: 'hotline' },
    'keep-going': { type: 'boolean', default: false },
  },
});

function whole(name: 'from' | 'seeds' | 'requests' | 'at-once'): number {
  const value = Number(values[name]);
  if (Number.isInteger(value) && value >= 0) return value;
  console.error(`--${name}: expected a whole number, got ${values[name]}`);
  process.exit(2);
}

const SUBJECTS: Record<string, (origin: string) => Dispatcher> = {
  hotline: chaosSubject,
  pool: pipeliningPool,
};

if (values.policy !== undefined && !(values.policy in POLICIES)) {
  console.error(`--policy: expected one of ${Object.keys(POLICIES).join(', ')}, got ${values.policy}`);
  process.exit(2);
}
const makeDispatcher = SUBJECTS[values.subject];
if (makeDispatcher === undefined) {
  console.error(`--subject: expected one of ${Object.keys(SUBJECTS).join(', ')}, got ${values.subject}`);
  process.exit(2);
}

const [from, seeds] = [whole('from'), whole('seeds')];
const sum = noCounts();
const broken: Record<string, number> = {};
let done = 0;
let failed = 0;
let shown = performance.now();
const options = {
  makeDispatcher,
  requests: whole('requests'),
  ...(values.policy !== undefined && { policy: values.policy as PolicyName }),
};
function* numbers() {
  for (let seed = from; seed < from + seeds; seed++) if (failed === 0 || values['keep-going']) yield seed;
}
await runSeeds(numbers(), whole('at-once'), options, result => {
  done++;
  addCounts(sum, result.counts);
  if (result.violations.length > 0) {
    failed++;
    console.error(report(result));
    for (const rule of new Set(result.violations.map(violation => violation.rule))) {
      broken[`${result.policy} ${rule}`] = (broken[`${result.policy} ${rule}`] ?? 0) + 1;
    }
  }
  if (performance.now() - shown < 2_000) return;
  shown = performance.now();
  console.error(`${done} of ${seeds} seeds, ${failed} failed`);
});
console.log(`${done} seeds, ${failed} failed: ${JSON.stringify(sum)}`);
if (failed > 0) console.log(broken);
process.exitCode = failed > 0 ? 1 : 0;
