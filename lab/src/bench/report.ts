import type { Control, NoiseVerdict } from '../harness/control.ts';
import { count, microseconds, range, times } from '../harness/format.ts';
import { type Column, renderTable } from '../harness/table.ts';
import type { Workload } from '../workloads/workload.ts';
import { type BarResult, type CellSummary, type Ratio, SUBJECT } from './results.ts';

/** Everything that the printed report is made from. */
export interface BenchReport {
  readonly workloads: Readonly<Record<string, Workload>>;
  /** Name on command lines to name and settings in tables. */
  readonly contenders: Readonly<Record<string, { readonly name: string; readonly settings: string }>>;
  readonly cells: readonly CellSummary[];
  readonly ratios: readonly Ratio[];
  readonly bars: readonly BarResult[];
  readonly before: Control;
  readonly after: Control;
  readonly noise: NoiseVerdict;
}

const COLUMNS: readonly Column[] = [
  { title: 'contender', align: 'left' },
  { title: 'calls/s' },
  { title: 'min – max' },
  { title: 'p50' },
  { title: 'p99' },
  { title: 'CPU/call' },
  { title: 'hotlane is faster by' },
];

export function renderReport(report: BenchReport): string {
  const parts = [
    ...renderWorkloads(report),
    renderLosses(report),
    renderBars(report),
    renderFailures(report),
  ];
  const settings = Object.values(report.contenders).map(({ name, settings }) => `  ${name}: ${settings}`);
  parts.push(`Contenders\n${settings.join('\n')}`);
  parts.push(
    `Calls/s are medians of runs, each in a new process; p50 and p99 are medians of the runs' own. CPU/call counts all\nthreads of the process. Ratios are medians of runs paired by round, with (min – max). Reading the clock costs\n${Math.round(report.before.clockNs)} ns, which every latency includes.`,
  );
  parts.push(renderControl(report));
  return parts.filter(part => part !== '').join('\n\n');
}

function renderWorkloads({ workloads, contenders, cells, ratios }: BenchReport): string[] {
  return Object.entries(workloads).map(([key, { title }]) => {
    const rows = cells
      .filter(cell => cell.workload === key)
      .map(cell => {
        const { name } = contenders[cell.contender]!;
        const { callsPerSecond: rate, p50Us, p99Us, cpuUsPerCall } = cell;
        if (rate.values.length === 0) return [name, 'failed'];
        const ratio = ratios.find(
          one => one.workload === key && one.contender === cell.contender,
        )?.callsPerSecond;
        return [
          name,
          count(rate.median),
          range(rate.min, rate.max, count),
          microseconds(p50Us.median),
          microseconds(p99Us.median),
          microseconds(cpuUsPerCall.median),
          ratio === undefined ? '' : `${times(ratio.median)} (${range(ratio.min, ratio.max, times)})`,
        ];
      });
    return `${title}\n${renderTable(COLUMNS, rows)}`;
  });
}

function renderLosses({ workloads, contenders, ratios }: BenchReport): string {
  const rows = ratios.flatMap(({ workload, contender, callsPerSecond, p50, p99 }) => {
    const figures = [callsPerSecond, p50, p99];
    if (figures.every(({ median }) => !(median < 1))) return [];
    // "in some rounds": the worse median may be chance.
    const cells = figures.map(({ median, max }) =>
      median < 1 ? `${times(1 / median)}${max < 1 ? '' : ' (some rounds)'}` : '',
    );
    return [[workloads[workload]!.title, contenders[contender]!.name, ...cells]];
  });
  if (rows.length === 0) return `${SUBJECT} loses nowhere in this run.`;
  return renderTable(
    [
      { title: `where ${SUBJECT} loses`, align: 'left' },
      { title: 'to', align: 'left' },
      { title: 'calls/s worse by' },
      { title: 'p50 worse by' },
      { title: 'p99 worse by' },
    ],
    rows,
  );
}

function renderBars({ workloads, contenders, bars }: BenchReport): string {
  if (bars.length === 0) return '';
  const rows = bars.map(({ workload, contender, figure, wanted, got, met }) => [
    `${workloads[workload]!.title}: ${figure} against ${contenders[contender]!.name}`,
    times(wanted),
    times(got),
    met ? 'met' : 'missed',
  ]);
  const columns: Column[] = [
    { title: 'bar', align: 'left' },
    { title: 'at least' },
    { title: 'this run' },
    { title: '' },
  ];
  return renderTable(columns, rows);
}

function renderFailures({ contenders, cells }: BenchReport): string {
  const failures = cells.flatMap(cell =>
    cell.failures.map(failure => `  ${cell.workload}, ${contenders[cell.contender]!.name}, ${failure}`),
  );
  return failures.length === 0 ? '' : `Failures\n${failures.join('\n')}`;
}

function renderControl({ before, after, noise }: BenchReport): string {
  const row = (when: string, control: Control) => [
    when,
    `${control.cpuLoopMs.median.toFixed(1)} ms`,
    range(control.cpuLoopMs.min, control.cpuLoopMs.max, ms => `${ms.toFixed(1)} ms`),
    count(control.awaitsPerSecond.median),
    range(control.awaitsPerSecond.min, control.awaitsPerSecond.max, count),
    control.othersCores.toFixed(2),
  ];
  const table = renderTable(
    [
      { title: 'control', align: 'left' },
      { title: 'CPU loop' },
      { title: 'min – max' },
      { title: 'awaits/s' },
      { title: 'min – max' },
      { title: 'cores used by others' },
    ],
    [row('before', before), row('after', after)],
  );
  const verdict = noise.tooNoisy
    ? `TOO NOISY TO JUDGE: ${noise.reasons.join('; ')}.`
    : 'The machine was quiet enough to judge.';
  return `${table}\n${verdict}`;
}
