import { readFileSync } from 'node:fs';
import {
  asData,
  chartLibrary,
  escapeHtml,
  fillPage,
  inScript,
  reportStyle,
} from '../../harness/html-page.ts';
import { printableMachine } from '../../harness/machine.ts';
import type { PipeliningResults } from '../results.ts';
import { MOST_APART } from '../side-by-side.ts';
import { renderPipeliningText, sayControl } from './text.ts';

const read = (name: string) => readFileSync(new URL(`./${name}`, import.meta.url), 'utf8');

/** One page with everything in it: it is read without a network, in light and in dark. */
export function renderPipeliningHtml(results: PipeliningResults): string {
  const { machine, command, mode, noPackets, sideBySide } = results;
  const isDoubtful = sideBySide !== null && Math.abs(sideBySide.ratio - 1) > MOST_APART;
  const notes = [
    mode === 'smoke' ? '<p class="warning">A smoke run: its figures mean nothing.</p>' : '',
    noPackets === null ? '' : `<p class="warning">No packets were counted: ${escapeHtml(noPackets)}</p>`,
    sideBySide === null
      ? ''
      : `<p${isDoubtful ? ' class="warning"' : ''}>${escapeHtml(sayControl(results))}</p>`,
  ];
  return fillPage(read('page.html'), {
    MACHINE: escapeHtml(printableMachine(machine, command)),
    NOTES: notes.join('\n'),
    TABLES: escapeHtml(renderPipeliningText(results)),
    STYLE: `${reportStyle()}\n${read('page.css')}`,
    LIBRARY: inScript(chartLibrary()),
    SCRIPT: inScript(read('page.js')),
    DATA: asData(results),
  });
}
