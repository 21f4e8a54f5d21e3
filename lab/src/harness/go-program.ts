import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { access, mkdir, readdir, readFile, rename, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const environment = () => ({
  ...process.env,
  CGO_ENABLED: '0',
  GOTOOLCHAIN: 'local',
  GOWORK: 'off',
  GOFLAGS: '',
});
const FLAGS = ['-trimpath', '-buildvcs=false'];

/**
 * Builds a Go program unless this very source was built before.
 *
 * @param source its folder, with go.mod
 * @param binary where to put it; a hash of the source is added
 * @returns the binary's path
 * @throws Error with `code` ENOENT where there is no Go, else with Go's `stderr`
 */
export async function buildGo(source: URL, binary: URL): Promise<string> {
  const folder = fileURLToPath(source);
  const hash = createHash('sha256').update(process.arch);
  for (const file of (await readdir(folder)).sort()) {
    hash.update(`\n${file}\n`).update(await readFile(join(folder, file)));
  }
  const built = `${fileURLToPath(binary)}-${hash.digest('hex').slice(0, 16)}`;
  if (await isExecutable(built)) return built;
  await mkdir(new URL('.', binary), { recursive: true });
  // Two processes may be at it at the same time: each whole binary takes the place of the one before.
  const mine = `${built}.${process.pid}`;
  await run('go', ['build', ...FLAGS, '-o', mine, '.'], { cwd: folder, env: environment() });
  await rename(mine, built);
  return built;
}

/**
 * Builds a Go program of others unless this version of it was built before.
 *
 * @param program its package and version, as in `example.org/one/two@v1.2.3`
 * @param binary where to put it; the version is added
 * @param onBuild it is not there yet
 * @returns the binary's path
 * @throws as `buildGo` does
 */
export async function installGo(program: string, binary: URL, onBuild: () => void): Promise<string> {
  const [path, version] = program.split('@') as [string, string];
  const built = `${fileURLToPath(binary)}-${version}-${process.arch}`;
  if (await isExecutable(built)) return built;
  onBuild();
  const mine = `${built}.${process.pid}`;
  await mkdir(mine, { recursive: true });
  try {
    await run('go', ['install', ...FLAGS, program], { env: { ...environment(), GOBIN: mine } });
    await rename(join(mine, basename(path)), built);
  } finally {
    await rm(mine, { recursive: true });
  }
  return built;
}

/** Why a program could not be built, as a sentence. */
export function whyNotBuilt(error: unknown, binary: URL): string {
  const { code, stderr } = error as { code?: unknown; stderr?: string };
  const name = basename(fileURLToPath(binary));
  if (code === 'ENOENT') return `There is no Go here (the command \`go\`), so \`${name}\` cannot be built.`;
  return `\`${name}\` could not be built: ${stderr?.trim() || error}`;
}

async function isExecutable(file: string): Promise<boolean> {
  try {
    await access(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
