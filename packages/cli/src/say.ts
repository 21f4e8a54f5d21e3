import { createRequire } from 'node:module';
import { EXIT_OK } from './exit-codes.ts';

/** Answers on stdout. @returns the exit code */
export function say(text: string): Promise<number> {
  process.stdout.on('error', () => {}); // `hotlane --help | head -1`
  return new Promise(resolve => process.stdout.write(text, () => resolve(EXIT_OK)));
}

/** One line on stderr. */
export function complain(line: string): void {
  process.stderr.write(`hotlane: ${line}\n`);
}

export function version(): string {
  return createRequire(import.meta.url)('../package.json').version;
}
