import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { findPackageJSON } from 'node:module';
import os from 'node:os';
import { fileURLToPath } from 'node:url';

/** Where and with what a run was made; printed with every table and written with every result. */
export interface Machine {
  readonly cpu: string;
  readonly cores: number;
  /** Cores that this process may use. */
  readonly usableCores: number;
  readonly memoryGib: number;
  readonly system: string;
  readonly node: string;
  readonly v8: string;
  /** Package name to version, as installed. */
  readonly packages: Readonly<Record<string, string>>;
  /** The commit that was measured; null outside a git checkout. */
  readonly commit: string | null;
  /** True when tracked or new files differ from that commit. */
  readonly uncommittedChanges: boolean;
}

/** The root of the repository. */
export const repository = fileURLToPath(new URL('../../..', import.meta.url));

/** @param packages names of installed packages whose versions matter */
export function describeMachine(packages: readonly string[]): Machine {
  const processors = os.cpus();
  const status = git('status', '--porcelain');
  return {
    cpu: processors[0]?.model.trim() || 'unknown',
    cores: processors.length,
    usableCores: os.availableParallelism(),
    memoryGib: Math.round(os.totalmem() / 2 ** 30),
    system: `${os.type()} ${os.release()} ${os.arch()}`,
    node: process.version,
    v8: process.versions.v8,
    packages: Object.fromEntries(packages.map(name => [name, installedVersion(name)])),
    commit: git('rev-parse', '--short=12', 'HEAD'),
    uncommittedChanges: status !== null && status !== '',
  };
}

/** The command that started this process, so that a reader can repeat it. */
export function describeCommand(): string {
  const root = repository.endsWith('/') ? repository : `${repository}/`;
  const [, script = '', ...rest] = process.argv;
  return ['node', script.startsWith(root) ? script.slice(root.length) : script, ...rest].join(' ');
}

export function printableMachine(machine: Machine, command: string): string {
  const { cpu, cores, usableCores, memoryGib, system, node, v8, packages, commit } = machine;
  const versions = Object.entries(packages).map(([name, version]) => `${name} ${version}`);
  return [
    `machine   ${cpu}, ${cores} cores${usableCores === cores ? '' : ` (${usableCores} usable)`}, ${memoryGib} GiB, ${system}`,
    `versions  node ${node} (v8 ${v8}), ${versions.join(', ')}`,
    `commit    ${commit ?? 'none'}${machine.uncommittedChanges ? ', with uncommitted changes' : ''}`,
    `command   ${command}`,
  ].join('\n');
}

function installedVersion(name: string): string {
  const file = findPackageJSON(name, import.meta.url);
  if (file === undefined) return 'unknown';
  return (JSON.parse(readFileSync(file, 'utf8')) as { version?: string }).version ?? 'unknown';
}

function git(...args: string[]): string | null {
  try {
    return execFileSync('git', args, {
      cwd: repository,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  } catch {
    return null;
  }
}
