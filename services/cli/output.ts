/** The only place where a command writes: answers to standard output, all other text to standard error. */
import type { Scalar, stringify, Tags } from 'yaml';
import { createRequire } from 'node:module';
import pc from 'picocolors';
import stringWidth from 'string-width';
import { createProgramOutput, withoutControls, type OutputStream } from './terminal/program-output.ts';
import { wrapProse, wrapWords } from './terminal/fit.ts';
import { renderTable, type Cell } from './terminal/table.ts';

const load = createRequire(import.meta.url);

export type Format = 'table' | 'json' | 'yaml';
export type Colors = ReturnType<typeof pc.createColors>;

/** How `-o` and `--jq` change what a command prints; see `options/format.ts`. */
export interface PrintedView {
  /** Every column and every value in full. */
  readonly wide?: boolean;
  /** Clear the terminal before a list. */
  readonly redraw?: boolean;
  /** Print only the names of a list, one a line, or the name of one object. */
  readonly names?: boolean;
  /** Changes the text of a value in JSON before it is printed. */
  readonly select?: (value: unknown) => string;
}

export interface Rows<T> {
  readonly rows: readonly T[];
  /** The column by which other commands name a row. It is always shown in full. Without it, the first column. */
  readonly key?: string;
  /** The column of sentences. Where a terminal has no room for it, each sentence is below its row. */
  readonly note?: string;
  readonly columns: Readonly<Record<string, (row: T, colors: Colors) => Cell>>;
  /** Printed instead of an empty table. */
  readonly none: string;
}

export interface TerminalOutput {
  readonly colors: Colors;
  readonly isTerminal: boolean;
  readonly width: number;
  line(text?: string): void;
  /** Prints sentences: on a terminal in lines that fit. */
  prose(text: string): void;
  /** Writes the output of a program: unchanged to a file or a pipe, without control characters to a terminal. */
  program(stream: 'stdout' | 'stderr', bytes: Uint8Array): void;
  /** Prints text that is not the answer to standard error. */
  note(text: string): void;
  /** Whether a person sees standard error at once. */
  readonly isNoted: boolean;
  /** While a live view owns the terminal, it takes the notes and shows them itself. Undefined: prints them again. */
  divertNotes(sink: ((text: string) => void) | undefined): void;
  /** Prints a list: a table for people, the rows for programs. */
  list<T>(format: Format, rows: Rows<T>): void;
  /** Prints one object: a field a line for people, and YAML for a field that holds others; the value for programs. */
  one(format: Format, value: unknown, fields: () => readonly (readonly [string, unknown])[]): void;
  value(format: 'json' | 'yaml', value: unknown): void;
  /** Chooses the view, before the command runs. */
  use(view: PrintedView): void;
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
  let view: PrintedView = {};
  const line = (text = ''): void => writeLine(stdout, text);
  const value: TerminalOutput['value'] = (format, content) => {
    if (format === 'json') {
      stdout.write(view.select ? view.select(content) : `${JSON.stringify(content, null, 2)}\n`);
      return;
    }
    stdout.write(yamlOf(content));
  };
  return {
    colors,
    isTerminal,
    // Read at each use, because a user may change the size of the window.
    get width() {
      return stdout.columns || 120;
    },
    line,
    prose(text) {
      line(isTerminal && !view.wide ? wrapProse(text, this.width) : text);
    },
    program: createProgramOutput({ stdout, stderr }),
    ...createNotes(stderr),
    value,
    use(chosen) {
      view = chosen;
    },
    list(format, { rows, columns, none, key, note }) {
      if (format !== 'table') {
        value(format, rows);
        return;
      }
      const titles = Object.keys(columns);
      if (view.names) {
        const plain = pc.createColors(false);
        for (const row of rows) line(String(columns[key ?? titles[0] ?? '']?.(row, plain) ?? ''));
        return;
      }
      if (view.redraw) stdout.write('\u001b[2J\u001b[H');
      if (rows.length === 0) {
        this.prose(none);
        return;
      }
      const cells = rows.map((row) => titles.map((title) => columns[title]?.(row, colors) ?? ''));
      const width = isTerminal && !view.wide ? this.width : undefined;
      const head = titles.map((title) => colors.bold(title.toUpperCase()));
      const at = (title: string | undefined) => (title === undefined ? undefined : titles.indexOf(title));
      line(renderTable({ head, rows: cells, width, key: at(key), note: at(note) }));
    },
    one(format, content, fields) {
      if (format !== 'table') {
        value(format, content);
        return;
      }
      const rows = fields().map(([name, field]): [string, Cell] => [name, cellOf(field)]);
      if (view.names) {
        line(String((rows.find(([name]) => name === 'name') ?? rows[0])?.[1] ?? ''));
        return;
      }
      const room = this.width - 2 - Math.max(0, ...rows.map(([name]) => name.length));
      if (isTerminal && !view.wide && room < leastOfValue) {
        for (const [name, cell] of rows) line(`${colors.bold(name)}${besideOrBelow(name, cell, this.width)}`);
        return;
      }
      const fit = (cell: Cell): Cell =>
        typeof cell === 'string' && isTerminal && !view.wide ? wrapWords(cell, room) : cell;
      line(renderTable({ rows: rows.map(([name, cell]) => [colors.bold(name), fit(cell)]) }));
    },
  };
}

function createNotes(stderr: OutputStream): Pick<TerminalOutput, 'note' | 'isNoted' | 'divertNotes'> {
  const isNoted = stderr.isTTY === true;
  let diverted: ((text: string) => void) | undefined;
  return {
    isNoted,
    note(text) {
      if (diverted) diverted(text);
      else writeLine(stderr, isNoted ? wrapProse(text, stderr.columns || 120) : text);
    },
    divertNotes(sink) {
      diverted = sink;
    },
  };
}

/** Only this output needs the package. */
/** A number that keeps its text. The contracts, which know it, would delay every command. */
const isExactNumber = (value: unknown): boolean =>
  typeof value === 'object' && Object.prototype.toString.call(value) === '[object Number]';
const exactTag = {
  identify: isExactNumber,
  default: true,
  tag: 'tag:yaml.org,2002:float',
  stringify: ({ value }: { value: unknown }) => JSON.stringify(value),
  resolve: Number,
};

function yamlOf(content: unknown): string {
  const yaml = load('yaml') as { stringify: typeof stringify; Scalar: typeof Scalar };
  const asNode = (_key: unknown, each: unknown): unknown => (isExactNumber(each) ? new yaml.Scalar(each) : each);
  // Other programs read YAML 1.1, in which a plain `yes` is no text.
  const options = { lineWidth: 0, compat: 'yaml-1.1' } as const;
  return yaml.stringify(content, asNode, { ...options, customTags: (tags: Tags) => [exactTag, ...tags] });
}

const cellOf = (field: unknown): Cell => {
  if (typeof field !== 'object' || field === null) return field as Cell;
  if (isExactNumber(field)) return JSON.stringify(field);
  return Object.keys(field).length === 0 ? JSON.stringify(field) : yamlOf(field).trimEnd();
};

/** A value beside its name, or in lines below it where it has no room. */
function besideOrBelow(name: string, cell: Cell, width: number): string {
  const text = renderTable({ rows: [[cell]] });
  const fits = !text.includes('\n') && name.length + 2 + stringWidth(text) <= width;
  return fits ? `  ${text}` : `\n${wrapWords(text, width - 2)}`.replaceAll('\n', '\n  ');
}

/** The least room for values beside their names. With less, a long value is below its name. */
const leastOfValue = 20;

/** Names, facts and errors may come from a host, so no line controls a terminal. */
function writeLine(stream: OutputStream, text: string): void {
  stream.write(`${stream.isTTY === true ? withoutControls(text) : text}\n`);
}
