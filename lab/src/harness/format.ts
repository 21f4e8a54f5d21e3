/** Three significant digits, with a unit prefix above a thousand: `947`, `91.2k`, `2.31M`. */
export function count(value: number): string {
  if (!Number.isFinite(value)) return '–';
  if (value === 0) return '0';
  if (value >= 999.5e3) return `${digits(value / 1e6)}M`;
  if (value >= 999.5) return `${digits(value / 1e3)}k`;
  return digits(value);
}

export function microseconds(us: number): string {
  if (!Number.isFinite(us)) return '–';
  if (us >= 999_500) return `${digits(us / 1e6)} s`;
  if (us >= 999.5) return `${digits(us / 1e3)} ms`;
  return `${digits(us)} µs`;
}

export function bytes(value: number): string {
  if (value >= 2 ** 20) return `${digits(value / 2 ** 20)} MiB`;
  if (value >= 2 ** 10) return `${digits(value / 2 ** 10)} KiB`;
  return `${digits(value)} B`;
}

export function times(ratio: number): string {
  return Number.isFinite(ratio) ? `${digits(ratio)} ×` : '–';
}

/** Two figures as a range; one when they print the same. */
export function range(from: number, to: number, print: (value: number) => string): string {
  const [low, high] = [print(from), print(to)];
  return low === high ? low : `${low} – ${high}`;
}

function digits(value: number): string {
  const size = Math.abs(value);
  return value.toFixed(size >= 99.95 || size === 0 ? 0 : size >= 9.995 ? 1 : size >= 0.0995 ? 2 : 3);
}

export type Unit = '1/s' | 'µs' | 'ms' | 'MiB' | 'MiB/s' | '×' | '';

/** A figure with its unit, three significant digits. */
export function figure(value: number, unit: Unit): string {
  if (!Number.isFinite(value)) return '–';
  if (unit === 'µs') return microseconds(value);
  if (unit === 'ms') return microseconds(value * 1000);
  if (unit === '×') return times(value);
  return unit === 'MiB' || unit === 'MiB/s' ? `${digits(value)} ${unit}` : count(value);
}
