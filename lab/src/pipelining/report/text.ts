import { count, figure, times } from '../../harness/format.ts';
import { type Column, renderTable } from '../../harness/table.ts';
import { settingKey } from '../cells.ts';
import type { PipeliningResults } from '../results.ts';
import { MOST_APART } from '../side-by-side.ts';

const SUBJECT = 'ours';

/** The tables that the study prints. */
export function renderPipeliningText(results: PipeliningResults): string {
  return [
    renderPages(results),
    renderLoads(results),
    renderRates(results),
    renderFailures(results),
    results.mode === 'smoke' ? '' : renderBars(results),
    sayControl(results),
  ]
    .filter(part => part !== '')
    .join('\n\n');
}

function renderPages({ pages }: PipeliningResults): string {
  return renderTable(
    [
      { title: 'page', align: 'left' },
      { title: 'objects' },
      { title: 'kB' },
      { title: 'found in waves of', align: 'left' },
    ],
    pages.map(page => [
      page.title,
      String(page.objects),
      (page.bytes / 1000).toFixed(0),
      page.waves.join(', '),
    ]),
  );
}

function renderLoads({ cells, contenders, profiles, pages, mixes }: PipeliningResults): string {
  const columns: Column[] = [
    { title: 'contender', align: 'left' },
    { title: 'quota' },
    { title: 'page load' },
    { title: 'min – max' },
    { title: 'of the floor' },
    { title: 'packets up' },
    { title: 'down' },
    { title: 'dropped' },
    { title: 'ours is faster by' },
  ];
  const titleOf = (list: readonly { name: string; title: string }[], name: string) =>
    list.find(one => one.name === name)?.title ?? name;
  const tables = Map.groupBy(cells, ({ setting: { profile, page, mix, lossPercent } }) =>
    JSON.stringify([profile, page, mix, lossPercent]),
  );
  const order = ({ setting, contender }: (typeof cells)[number]) =>
    setting.quota * 100 + Object.keys(contenders).indexOf(contender);
  return [...tables.values()]
    .map(its => {
      const { setting, floorMs } = its[0]!;
      const loss = setting.lossPercent === 0 ? '' : `, ${setting.lossPercent} % of packets lost`;
      const rows = its
        .toSorted((a, b) => order(a) - order(b))
        .map(({ contender, figures, setting: { quota } }) => {
          const name = contenders[contender]?.name ?? contender;
          if (figures === null) return [name, String(quota), 'failed'];
          const own = its.find(one => one.contender === SUBJECT && one.setting.quota === quota)?.figures;
          const { loadMs, packetsUp, packetsDown, dropped } = figures;
          return [
            name,
            String(quota),
            figure(loadMs.median, 'ms'),
            `${figure(loadMs.min, 'ms')} – ${figure(loadMs.max, 'ms')}`,
            times(loadMs.median / floorMs),
            String(Math.round(packetsUp.median)),
            String(Math.round(packetsDown.median)),
            String(Math.round(dropped.median)),
            own == null || contender === SUBJECT ? '' : times(loadMs.median / own.loadMs.median),
          ];
        });
      const head = `${titleOf(profiles, setting.profile)}: ${titleOf(pages, setting.page)}, ${titleOf(mixes, setting.mix)}${loss}; the wire's floor is ${figure(floorMs, 'ms')}`;
      return `${head}\n${renderTable(columns, rows)}`;
    })
    .join('\n\n');
}

function renderRates({ rates }: PipeliningResults): string {
  if (rates.length === 0) return '';
  const rows = rates.map(({ over, name, perSecond }) => [
    over,
    name,
    count(perSecond.median),
    `${count(perSecond.min)} – ${count(perSecond.max)}`,
  ]);
  return renderTable(
    [
      { title: '1 KiB, 64 in flight, over', align: 'left' },
      { title: 'contender', align: 'left' },
      { title: 'requests/s' },
      { title: 'min – max' },
    ],
    rows,
  );
}

function renderFailures({ cells }: PipeliningResults): string {
  const failures = cells.flatMap(cell =>
    cell.failures.map(failure => `${settingKey(cell.setting)}, ${cell.contender}: ${failure}`),
  );
  return failures.length === 0 ? '' : `Pages that did not load\n${failures.join('\n')}`;
}

function renderBars({ bars }: PipeliningResults): string {
  const rows = bars.map(bar => [
    bar.what,
    bar.over,
    `≥ ${times(bar.wanted)}`,
    times(bar.got),
    bar.verdict,
    bar.where,
  ]);
  return renderTable(
    [
      { title: 'bar', align: 'left' },
      { title: 'on', align: 'left' },
      { title: 'wanted' },
      { title: 'got' },
      { title: 'verdict', align: 'left' },
      { title: 'where', align: 'left' },
    ],
    rows,
  );
}

/** What networks in use at once did to each other, as a sentence. */
export function sayControl({ sideBySide }: PipeliningResults): string {
  if (sideBySide === null) return '';
  const { where, networks, aloneMs, togetherMs, ratio } = sideBySide;
  const warning =
    Math.abs(ratio - 1) > MOST_APART
      ? ' That is more than 3 % apart: the machine had too little to spare, and the figures are doubtful.'
      : '';
  return `Side by side: ${where} took ${figure(aloneMs, 'ms')} alone and ${figure(togetherMs, 'ms')} on ${networks} networks at once, ${ratio.toFixed(3)} × as long.${warning}`;
}
