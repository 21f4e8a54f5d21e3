import { benchStudy } from './bench/study.ts';
import { runCommand, UsageError } from './harness/cli.ts';
import { runStudy } from './harness/run-study.ts';
import { runPipelining } from './pipelining/study.ts';
import { serverWorkersStudy } from './server-workers/study.ts';

/** Every study, by the name it has on command lines: `npm run lab -- NAME`. */
const studies: Readonly<Record<string, (args: readonly string[]) => Promise<number>>> = {
  bench: async args => runStudy(await benchStudy(), args),
  pipelining: runPipelining,
  'server-workers': async args => runStudy(await serverWorkersStudy(), args),
};

await runCommand(async () => {
  const [name, ...args] = process.argv.slice(2);
  const known = Object.keys(studies).join(', ');
  if (name === undefined || name === '--help') {
    process.stdout.write(
      `Usage: npm run lab -- NAME [options]\n\nStudies: ${known}. Options: npm run lab -- NAME --help\n`,
    );
    return name === undefined ? 2 : 0;
  }
  const study = Object.hasOwn(studies, name) ? studies[name] : undefined;
  if (study === undefined) throw new UsageError(`There is no study \`${name}\`. Known are ${known}.`);
  return study(args);
});
