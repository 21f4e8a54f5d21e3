/**
 * A journal's text. The first line says whose results they are; each line that follows is one result, as it stands
 * in the output, with `nth` before it: which one of the inputs with this text it belongs to.
 *
 *   {"hotlane":"map journal","format":1,"module":"file:///w/tasks.mjs","export":"sha256","folder":"/w"}
 *   {"nth":1,"input":"a.png","value":"9f86d0…"}
 *   {"nth":2,"input":"a.png","value":"9f86d0…","attempts":3}
 */
import { isUtf8 } from 'node:buffer';
import { CommandLineError } from './args.ts';

const FORMAT = 1;
const HEADER_START = '{"hotlane":"map journal"';
const MOST_SHOWN_CHARS = 60;

/** Whose results a journal holds. */
export interface JournalCommand {
  /** URL of the module. */
  readonly module: string;
  readonly export: string;
  /** The working directory: relative inputs mean something else elsewhere. */
  readonly folder: string;
}

export function headerLine({ module, export: name, folder }: JournalCommand): string {
  const header = { hotlane: 'map journal', format: FORMAT, module, export: name, folder };
  return `${JSON.stringify(header)}\n`;
}

/** @param line one of the output, with its line end */
export function recordLine(nth: number, line: string): string {
  return `{"nth":${nth},${line.slice(1)}`;
}

/** What the record of an input begins with: JSON.stringify writes a text in one way only. */
export function recordStart(nth: number, input: string): string {
  return `{"nth":${nth},"input":${JSON.stringify(input)},"value":`;
}

/** What `recordLine` made a record of. */
export function outputLine(record: string): string {
  return `{${record.slice(record.indexOf(',') + 1)}`;
}

/** @returns undefined for what is no record */
export function readRecord(bytes: Buffer): { nth: number; input: string } | undefined {
  if (!isUtf8(bytes)) return undefined;
  const text = bytes.toString();
  try {
    const { nth, input } = JSON.parse(text) as { nth: unknown; input: unknown };
    if (typeof nth !== 'number' || typeof input !== 'string') return undefined;
    return text.startsWith(recordStart(nth, input)) ? { nth, input } : undefined;
  } catch {
    return undefined;
  }
}

/** Whether a first line without an end was to be a header: the process was killed as it wrote it. */
export function isTornHeader(bytes: Buffer): boolean {
  const text = bytes.toString('latin1');
  return HEADER_START.startsWith(text) || text.startsWith(HEADER_START);
}

/** @throws CommandLineError when the journal is not this command's */
export function checkHeader(bytes: Buffer, path: string, command: JournalCommand): void {
  const elsewhere = 'name another file with --journal';
  let header: Record<string, unknown> = {};
  try {
    header = JSON.parse(bytes.toString());
  } catch {}
  if (header?.hotlane !== 'map journal') {
    throw new CommandLineError(
      `${path} is not a journal: expected its first line to begin with ${HEADER_START}, got ${shown(bytes)}; ${elsewhere}`,
    );
  }
  if (header.format !== FORMAT) {
    throw new CommandLineError(
      `the journal ${path} has format ${header.format}, expected ${FORMAT}, the one this hotlane writes; ${elsewhere}, or use the hotlane that wrote it`,
    );
  }
  const remedy = `${elsewhere}, or delete this one if its results are not needed`;
  if (header.module !== command.module || header.export !== command.export) {
    throw new CommandLineError(
      `the journal ${path} holds results of ${header.module}#${header.export}, expected ${command.module}#${command.export}; ${remedy}`,
    );
  }
  if (header.folder !== command.folder) {
    throw new CommandLineError(
      `the journal ${path} holds results from the directory ${header.folder}, expected ${command.folder}, where relative inputs mean other files; run it there, ${remedy}`,
    );
  }
}

/** @param number of the line */
export function damagedLine(bytes: Buffer, path: string, number: number): CommandLineError {
  return new CommandLineError(
    `line ${number} of the journal ${path} is damaged: expected ${recordStart(1, '…')}…}, got ${shown(bytes)}; delete the line, and its input is done again`,
  );
}

/** The beginning of a line, on one line of a terminal. */
function shown(bytes: Buffer): string {
  const text = bytes.toString('utf8', 0, 4 * MOST_SHOWN_CHARS);
  return JSON.stringify(text.length > MOST_SHOWN_CHARS ? `${text.slice(0, MOST_SHOWN_CHARS)}…` : text);
}
