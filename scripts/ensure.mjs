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

/** What tests use beside npm's packages: a real browser, a real server. Debian's are installed where that can be done without asking. */
const TOOLS = [
  {
    path: '/usr/bin/chromium',
    packages: ['chromium', 'fonts-liberation'],
    missing: 'the tests that need Chromium',
  },
  { path: '/usr/bin/firefox-esr', packages: ['firefox-esr'], missing: 'the tests that need Firefox' },
  { path: '/usr/sbin/nginx', packages: ['nginx-light'], missing: 'the tests that need nginx' },
];

function aptGet(...args) {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  return spawnSync('apt-get', args, { env, stdio: ['ignore', 'ignore', 'inherit'] }).status;
}

if (process.argv.includes('--tools') && process.platform === 'linux') {
  const wanted = TOOLS.filter(({ path }) => !existsSync(path));
  if (wanted.length > 0 && process.getuid() === 0 && spawnSync('apt-get', ['--version']).status === 0) {
    const packages = wanted.flatMap(tool => tool.packages);
    console.error(`Installing ${packages.join(', ')} (apt-get) …`);
    aptGet('update');
    aptGet('install', '-y', '--no-install-recommends', ...packages);
  }
  for (const { path, packages, missing } of wanted.filter(({ path }) => !existsSync(path))) {
    console.error(`No ${path}: ${missing} are marked as not run. Install: apt-get install ${packages[0]}`);
  }
}
