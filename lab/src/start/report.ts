import { bytes, count, microseconds, range, times } from '../harness/format.ts';
import { type Column, renderTable } from '../harness/table.ts';
import { printCallTimes } from './jobs.ts';
import type { JobResult, WaySummary } from './run-job.ts';

const COLUMNS: readonly Column[] = [
  { title: 'way', align: 'left' },
  { title: 'calls' },
  { title: 'input' },
  { title: 'time' },
  { title: 'CPU/call' },
  { title: 'calls/s' },
  { title: 'min – max' },
  { title: 'over one thread' },
];

const milliseconds = (ms: number) => microseconds(ms * 1000);

export function renderJob(job: JobResult): string {
  const rows = job.ways.map(way => [
    way.way,
    way.calls.toLocaleString('en'),
    bytes(way.bytes),
    milliseconds(way.ms.median),
    milliseconds(way.cpuMs.median / way.calls),
    count(way.callsPerSecond.median),
    range(way.callsPerSecond.min, way.callsPerSecond.max, count),
    way.way === 'one thread' ? '' : printSpeedUp(way),
  ]);
  const notes = [
    `${job.about}.`,
    `${job.calls.toLocaleString('en')} of them were taken${job.sampled ? ' (a sample with a fixed seed, to keep within the time)' : ': all'}; ${printCallTimes(job.callUs)}.`,
    ...job.ways.map(({ way, settings }) => `${way}: ${settings}.`),
    job.sampleEvery === 1
      ? `One thread did all of it.`
      : `One thread did a sample; all of it would take it ${milliseconds(job.oneThreadMs)} (extrapolated).`,
    job.resultsEqual
      ? 'All results are equal (checksums).'
      : 'RESULTS DIFFER between the ways: these figures are void.',
  ];
  return `${job.title}\n${renderTable(COLUMNS, rows)}\n${notes.map(note => `  ${note}`).join('\n')}`;
}

/** @param tooNoisy then the figures stand, and no conclusion is drawn from them */
export function renderVerdict(jobs: readonly JobResult[], threads: number, tooNoisy: boolean): string {
  const rows = jobs.flatMap(job =>
    job.ways
      .filter(({ way }) => way !== 'one thread')
      .map(way => [
        job.title,
        microseconds(job.callUs.mean),
        way.way,
        printSpeedUp(way),
        tooNoisy ? 'cannot tell: noisy machine' : judge(way.speedUp),
      ]),
  );
  const columns: Column[] = [
    { title: 'verdict', align: 'left' },
    { title: 'a call takes on average' },
    { title: 'way', align: 'left' },
    { title: `on ${threads} cores, over one thread` },
    { title: 'worth handing over', align: 'left' },
  ];
  return `${renderTable(columns, rows)}\n${CONCLUSION}`;
}

/** What the jobs cannot show by themselves. */
const CONCLUSION = `Calls of milliseconds are worth handing over in any pool, and the pools hardly differ. What differs is what the
handing over itself costs, and that decides for calls of microseconds: npm run bench measures it.`;

/** Faster than one thread in every round, in none, or now so and now so. */
function judge({ min, max }: WaySummary['speedUp']): string {
  if (min > 1) return 'yes';
  return max > 1 ? 'not clear: slower in some rounds' : 'no: one thread is faster';
}

function printSpeedUp({ speedUp }: WaySummary): string {
  const spread = speedUp.values.length === 1 ? '' : ` (${range(speedUp.min, speedUp.max, times)})`;
  return `${times(speedUp.median)}${spread}`;
}
