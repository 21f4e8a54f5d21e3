import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The look of all reports. */
export function reportStyle(): string {
  return readFileSync(new URL('./report/page.css', import.meta.url), 'utf8');
}

/** The chart library as one script for browsers; it lies beside its entry point. */
export function chartLibrary(): string {
  const entry = fileURLToPath(import.meta.resolve('chart.js'));
  return readFileSync(join(dirname(entry), 'chart.umd.min.js'), 'utf8').replace(
    /\n\/\/# sourceMappingURL=.*/,
    '',
  );
}

/** Puts texts where a page has their names in double braces. */
export function fillPage(page: string, texts: Readonly<Record<string, string>>): string {
  return page.replace(/\{\{(\w+)\}\}/g, (_, name: string) => texts[name] ?? '');
}

export function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/** Text in a script must not end it. */
export function inScript(code: string): string {
  return code.replaceAll('</script', '<\\/script');
}

/** Data in a script of type `application/json`. */
export function asData(value: unknown): string {
  return JSON.stringify(value).replaceAll('<', '\\u003c');
}
