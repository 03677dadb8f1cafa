/**
 * Writes and reads large JSON in slices, so that several MB do not keep the event loop. The text is ordinary JSON: its
 * only line breaks are where the writer has cut it, and they show the reader where to cut.
 */
import { toRecord } from '../ordered-map.ts';
import { parseExact } from '../read-json.ts';
import { Pace } from './pace.ts';

/** Values (and 64 characters of text each count as one) that are written or read without a cut: about a millisecond. */
const uncut = 4000;
const charactersOfOne = 64;
/** A line is a part of a value that is read at once: at most some 32,000 characters, unless one member has more. */
const valuesOfLine = 500;
/** A text below this is read at once. */
export const charactersUncut = 256 * 1024;

/** Whether the value is small enough to write it at once. */
export function isLargeJson(value: unknown): boolean {
  return left(value, uncut) < 0;
}

function left(value: unknown, budget: number): number {
  let rest = budget - 1;
  if (typeof value === 'string') return rest - Math.floor(value.length / charactersOfOne);
  if (typeof value !== 'object' || value === null) return rest;
  if (Array.isArray(value)) {
    for (const item of value) {
      rest = left(item, rest);
      if (rest < 0) return rest;
    }
    return rest;
  }
  for (const key in value) {
    const member = (value as Record<string, unknown>)[key];
    // Most members are short texts and numbers.
    if (typeof member === 'string' && member.length < charactersOfOne) rest -= 1;
    else rest = left(member, rest);
    if (rest < 0) return rest;
  }
  return rest;
}

/**
 * The text of `JSON.stringify`, with line breaks where it was cut. The value must not change meanwhile, and must be JSON.
 */
export async function writeJson(value: unknown, pace: Pace = new Pace()): Promise<string> {
  const lines: string[] = [];
  for (const line of linesOfJson(value)) {
    lines.push(line);
    if (pace.isOver) await pace.turn();
  }
  return lines.join('\n');
}

/** The lines of {@link writeJson}, for a writer that needs no text of all of them. */
export const linesOfJson = (value: unknown): Generator<string> => linesOf('', value);

/** Each member begins with its comma. Small members share a line, and are written together, because a call costs more than their text. */
function* linesOf(before: string, value: unknown): Generator<string> {
  if (typeof value !== 'object' || value === null || 'toJSON' in value || !isLargeJson(value)) {
    yield before + JSON.stringify(value);
    return;
  }
  const isList = Array.isArray(value);
  yield before + (isList ? '[' : '{');
  let line: unknown[] = [];
  let size = 0;
  let comma = '';
  const ended = (): string => {
    const text = comma + JSON.stringify(isList ? line : toRecord(line as [string, unknown][])).slice(1, -1);
    line = [];
    size = 0;
    comma = ',';
    return text;
  };
  for (const key of isList ? value.keys() : Object.keys(value)) {
    const member: unknown = (value as Readonly<Record<string | number, unknown>>)[key];
    if (member === undefined && !isList) continue;
    const rest = left(member, uncut);
    if (rest < 0) {
      if (size > 0) yield ended();
      yield* linesOf(isList ? comma : `${comma}${JSON.stringify(key)}:`, member);
      comma = ',';
      continue;
    }
    line.push(isList ? member : [key, member]);
    size += uncut - rest;
    if (size >= valuesOfLine) yield ended();
  }
  if (size > 0) yield ended();
  yield isList ? ']' : '}';
}

/**
 * Reads the text of `writeJson` in slices, and any other JSON at once. Values in lines that `earlier` knows are shared
 * with the texts that it has read. @throws SyntaxError
 */
export async function readJson(
  text: string,
  { pace = new Pace(), earlier }: { pace?: Pace; earlier?: EarlierLines } = {},
): Promise<unknown> {
  if (text.length < charactersUncut || !text.includes('\n')) return parseExact(text);
  try {
    return await joined(text, { pace, earlier });
  } catch {
    // Another program's line breaks are at other places.
    return parseExact(text);
  }
}

/** A list or a map that is read: its items or its entries so far. */
interface Open {
  readonly isList: boolean;
  /** Its name, when it is the member of a map. */
  readonly key: string;
  readonly members: unknown[];
}
/** The items of a list, or the entries of a map. */
type Members = { readonly items: readonly unknown[] } | { readonly entries: readonly [string, unknown][] };

interface ReadText {
  readonly lines: readonly string[];
  /** By line. Undefined for one that opens or closes a list or a map. */
  readonly members: readonly (Members | undefined)[];
  readonly characters: number;
}

/**
 * The last large texts that were read, line by line. A new version of a text has most lines of the one before at the same
 * places, and they need not be parsed again. Only for values that never change.
 */
export class EarlierLines {
  readonly #most: number;
  readonly #texts: ReadText[] = [];

  /** @param mostCharacters of all texts that are kept */
  constructor({ mostCharacters }: { mostCharacters: number }) {
    this.#most = mostCharacters;
  }

  find(line: string, index: number): Members | undefined {
    return this.#texts.find(({ lines }) => lines[index] === line)?.members[index];
  }

  keep(text: ReadText): void {
    this.#texts.unshift(text);
    let characters = 0;
    const kept = this.#texts.findIndex((each) => (characters += each.characters) > this.#most);
    if (kept >= 0) this.#texts.length = kept;
  }
}

/** A line that opens a list or a map: its key, when it is the member of a map, and the bracket. */
const opening = /^,?(?:("(?:[^"\\]|\\.)*"):)?([[{])$/;

async function joined(
  text: string,
  { pace, earlier }: { pace: Pace; earlier: EarlierLines | undefined },
): Promise<unknown> {
  const lines = text.split('\n');
  const members: Members[] = [];
  const [first] = lines;
  if (first !== '[' && first !== '{') throw new SyntaxError('not written by writeJson');
  const open: Open[] = [{ isList: first === '[', key: '', members: [] }];
  let whole: unknown;
  for (const [index, line] of lines.entries()) {
    if (index === 0) continue;
    const container = open.at(-1);
    if (!container) throw new SyntaxError('text after the end');
    const opened = opening.exec(line);
    if (line === (container.isList ? ']' : '}')) {
      whole = valueOf(container);
      open.pop();
      const outer = open.at(-1);
      outer?.members.push(outer.isList ? whole : [container.key, whole]);
    } else if (opened) {
      const key = opened[1];
      if ((key === undefined) !== container.isList) throw new SyntaxError('a member without a key');
      open.push({ isList: opened[2] === '[', key: JSON.parse(key ?? '""') as string, members: [] });
    } else {
      const found = earlier?.find(line, index) ?? membersOf(container, line.startsWith(',') ? line.slice(1) : line);
      add(container, found);
      if (earlier) members[index] = found;
    }
    if (pace.isOver) await pace.turn();
  }
  if (open.length > 0) throw new SyntaxError('no end');
  earlier?.keep({ lines, members, characters: text.length });
  return whole;
}

const valueOf = ({ isList, members }: Open): unknown => (isList ? members : toRecord(members as [string, unknown][]));

function membersOf({ isList }: Open, text: string): Members {
  if (isList) return { items: parseExact(`[${text}]`) as unknown[] };
  return { entries: Object.entries(parseExact(`{${text}}`) as object) };
}

/** @throws SyntaxError for the items of a list in a map, which another program may have written */
function add({ isList, members }: Open, found: Members): void {
  if ('items' in found !== isList) throw new SyntaxError('not written by writeJson');
  for (const member of 'items' in found ? found.items : found.entries) members.push(member);
}
