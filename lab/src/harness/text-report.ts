import { count, figure as print, times } from './format.ts';
import type { StudyResults } from './run-study.ts';
import { type Column, renderTable } from './table.ts';

/** Below this a loss is within what two equal contenders differ by. */
const LEAST_LOSS = 1.03;

/** The tables that a study prints: each workload, where the subject loses, the bars, how quiet the machine was. */
export function renderText(results: StudyResults): string {
  const { workloads, contenders, cells, ratios, subject } = results;
  const parts: string[] = [];
  let group = '';
  for (const [key, { title, metrics, group: its }] of Object.entries(workloads)) {
    const rows = cells.filter(cell => cell.workload === key);
    if (rows.length === 0) continue;
    if (its !== group) {
      group = its;
      parts.push(`## ${group}`);
    }
    const names = Object.keys(metrics);
    const [first] = names as [string];
    const columns: Column[] = [
      { title: 'contender', align: 'left' },
      ...names.flatMap((name, i) => [
        { title: metrics[name]!.title },
        ...(i === 0 ? [{ title: 'min – max' }] : []),
      ]),
      { title: `${contenders[subject]!.name} is better by` },
    ];
    const table = rows.map(({ contender, figures }) => {
      const ratio = ratios.find(one => one.workload === key && one.contender === contender)?.ratios[first];
      return [
        contenders[contender]!.name,
        ...names.flatMap((name, i) => {
          const figure = figures[name];
          if (figure === undefined) return i === 0 ? ['–', ''] : ['–'];
          const { unit } = metrics[name]!;
          const value = print(figure.median, unit);
          return i === 0 ? [value, `${print(figure.min, unit)} – ${print(figure.max, unit)}`] : [value];
        }),
        ratio === undefined ? '' : `${times(ratio.median)} (${times(ratio.min)} – ${times(ratio.max)})`,
      ];
    });
    parts.push(`${title}\n${renderTable(columns, table)}`);
  }
  const failures = cells.flatMap(cell =>
    cell.failures.map(failure => `${cell.workload}, ${cell.contender}: ${failure}`),
  );
  if (failures.length > 0) parts.push(`## Runs that failed\n${failures.join('\n')}`);
  parts.push(renderLosses(results), renderBars(results), renderNoise(results));
  const settings = Object.values(contenders).map(({ name, settings }) => `  ${name}: ${settings}`);
  parts.push(`Contenders\n${settings.join('\n')}`);
  return parts.filter(part => part !== '').join('\n\n');
}

function renderLosses({ workloads, contenders, ratios, subject }: StudyResults): string {
  const rows = ratios.flatMap(({ workload, contender, ratios: by }) =>
    Object.entries(by).flatMap(([metric, ratio]) =>
      ratio.median < 1 / LEAST_LOSS &&
      contenders[contender]!.variantOf !== subject &&
      !workloads[workload]!.metrics[metric]!.follows
        ? [
            [
              workloads[workload]!.title,
              contenders[contender]!.name,
              workloads[workload]!.metrics[metric]!.title,
              times(1 / ratio.median),
            ],
          ]
        : [],
    ),
  );
  if (rows.length === 0) return '';
  const columns: Column[] = [
    { title: `where ${contenders[subject]!.name} loses`, align: 'left' },
    { title: 'to', align: 'left' },
    { title: 'in', align: 'left' },
    { title: 'worse by' },
  ];
  return renderTable(columns, rows);
}

function renderBars({ bars, workloads, mode }: StudyResults): string {
  if (mode === 'smoke' || bars.length === 0) return '';
  const rows = bars.map(bar => {
    const metric = workloads[bar.workload]?.metrics[bar.metric];
    const isAbsolute = bar.against === 'absolute';
    const show = (value: number) => print(value, isAbsolute ? (metric?.unit ?? '') : '×');
    const wanted = `${isAbsolute && metric?.better === 'less' ? '≤' : '≥'} ${show(bar.wanted)}`;
    const range = Number.isFinite(bar.got) ? `${show(bar.worst)} – ${show(bar.best)}` : '';
    return [bar.what, wanted, show(bar.got), range, bar.verdict];
  });
  const columns: Column[] = [
    { title: 'bar', align: 'left' },
    { title: 'wanted' },
    { title: 'got' },
    { title: 'worst – best round' },
    { title: 'verdict', align: 'left' },
  ];
  return renderTable(columns, rows);
}

function renderNoise({ control: { before, after, noise } }: StudyResults): string {
  const rows = [['before', before] as const, ['after', after] as const].map(
    ([when, { cpuLoopMs, awaitsPerSecond, othersCores }]) => [
      when,
      `${cpuLoopMs.median.toFixed(1)} ms`,
      `${cpuLoopMs.min.toFixed(1)} – ${cpuLoopMs.max.toFixed(1)}`,
      count(awaitsPerSecond.max),
      othersCores.toFixed(2),
    ],
  );
  const columns: Column[] = [
    { title: 'control', align: 'left' },
    { title: 'CPU loop' },
    { title: 'min – max' },
    { title: 'best awaits/s' },
    { title: 'cores used by others' },
  ];
  const verdict = noise.tooNoisy
    ? `The machine was too noisy to judge: ${noise.reasons.join('; ')}.`
    : 'The machine was quiet enough to judge.';
  return `${renderTable(columns, rows)}\n${verdict}`;
}
