import { CommandLineError, nearest } from './args.ts';
import { EXIT_USAGE } from './exit-codes.ts';
import { generalHelp, mapHelp } from './help.ts';
import { mapCommand } from './map-command.ts';
import { complain, say, version } from './say.ts';

const COMMANDS = ['map', 'help'];

/**
 * Runs one command.
 *
 * @param argv what follows the program's name
 * @returns the exit code
 */
export async function main(argv: readonly string[]): Promise<number> {
  try {
    return await dispatch(argv);
  } catch (error) {
    if (!(error instanceof CommandLineError)) throw error;
    complain(error.message);
    return EXIT_USAGE;
  }
}

async function dispatch(argv: readonly string[]): Promise<number> {
  const [command, ...rest] = argv;
  switch (command) {
    case undefined:
      process.stderr.write(generalHelp);
      return EXIT_USAGE;
    case 'map':
      return mapCommand(rest);
    case 'help':
      if (rest.length > 0 && rest[0] !== 'map') throw unknownCommand(rest[0]!, rest);
      return await say(rest.length > 0 ? mapHelp : generalHelp);
    case '--help':
    case '-h':
      return await say(generalHelp);
    case '--version':
    case '-v':
      return await say(`${version()}\n`);
    default:
      throw unknownCommand(command, rest);
  }
}

function unknownCommand(command: string, rest: readonly string[]): CommandLineError {
  if (command.startsWith('-')) {
    return new CommandLineError(
      `unknown option ${command}; expected a command first: hotlane map <module[#export]> [inputs…], or --help, --version`,
    );
  }
  if (/[#/\\]|\.[cm]?[jt]s$/.test(command)) {
    return new CommandLineError(
      `'${command}' is not a command; did you mean: hotlane map ${[command, ...rest].slice(0, 4).join(' ')}${rest.length > 3 ? ' …' : ''}`,
    );
  }
  const close = nearest(command, COMMANDS);
  return new CommandLineError(
    `unknown command '${command}'; ${close === undefined ? '' : `did you mean '${close}'? `}expected ${COMMANDS.join(' or ')} (hotlane --help says more)`,
  );
}
