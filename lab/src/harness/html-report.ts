import { readFileSync } from 'node:fs';
import { asData, chartLibrary, escapeHtml, fillPage, inScript, reportStyle } from './html-page.ts';
import { printableMachine } from './machine.ts';
import type { StudyResults } from './run-study.ts';
import { renderText } from './text-report.ts';

const read = (name: string) => readFileSync(new URL(`./report/${name}`, import.meta.url), 'utf8');

/** One page with everything in it: it is read without a network, in light and in dark. */
export function renderHtml(results: StudyResults): string {
  const { title, about, machine, command, mode } = results;
  return fillPage(read('page.html'), {
    TITLE: escapeHtml(title),
    ABOUT: escapeHtml(about),
    MACHINE: escapeHtml(printableMachine(machine, command)),
    MODE: mode === 'smoke' ? '<p class="warning">A smoke run: its figures mean nothing.</p>' : '',
    TABLES: escapeHtml(renderText(results)),
    STYLE: reportStyle(),
    LIBRARY: inScript(chartLibrary()),
    SCRIPT: inScript(read('page.js')),
    DATA: asData(results),
  });
}
