import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** A folder of an installed package. */
export function packageFolder(name: string, folder: string): string {
  return join(dirname(fileURLToPath(import.meta.resolve(`${name}/package.json`))), folder);
}

export function packageFile(name: string, file: string): string {
  return readFileSync(packageFolder(name, file), 'utf8');
}
