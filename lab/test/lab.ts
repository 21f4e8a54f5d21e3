import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

export interface Run {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command of the lab as a user would, from the repository's root. */
export function runLab(script: string, ...args: string[]): Promise<Run> {
  const file = fileURLToPath(new URL(`../src/${script}`, import.meta.url));
  const cwd = fileURLToPath(new URL('../..', import.meta.url));
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [file, ...args], { cwd, stdio: ['ignore', 'pipe', 'pipe'] });
    let stdout = '';
    let stderr = '';
    child.stdout.setEncoding('utf8').on('data', text => {
      stdout += text;
    });
    child.stderr.setEncoding('utf8').on('data', text => {
      stderr += text;
    });
    child.on('error', reject);
    child.on('close', code => resolve({ code, stdout, stderr }));
  });
}

/** How many rows of the tables begin with a name. */
export function rowsOf(stdout: string, name: string): number {
  return stdout.split('\n').filter(line => line.startsWith(`${name} `) && /\d/.test(line)).length;
}
