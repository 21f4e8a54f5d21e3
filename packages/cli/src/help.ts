export const generalHelp = `hotlane: calls functions on other threads, over many inputs, on all cores

Usage: hotlane <command> [options]

Commands:
  map <module[#export]> [inputs…]   run a function over many inputs, on all cores
  help [command]                    say more about a command

Options:
  -h, --help      print this
  -v, --version   print the version

Example:
  hotlane map ./tasks.mjs#resize 'img/**/*.png' > results.ndjson
`;

export const mapHelp = `hotlane map: run a function over many inputs, on all cores

Usage: hotlane map [options] <module[#export]> <inputs…>
       … | hotlane map [options] <module[#export]> -

The module is a path, a file: URL or a package's name; the function is its export
of that name, or its default export. It is called once for each input, with a string:

  path      the path as given; the function reads the file itself
  'glob'    the path of each file that matches, sorted, each once; '!glob' leaves files
            out of the globs ('**' goes into node_modules too). Quote globs, so that
            hotlane expands them and not the shell
  -         each line on stdin, without its line end (LF or CRLF); stands alone

Each input gives one line of JSON on stdout, in the order of the inputs:

  {"input":"a.png","value":{"width":200}}
  {"input":"b.png","error":{"name":"Error","message":"no such file","code":"ENOENT"}}

Values go through JSON, toJSON included. Beyond JSON: undefined, functions and symbols
as values become null, a bigint a string, a Map an array of entries, a Set an array,
bytes (Uint8Array, Buffer, ArrayBuffer) base64 text, other typed arrays arrays of
numbers, a RegExp its source, an Error its name, message and code. A value that contains
itself fails its input. What the function prints goes to stderr.

Options:
  --lanes N           how many lanes; default: one for each core, 1 when inline
  --concurrency N     calls at once in a lane, for functions that await; default: 1
  --placement PLACE   thread (default), or inline: in this thread, for debuggers
  --deadline TIME     fail a call that takes longer: 500, 500ms, 2s, 1.5m
  --retries N         try an input whose call failed again, up to N times; default: 0
  --journal FILE      keep results in FILE; the same command again does only the rest
  --stream            the function is a generator: each of its items is a line
  --unordered         results as they finish, none waits for a slow one before it
  --trace FILE        write what lanes did when, for ui.perfetto.dev or chrome://tracing
  -q, --quiet         no progress and no summary on stderr
  --json              the summary as one line of JSON on stderr, and no progress
  -h, --help          print this
  -v, --version       print the version

With --stream the function gives items: a generator, async or not, or what else can be
iterated. Each is a line as it comes, {"input":…,"value":item}; an input that fails has
its items first, then its error. A generator waits while its items cannot be written.
It goes with neither --retries nor --journal.

An input that took several calls has their number: {"input":…,"value":…,"attempts":2}.

A journal holds each result from when it is there, whatever ends the command, kill -9
too. Give the same command again, and it writes all results, those in the journal at
once. Inputs that failed are done again. A journal does not see that a file or the
function has changed: delete the journal, or the lines of those inputs.

Ctrl-C lets the running calls finish and writes their results; a second one stops now.

Exit codes: 0 all done; 1 some inputs failed, or results could not be written; 2 nothing
was run: the command line, the module or a glob was wrong; 130 interrupted by Ctrl-C;
143 ended by SIGTERM; 141 the reader of stdout went away (… | head -1).

Examples:
  hotlane map ./tasks.mjs#resize 'img/**/*.png' '!**/tmp/**' > results.ndjson
  hotlane map ./hash.js src/index.ts README.md
  hotlane map ./csv.js#rows --stream 'logs/*.csv' > rows.ndjson
  cat urls.txt | hotlane map ./check.js#status --concurrency 16 --deadline 10s -
  hotlane map ./tasks.mjs#resize --journal resize.journal --retries 2 'img/**/*.png'
  hotlane map ./tasks.mjs#resize 'img/*.png' | jq -r 'select(.error) | .input'
`;
