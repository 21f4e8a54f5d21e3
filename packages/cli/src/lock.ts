import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, renameSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';

/** Who holds a lock. */
export interface Owner {
  readonly host: string;
  readonly pid: number;
  /** What tells it from a later process of the same number; null where the system does not say. */
  readonly started: string | null;
}

/** Thrown by `takeLock` when a process that may be alive has it. */
export class LockHeldError extends Error {
  readonly owner: Owner;

  constructor(owner: Owner) {
    super(`held by process ${owner.pid} on ${owner.host}`);
    this.owner = owner;
  }
}

const MOST_ATTEMPTS = 1_000;

/**
 * Takes a lock that a killed process does not keep.
 *
 * A held lock is a folder with one file in it, whose name nobody else has and whose text says who holds it:
 *
 *   free ──rename a folder with my file in it to `path`──▶ held ──remove my file, then the folder──▶ free
 *
 * Every step is one that the system does for one process only. A folder is not renamed onto one that holds
 * something. A dead owner's file has a name that no later owner's has, so whoever comes late with the news of its
 * death removes nothing; and a folder that is removed is empty, or stays.
 *
 * @param path of the folder
 * @returns what lets go of it
 * @throws LockHeldError; what the file system throws
 */
export function takeLock(path: string): () => void {
  const name = randomUUID();
  const prepared = `${path}.${name}`;
  mkdirSync(prepared);
  try {
    const owner: Owner = { host: hostname(), pid: process.pid, started: startOf(process.pid) };
    writeFileSync(join(prepared, name), JSON.stringify(owner));
    for (let attempt = 1; ; attempt++) {
      try {
        renameSync(prepared, path);
        return () => clear(path, name);
      } catch (error) {
        if (attempt === MOST_ATTEMPTS || !clearDead(path)) throw error;
      }
    }
  } finally {
    rmSync(prepared, { recursive: true, force: true });
  }
}

/**
 * Removes what dead owners left.
 *
 * @returns false when nothing stands in the way, so that trying again is no use
 * @throws LockHeldError
 */
function clearDead(path: string): boolean {
  let names: string[];
  try {
    names = readdirSync(path);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT'; // let go of just now
  }
  for (const name of names) {
    const owner = readOwner(join(path, name));
    if (owner !== undefined && mayBeAlive(owner)) throw new LockHeldError(owner);
    clear(path, name);
  }
  if (names.length === 0) clear(path);
  return true;
}

/** Undefined when it was let go of just now, and for what a power cut left of it: it came here whole. */
function readOwner(path: string): Owner | undefined {
  try {
    const owner = JSON.parse(readFileSync(path, 'utf8')) as Owner | null;
    return Number.isInteger(owner?.pid) ? owner! : undefined;
  } catch {
    return undefined;
  }
}

function clear(path: string, name?: string): void {
  if (name !== undefined) rmSync(join(path, name), { force: true });
  try {
    rmdirSync(path);
  } catch {
    // Somebody else was faster, or has it now.
  }
}

/** Of another machine nobody can tell. */
function mayBeAlive({ host, pid, started }: Owner): boolean {
  if (host !== hostname()) return true;
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
  }
  const now = startOf(pid);
  return now === null || started === null || now === started;
}

/**
 * When a process started, in the system's own words; they differ for two processes of one number. A process that
 * is dead and not yet collected by its parent has 'ended'.
 */
function startOf(pid: number): string | null {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // After the name, which may hold anything: the state is field 3, the start in ticks since boot field 22.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' || fields[0] === 'X' ? 'ended' : `${boot} ${fields[19]}`;
  } catch {
    if (process.platform === 'win32' || process.platform === 'linux') return null;
  }
  const { status, stdout } = spawnSync('ps', ['-o', 'lstart=', '-p', String(pid)], {
    encoding: 'utf8',
    env: { ...process.env, LC_ALL: 'C', TZ: 'UTC' },
  });
  return status === 0 && stdout.trim() !== '' ? stdout.trim() : null;
}
