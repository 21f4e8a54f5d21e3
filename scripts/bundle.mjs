/**
 * Joins the entry of thread lanes and all that it imports into one file: to load some twenty modules would be a third of
 * what a lane's start takes.
 */
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const dist = fileURLToPath(new URL('../packages/hotlane/dist/', import.meta.url));
await build({
  entryPoints: [`${dist}place/thread-entry.js`],
  outfile: `${dist}place/thread-entry.bundle.js`,
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node20',
  // Names stay: stacks are cut at one of them (stack.ts).
  minifyWhitespace: true,
  minifySyntax: true,
  logLevel: 'warning',
});
