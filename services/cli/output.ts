/** The only place where a command writes: answers to standard output, all other text to standard error. */
import pc from 'picocolors';
import { stringify } from 'yaml';
import { createProgramOutput, type OutputStream } from './print/program-output.ts';
import { renderTable, type Cell } from './print/table.ts';

export type Format = 'table' | 'json' | 'yaml';
export type Colors = ReturnType<typeof pc.createColors>;

export interface Rows<T> {
  readonly rows: readonly T[];
  readonly columns: Readonly<Record<string, (row: T, colors: Colors) => Cell>>;
  /** Printed instead of an empty table. */
  readonly none: string;
}

export interface TerminalOutput {
  readonly colors: Colors;
  readonly isTerminal: boolean;
  readonly width: number;
  line(text?: string): void;
  /** Writes the output of a program: unchanged to a file or a pipe, without control characters to a terminal. */
  program(stream: 'stdout' | 'stderr', bytes: Uint8Array): void;
  /** Prints text that is not the answer to standard error. */
  note(text: string): void;
  /** Prints a list: a table for people, the rows for programs. */
  list<T>(format: Format, rows: Rows<T>): void;
  /** Prints one object: one line per field for people, the value for programs. */
  one(format: Format, value: unknown, fields: () => readonly (readonly [string, Cell])[]): void;
  value(format: 'json' | 'yaml', value: unknown): void;
}

export function createOutput(options: {
  stdout: OutputStream;
  stderr: OutputStream;
  environment: Readonly<Record<string, string | undefined>>;
}): TerminalOutput {
  const { stdout, stderr, environment } = options;
  const isTerminal = stdout.isTTY === true;
  // https://no-color.org and its counterpart decide. Otherwise use colors on a terminal.
  const forced = environment['FORCE_COLOR'] !== undefined && environment['FORCE_COLOR'] !== '0';
  const colors = pc.createColors(!environment['NO_COLOR'] && (forced || isTerminal));
  const width = stdout.columns ?? 120;
  const line = (text = ''): void => void stdout.write(`${text}\n`);
  const value: TerminalOutput['value'] = (format, content) => {
    const text = format === 'json' ? `${JSON.stringify(content, null, 2)}\n` : stringify(content, { lineWidth: 0 });
    stdout.write(text);
  };
  return {
    colors,
    isTerminal,
    width,
    line,
    program: createProgramOutput({ stdout, stderr }),
    note: (text) => void stderr.write(`${text}\n`),
    value,
    list(format, { rows, columns, none }) {
      if (format !== 'table') {
        value(format, rows);
        return;
      }
      if (rows.length === 0) {
        line(none);
        return;
      }
      const names = Object.keys(columns);
      const cells = rows.map((row) => names.map((name) => columns[name]?.(row, colors) ?? ''));
      line(renderTable({ head: names.map((name) => colors.bold(name.toUpperCase())), rows: cells }));
    },
    one(format, content, fields) {
      if (format !== 'table') {
        value(format, content);
        return;
      }
      line(renderTable({ rows: fields().map(([name, cell]) => [colors.bold(name), cell]) }));
    },
  };
}
