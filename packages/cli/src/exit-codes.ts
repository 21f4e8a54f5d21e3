/** What the command says to the shell. 128 + n is how a shell names an end by signal n. */
export const EXIT_OK = 0;
/** Some inputs failed, or the results could not be written. */
export const EXIT_FAILED = 1;
/** The command line, the module or a glob was wrong: nothing was run. */
export const EXIT_USAGE = 2;
export const EXIT_SIGINT = 130;
/** The reader of stdout went away: what `cat` and `grep` end with, seen by `set -o pipefail`. */
export const EXIT_SIGPIPE = 141;
export const EXIT_SIGTERM = 143;
