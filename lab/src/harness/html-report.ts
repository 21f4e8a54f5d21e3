import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { printableMachine } from './machine.ts';
import type { StudyResults } from './run-study.ts';
import { renderText } from './text-report.ts';

const read = (name: string) => readFileSync(new URL(`./report/${name}`, import.meta.url), 'utf8');

/** The chart library as one script for browsers; it lies beside its entry point. */
function chartLibrary(): string {
  const entry = fileURLToPath(import.meta.resolve('chart.js'));
  return readFileSync(join(dirname(entry), 'chart.umd.min.js'), 'utf8').replace(
    /\n\/\/# sourceMappingURL=.*/,
    '',
  );
}

/** One page with everything in it: it is read without a network, in light and in dark. */
export function renderHtml(results: StudyResults): string {
  const { title, about, machine, command, mode } = results;
  const fill: Record<string, string> = {
    TITLE: escapeHtml(title),
    ABOUT: escapeHtml(about),
    MACHINE: escapeHtml(printableMachine(machine, command)),
    MODE: mode === 'smoke' ? '<p class="warning">A smoke run: its figures mean nothing.</p>' : '',
    TABLES: escapeHtml(renderText(results)),
    STYLE: read('page.css'),
    LIBRARY: inScript(chartLibrary()),
    SCRIPT: inScript(read('page.js')),
    DATA: JSON.stringify(results).replaceAll('<', '\\u003c'),
  };
  return read('page.html').replace(/\{\{(\w+)\}\}/g, (_, name: string) => fill[name] ?? '');
}

function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/** Text in a script must not end it. */
function inScript(code: string): string {
  return code.replaceAll('</script', '<\\/script');
}
