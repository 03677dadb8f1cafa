/**
 * Gathers what a template names: `get_file`, templates used as types, environments and what those name in turn.
 * The server reads no disk of ours, so all of it travels with the request.
 *
 * The text of the template is sent as it stands, not parsed and written anew: the server then speaks of lines and columns
 * that the author finds. So the key of a file is the name that the text has for it. Only where that name would be
 * ambiguous (a file that is named relative to another folder than the template's) is the name replaced, in place, without
 * moving any line.
 */
import { AnnealError, type Mistake } from '@anneal/contracts/errors.ts';
import { LineCounter, isPair, isScalar, parseDocument, visit, type Scalar } from 'yaml';
import type { TemplateBundle } from './stacks.ts';

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

/** @throws AnnealError InvalidRequest that names every file that cannot be read, and where it is named. */
export async function collectFiles(parameters: {
  /** Where the template is. */
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
      const reason = error instanceof Error ? error.message : String(error);
      mistakes.push({ ...place, code: 'FileNotReadable', message: `cannot be read: ${reason}` });
      return undefined;
    }
  };

  /** The text with the names under which its files are sent; gathers those files. */
  const gather = async (text: string, url: URL, file: string): Promise<string> => {
    const base = new URL('.', url);
    const replacements: { start: number; end: number; key: string }[] = [];
    for (const { name, kind, start, end, line, column } of referencesIn(text)) {
      const target = new URL(name, base);
      // A name that the root template would use for the same file needs no other.
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
  const text = await attempt(template, { path: display(template), file: display(template) });
  const sent = text === undefined ? '' : await gather(text, template, display(template));
  const environmentFiles: string[] = [];
  for (const url of environments) {
    const name = display(url);
    const content = await attempt(url, { path: name, file: name });
    if (content === undefined) continue;
    environmentFiles.push(name);
    files[name] = await gather(content, url, name);
  }
  if (mistakes.length > 0) {
    throw new AnnealError(
      'InvalidRequest',
      mistakes.length === 1 ? 'A file cannot be read.' : `${mistakes.length} files cannot be read.`,
      { mistakes },
    );
  }
  return { template: sent, environmentFiles, files };
}

const relativeTo = (root: URL, url: URL): string =>
  url.href.startsWith(root.href) ? decodeURIComponent(url.href.slice(root.href.length)) : url.href;

const isTemplateName = (value: string): boolean => /\.(ya?ml|template)$/.test(value);

/** In order of appearance. A text that is no YAML has none: the server says what is wrong with it. */
export function referencesIn(text: string): Reference[] {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, uniqueKeys: false });
  if (document.errors.length > 0) return [];
  const references: Reference[] = [];
  const add = (node: Scalar, kind: Reference['kind']): void => {
    if (!node.range || typeof node.value !== 'string') return;
    const [start, end] = node.range;
    const { line, col } = lines.linePos(start);
    references.push({ name: node.value, kind, start, end, line, column: col });
  };
  visit(document, {
    Pair(_key, pair, path) {
      if (!isScalar(pair.key) || !isScalar(pair.value) || typeof pair.value.value !== 'string') return;
      if (pair.key.value === 'get_file') add(pair.value, 'file');
      else if (isTemplateName(pair.value.value) && namesType(pair.key.value, path)) add(pair.value, 'template');
    },
  });
  return references;
}

/** True at `resources.<name>.type`, at the type of a group's members, and within `resource_registry`. */
function namesType(key: unknown, path: readonly unknown[]): boolean {
  const keys = path.flatMap((node) => (isPair(node) && isScalar(node.key) ? [node.key.value] : []));
  if (keys[0] === 'resource_registry') return true;
  if (key !== 'type' || keys[0] !== 'resources') return false;
  return keys.length === 2 || keys.at(-1) === 'resource_def' || keys.at(-1) === 'resource';
}
