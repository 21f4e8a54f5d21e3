export interface Column {
  readonly title: string;
  /** @default 'right' */
  readonly align?: 'left' | 'right';
}

/** A table of plain text; columns as wide as their widest cell. */
export function renderTable(columns: readonly Column[], rows: readonly (readonly string[])[]): string {
  const widths = columns.map(({ title }, i) =>
    Math.max(title.length, ...rows.map(row => row[i]?.length ?? 0)),
  );
  const line = (cells: readonly string[]) =>
    columns
      .map(({ align }, i) =>
        align === 'left' ? (cells[i] ?? '').padEnd(widths[i]!) : (cells[i] ?? '').padStart(widths[i]!),
      )
      .join('   ')
      .trimEnd();
  return [
    line(columns.map(column => column.title)),
    widths.map(width => '─'.repeat(width)).join('───'),
    ...rows.map(line),
  ].join('\n');
}
