/**
 * Installs what package-lock.json names, if it is not there. Runs before anything is installed, on whatever
 * Node the user has, so it imports nothing but Node's own modules.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

const major = Number(process.versions.node.split('.')[0]);
if (major < 20) {
  console.error(`Hotlane needs Node 20 or later; this is ${process.version}.`);
  process.exit(1);
}

/** What npm last installed is recorded in node_modules; compare it with what it should be. */
function isInstalled() {
  const read = name => JSON.parse(readFileSync(`${root}${name}`, 'utf8')).packages;
  let installed;
  try {
    installed = read('node_modules/.package-lock.json');
  } catch {
    return false;
  }
  return Object.entries(read('package-lock.json')).every(
    ([path, { version, optional, link }]) =>
      path === '' ||
      optional ||
      link ||
      !path.includes('node_modules') ||
      installed[path]?.version === version,
  );
}

if (!isInstalled()) {
  console.error('Installing dependencies (npm ci) …');
  const { status } = spawnSync('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
    shell: process.platform === 'win32',
  });
  if (status !== 0) {
    console.error('npm ci failed; see its messages above.');
    process.exit(status ?? 1);
  }
}

/** The tests look at reports in a real browser. Debian's is installed where that can be done without asking. */
const wanted =
  process.argv.includes('--browser') && process.platform === 'linux' && !existsSync('/usr/bin/chromium');
if (wanted && process.getuid() === 0 && spawnSync('apt-get', ['--version']).status === 0) {
  console.error('Installing chromium (apt-get) …');
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const apt = (...args) => spawnSync('apt-get', args, { env, stdio: ['ignore', 'ignore', 'inherit'] }).status;
  apt('update');
  apt('install', '-y', '--no-install-recommends', 'chromium', 'fonts-liberation');
}
if (wanted && !existsSync('/usr/bin/chromium')) {
  console.error(
    'No /usr/bin/chromium: the tests that need a browser are marked as not run. Install: apt-get install chromium',
  );
}
