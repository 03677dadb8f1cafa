/**
 * The place of the cursor in a YAML text that may be unfinished: the keys around it, and whether a key or a value is
 * being written. It reads indentation only, because a parser refuses most texts while they are written. Pure.
 */
export interface CursorPlace {
  /** The keys from the root; `*` for an item of a list. */
  readonly path: readonly string[];
  readonly writes: 'key' | 'value';
  /** The part of the word that is already there. */
  readonly prefix: string;
  /** The keys that the same map already has. */
  readonly siblings: readonly string[];
}

interface Line {
  readonly indent: number;
  /** Where the key begins, behind the marks of list items. */
  readonly keyAt: number;
  readonly items: number;
  readonly key: string | undefined;
}

const lineForm = /^( *)((?:- +)*)(?:(["']?)([^\s"'#{}[\],:][^"'#{}[\],]*?)\3:(?= |$))?/;

function readLine(text: string): Line | undefined {
  if (/^\s*(?:#|$)/.test(text)) return undefined;
  const [, spaces = '', marks = '', , key] = lineForm.exec(text) ?? [];
  return {
    indent: spaces.length,
    keyAt: spaces.length + marks.length,
    items: marks.split('-').length - 1,
    key,
  };
}

/** The keys above a line that begins at this column, from the root. */
function pathAbove(lines: readonly string[], { column, isItem }: { column: number; isItem: boolean }): string[] {
  const path: string[] = [];
  let most = column;
  // The key of a list may stand in the same column as the marks of its items.
  let sameColumn = isItem;
  for (let at = lines.length - 1; at >= 0 && (most > 0 || sameColumn); at -= 1) {
    const line = readLine(lines[at] ?? '');
    if (!line) continue;
    const isAbove = line.keyAt < most || (sameColumn && line.keyAt === most && line.items === 0);
    if (line.key !== undefined && isAbove) {
      path.unshift(line.key);
      most = line.keyAt;
      sameColumn = false;
    }
    if (line.items > 0 && line.indent < most) {
      path.unshift('*');
      most = line.indent;
      sameColumn = true;
    }
  }
  return path;
}

/** The keys of the map around a line: the lines above and below in the same column, up to the ends of the map. */
function siblingsOf(lines: readonly string[], at: number, column: number): string[] {
  const found: string[] = [];
  const look = (index: number, step: number): void => {
    for (let next = index + step; next >= 0 && next < lines.length; next += step) {
      const line = readLine(lines[next] ?? '');
      if (!line) continue;
      if (line.keyAt < column) return;
      if (line.keyAt === column && line.key !== undefined) found.push(line.key);
      // The mark of an item begins a map of its own.
      if (line.items > 0 && line.keyAt === column && step < 0) return;
      if (line.items > 0 && line.indent <= column && step > 0) return;
    }
  };
  look(at, -1);
  look(at, 1);
  return found;
}

const keyForm = /^( *)((?:- +)*)([\w:.$-]*)$/;
const valueForm = /^( *)((?:- +)*)["']?([^\s"'#{}[\],:][^"'#{}[\],]*?)["']?:\s+(.*)$/;
/** In braces: `{ get_par`, `{ get_param: na`, `{ get_attr: [server, na`. */
const inBraces = /\{\s*(?:(\w+):\s*(?:\[([^\]{}]*,)?\s*)?)?([\w:.$-]*)$/;

/** @param text up to the end of the document; `position` counts its characters */
export function placeAt(text: string, position: number): CursorPlace | undefined {
  const before = text.slice(0, position).split('\n');
  const line = before.pop() ?? '';
  const all = text.split('\n');
  const key = keyForm.exec(line);
  if (key) {
    const [, spaces = '', marks = '', prefix = ''] = key;
    const column = spaces.length + marks.length;
    const items = marks.split('-').length - 1;
    const above = pathAbove(before, { column: items > 0 ? spaces.length : column, isItem: items > 0 });
    const path = [...above, ...Array.from({ length: items }, () => '*')];
    // A plain word in a list is an item of it; a function may also begin there.
    return { path, writes: 'key', prefix, siblings: siblingsOf(all, before.length, column) };
  }
  const value = valueForm.exec(line);
  const braces = inBraces.exec(line);
  if (!value && !braces) return undefined;
  const [, spaces = '', marks = '', name = '', written = ''] = value ?? /^( *)((?:- +)*)()/.exec(line) ?? [];
  const column = spaces.length + marks.length;
  const items = marks.split('-').length - 1;
  const above = pathAbove(before, { column: items > 0 ? spaces.length : column, isItem: items > 0 });
  const path = [...above, ...Array.from({ length: items }, () => '*'), ...(name === '' ? [] : [name])];
  if (braces) {
    const [, call, items_, prefix = ''] = braces;
    if (call === undefined) return { path, writes: 'key', prefix, siblings: [] };
    const inside =
      items_ === undefined
        ? []
        : items_
            .split(',')
            .slice(0, -1)
            .map((item) => item.trim());
    return { path: [...path, call, ...inside], writes: 'value', prefix, siblings: [] };
  }
  const list = /^\[([^\]]*,)?\s*([\w:.$-]*)$/.exec(written);
  if (list) {
    const inside = (list[1] ?? '')
      .split(',')
      .slice(0, -1)
      .map((item) => item.trim());
    return { path: [...path, ...inside], writes: 'value', prefix: list[2] ?? '', siblings: [] };
  }
  return /^[\w:.$-]*$/.test(written) ? { path, writes: 'value', prefix: written, siblings: [] } : undefined;
}

/** The names that a section of a template declares, with the type of each resource. */
export function declaredIn(text: string, section: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  const lines = text.split('\n');
  const start = lines.findIndex((line) => new RegExp(`^${section}:`).test(line));
  if (start < 0) return found;
  let column: number | undefined;
  let name: string | undefined;
  for (const text_ of lines.slice(start + 1)) {
    const line = readLine(text_);
    if (!line) continue;
    if (line.indent === 0) break;
    column ??= line.indent;
    if (line.indent === column && line.key !== undefined) {
      name = line.key;
      found.set(name, /[{,]\s*type:\s*([^\s,}]+)/.exec(text_)?.[1] ?? '');
    } else if (name !== undefined && line.key === 'type' && found.get(name) === '') {
      found.set(name, /type:\s*["']?([^\s"']+)/.exec(text_)?.[1] ?? '');
    }
  }
  return found;
}
