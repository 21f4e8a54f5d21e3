import { benchStudy } from './bench/study.ts';
import { runCommand, UsageError } from './harness/cli.ts';
import { runStudy } from './harness/run-study.ts';

/** Every study, by the name it has on command lines: `npm run lab -- NAME`. */
const studies = { bench: benchStudy };

await runCommand(async () => {
  const [name, ...args] = process.argv.slice(2);
  const known = Object.keys(studies).join(', ');
  if (name === undefined || name === '--help') {
    process.stdout.write(
      `Usage: npm run lab -- NAME [options]\n\nStudies: ${known}. Options: npm run lab -- NAME --help\n`,
    );
    return name === undefined ? 2 : 0;
  }
  if (!Object.hasOwn(studies, name))
    throw new UsageError(`There is no study \`${name}\`. Known are ${known}.`);
  return runStudy(await studies[name as keyof typeof studies](), args);
});
