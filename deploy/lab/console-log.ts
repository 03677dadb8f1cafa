/** The output of a machine at its serial port, in a file, as its BMC keeps it. */
import { appendFileSync, closeSync, fstatSync, mkdirSync, openSync, readSync, renameSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

export interface LabConsoleLine {
  /** The place of the line in the file, so that it stays the same while the file grows. */
  readonly id: string;
  readonly text: string;
}

/** A BMC keeps about as much. */
const mostBytes = 256 * 1024;
const newline = 10;

/** The lines at the end of the file; none without a file. Without the last line while it has no end. */
export function readConsoleLines(file: string): LabConsoleLine[] {
  let fd: number;
  try {
    fd = openSync(file, 'r');
  } catch {
    return [];
  }
  try {
    const { size } = fstatSync(fd);
    const start = Math.max(0, size - mostBytes);
    const bytes = Buffer.alloc(size - start);
    const read = readSync(fd, bytes, 0, bytes.length, start);
    return linesIn(bytes.subarray(0, read), start);
  } finally {
    closeSync(fd);
  }
}

function linesIn(bytes: Buffer, start: number): LabConsoleLine[] {
  const lines: LabConsoleLine[] = [];
  // The first line may be the end of one.
  let from = start === 0 ? 0 : bytes.indexOf(newline) + 1;
  for (let end = bytes.indexOf(newline, from); end >= 0; end = bytes.indexOf(newline, from)) {
    lines.push({ id: String(start + from), text: bytes.toString('utf8', from, end) });
    from = end + 1;
  }
  return lines;
}

/** Adds a line. A file that is full begins again. */
export function writeConsoleLine(file: string, text: string): void {
  try {
    if (statSync(file).size > 4 * mostBytes) renameSync(file, `${file}.previous`);
  } catch {
    mkdirSync(dirname(file), { recursive: true });
  }
  appendFileSync(file, `${text}\n`);
}
