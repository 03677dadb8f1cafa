/**
 * Gathers the files that a template names: `get_file`, templates used as types, environments, and files named by those
 * in turn. The server does not read the client's disk, so all of them travel with the request.
 *
 * The text of the template is sent unchanged, because the server's mistakes then name the author's lines and columns.
 * So the key of a file is its name in the text. Only an ambiguous name (of a file that is relative to another folder
 * than the template's) is replaced, in place, without moving any line.
 *
 * It uses the server's own reader, so a text that the server accepts never lacks its files.
 */
import { AnnealError, type Mistake, hasCode } from '@anneal/contracts/errors.ts';
import { Mistakes } from '@anneal/hot/mistakes.ts';
import type { YamlNode } from '@anneal/python/yaml/node.ts';
import { parse } from '@anneal/hot/syntax/parse.ts';
import type { TemplateBundle } from './stacks.ts';

/** Reads the files that a template names. Rejects when the file does not exist or cannot be read. */
export interface Reader {
  /** The text at a URL (`file:`, `http:`, `https:`). */
  (url: URL): Promise<string>;
}

interface Reference {
  name: string;
  kind: 'file' | 'template';
  start: number;
  end: number;
  line: number;
  column: number;
}

/**
 * @throws AnnealError InvalidRequest that names every file that cannot be read, and the place of its name; TooLarge of
 *   the reader
 */
export async function collectFiles(parameters: {
  /** The place of the template. */
  template: URL;
  environments: readonly URL[];
  read: Reader;
}): Promise<TemplateBundle> {
  const { template, environments, read } = parameters;
  const root = new URL('.', template);
  const files: Record<string, string> = {};
  const mistakes: Mistake[] = [];
  const known = new Set<string>();

  const attempt = async (url: URL, place: Omit<Mistake, 'code' | 'message'>): Promise<string | undefined> => {
    try {
      return await read(url);
    } catch (error) {
      // The next file would be too much as well.
      if (hasCode(error, 'TooLarge')) throw error;
      const reason = error instanceof Error ? error.message : String(error);
      mistakes.push({ ...place, code: 'FileNotReadable', message: `cannot be read: ${reason}` });
      return undefined;
    }
  };

  /** Returns the text with the names under which its files are sent; gathers those files. */
  const gather = async (text: string, url: URL, file: string): Promise<string> => {
    const base = new URL('.', url);
    const replacements: { start: number; end: number; key: string }[] = [];
    for (const { name, kind, start, end, line, column } of referencesIn(text)) {
      const target = new URL(name, base);
      // A name that the root template would also use for the same file needs no replacement.
      const key = new URL(name, root).href === target.href ? name : target.href;
      if (key !== name) replacements.push({ start, end, key });
      if (known.has(key)) continue;
      known.add(key);
      const content = await attempt(target, { path: name, file, line, column });
      if (content === undefined) continue;
      files[key] = kind === 'template' ? await gather(content, target, key) : content;
    }
    let result = text;
    for (const { start, end, key } of replacements.reverse()) {
      result = result.slice(0, start) + JSON.stringify(key) + result.slice(end);
    }
    return result;
  };

  const display = (url: URL): string => relativeTo(root, url);
  const text = await attempt(template, { path: placeOf(template), file: placeOf(template) });
  const sent = text === undefined ? '' : await gather(text, template, display(template));
  const environmentFiles: string[] = [];
  for (const url of environments) {
    const name = display(url);
    const content = await attempt(url, { path: placeOf(url), file: placeOf(url) });
    if (content === undefined) continue;
    environmentFiles.push(name);
    files[name] = await gather(content, url, name);
  }
  if (mistakes.length > 0) {
    throw new AnnealError(
      'InvalidRequest',
      mistakes.length === 1 ? 'Cannot read a file.' : `Cannot read ${mistakes.length} files.`,
      { mistakes, details: { remedy: 'Correct the names of the files, or create them.' } },
    );
  }
  return { template: sent, environmentFiles, files };
}

const relativeTo = (root: URL, url: URL): string =>
  url.href.startsWith(root.href) ? decodeURIComponent(url.href.slice(root.href.length)) : url.href;

/** The whole path, because the name alone does not tell which folder was searched. */
const placeOf = (url: URL): string => (url.protocol === 'file:' ? decodeURIComponent(url.pathname) : url.href);

const isTemplateName = (value: string): boolean => /\.(ya?ml|template)$/.test(value);

/** References in order of appearance. A text that is not YAML has none: the server reports its mistakes. */
export function referencesIn(text: string): Reference[] {
  const root = parse({ text, file: undefined, mistakes: new Mistakes() });
  if (!root) return [];
  const starts = [0, ...Array.from(text.matchAll(/\n/g), ({ index }) => index + 1)];
  // Aliases and merged maps lead to the same place of the text several times.
  const references = new Map<number, Reference>();
  const add = (node: YamlNode, kind: Reference['kind']): void => {
    if (node.kind !== 'scalar' || typeof node.value !== 'string' || !node.at) return;
    const { line, column } = node.at;
    const start = (starts[line - 1] ?? 0) + column - 1;
    references.set(start, { name: node.value, kind, start, end: endOf(text, start, node.value), line, column });
  };
  const visit = (node: YamlNode, path: readonly string[]): void => {
    if (node.kind === 'list') for (const item of node.items) visit(item, path);
    if (node.kind !== 'map') return;
    for (const [key, { value }] of node.entries) {
      if (key === 'get_file') add(value, 'file');
      else if (value.kind === 'scalar' && isTemplateName(String(value.value)) && namesType(key, path)) {
        add(value, 'template');
      }
      visit(value, [...path, key]);
    }
  };
  visit(root, []);
  return [...references.values()].sort((one, other) => one.start - other.start);
}

const quoted = { '"': /"(?:[^"\\]|\\[^])*"/y, "'": /'(?:[^']|'')*'/y };

/** The end of a scalar in the text: behind its quotes, or behind its words, between which lines may break. */
function endOf(text: string, start: number, value: string): number {
  const first = text[start];
  if (first === '"' || first === "'") {
    const pattern = quoted[first];
    pattern.lastIndex = start;
    return pattern.test(text) ? pattern.lastIndex : start;
  }
  let end = first === '|' || first === '>' ? text.indexOf('\n', start) : start;
  for (const word of value.split(/\s+/).filter((each) => each !== '')) end = text.indexOf(word, end) + word.length;
  return end;
}

/** True at `resources.<name>.type`, at the type of a group's members, and within `resource_registry`. */
function namesType(key: string, path: readonly string[]): boolean {
  if (path[0] === 'resource_registry') return true;
  if (key !== 'type' || path[0] !== 'resources') return false;
  return path.length === 2 || path.at(-1) === 'resource_def' || path.at(-1) === 'resource';
}
