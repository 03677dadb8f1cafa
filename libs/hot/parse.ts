/**
 * Text to nodes. One reader for YAML 1.1 and JSON, since only a reader that knows places can report them; a text that
 * is JSON has its words resolved by JSON's rules. Never throws.
 */
import type { Json } from '@anneal/contracts/json.ts';
import type { Source } from '@anneal/contracts/plan.ts';
import { isAlias, isMap, isScalar, isSeq, LineCounter, parseDocument, type Node as YamlNode } from 'yaml';
import type { Mistakes } from './mistakes.ts';
import { type Entry, type Node, nullNode } from './node.ts';
import { resolvePlain, type Scalar } from './scalar.ts';

/** Deeper than any template that people write; keeps every walk over a document within the stack. */
const deepest = 100;
/** Nodes after aliases are followed: a few lines of aliases can otherwise stand for billions. */
const largest = 1_000_000;

export interface ParseParameters {
  readonly text: string;
  /** Named in mistakes; undefined for the root template. */
  readonly file: string | undefined;
  readonly mistakes: Mistakes;
}

/** Gives undefined when there is nothing to work on; then there is at least one mistake. */
export function parse({ text, file, mistakes }: ParseParameters): Node | undefined {
  const lines = new LineCounter();
  const name = file ?? '[root stack]';
  const at = (offset: number): Source => {
    const { line, col } = lines.linePos(offset);
    return { ...(file !== undefined && { file }), line: Math.max(1, line), column: Math.max(1, col) };
  };
  const refuse = (message: string, offset: number): void =>
    mistakes.add({
      code: 'InvalidYaml',
      message: `Error parsing template ${name} ${message}`,
      path: '',
      at: at(offset),
      found: message,
    });
  const json = parseJson(text);
  try {
    const document = parseDocument(text, {
      version: '1.1',
      schema: 'failsafe',
      merge: false,
      uniqueKeys: false,
      prettyErrors: false,
      lineCounter: lines,
      logLevel: 'silent',
    });
    if (document.errors.length > 0) {
      if (json !== undefined) return fromJson({ value: json, mistakes });
      for (const error of document.errors) refuse(error.message, error.pos[0]);
      return undefined;
    }
    const before = mistakes.count;
    const reader = new Reader({ at, refuse, isJson: json !== undefined });
    const node = reader.read(document.contents, 0);
    return mistakes.count > before ? undefined : node;
  } catch (error) {
    // The reader underneath recurses; a hundred thousand brackets exhaust its stack before ours looks at them.
    refuse(error instanceof RangeError ? `nested deeper than ${deepest} levels` : String(error), 0);
    return undefined;
  }
}

function parseJson(text: string): Json | undefined {
  if (!/^\s*[[{]/.test(text)) return undefined;
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

/** A document that came as an object: the same nodes, without places. */
export function fromJson({ value, mistakes }: { value: Json; mistakes: Mistakes }): Node | undefined {
  const convert = (item: Json, depth: number): Node => {
    if (depth > deepest) throw new TooDeep();
    if (Array.isArray(item))
      return { kind: 'list', items: item.map((part) => convert(part, depth + 1)), at: undefined };
    if (typeof item === 'object' && item !== null) {
      const entries = Object.entries(item).map(
        ([key, part]) => [key, { at: undefined, value: convert(part, depth + 1) }] as const,
      );
      return { kind: 'map', entries: new Map<string, Entry>(entries), at: undefined };
    }
    return { kind: 'scalar', value: item ?? null, at: undefined };
  };
  try {
    return convert(value, 0);
  } catch (error) {
    if (!(error instanceof TooDeep)) throw error;
    const message = `Error parsing template: nested deeper than ${deepest} levels`;
    mistakes.add({ code: 'InvalidYaml', message, path: '', at: undefined });
    return undefined;
  }
}

class TooDeep extends Error {}

interface ReaderOptions {
  readonly at: (offset: number) => Source;
  readonly refuse: (message: string, offset: number) => void;
  readonly isJson: boolean;
}

class Reader {
  readonly #options: ReaderOptions;
  readonly #anchors = new Map<string, { node: Node; size: number }>();
  #size = 0;
  #tooLarge = false;

  constructor(options: ReaderOptions) {
    this.#options = options;
  }

  read(yaml: YamlNode | null | undefined, depth: number): Node {
    const start = yaml?.range?.[0] ?? 0;
    const at = this.#options.at(start);
    this.#count(1, start);
    if (!yaml || this.#tooLarge) return nullNode(at);
    if (depth > deepest) {
      this.#refuse(`nested deeper than ${deepest} levels`, start);
      return nullNode(at);
    }
    if (isAlias(yaml)) {
      const target = this.#anchors.get(yaml.source);
      if (!target) {
        this.#refuse(`the alias *${yaml.source} has no anchor before it`, start);
        return nullNode(at);
      }
      this.#count(target.size, start);
      return target.node;
    }
    const before = this.#size;
    const node = this.#readOwn(yaml, at, start, depth);
    if (yaml.anchor !== undefined) this.#anchors.set(yaml.anchor, { node, size: this.#size - before });
    return node;
  }

  #readOwn(yaml: YamlNode, at: Source, start: number, depth: number): Node {
    if (isScalar(yaml)) {
      const resolved = this.#scalar(typeof yaml.value === 'string' ? yaml.value : '', yaml.type === 'PLAIN', yaml.tag);
      if ('mistake' in resolved) this.#refuse(resolved.mistake, start);
      return 'mistake' in resolved ? nullNode(at) : { kind: 'scalar', ...resolved, at };
    }
    if (isSeq(yaml)) {
      this.#collectionTag(yaml.tag, 'seq', start);
      return { kind: 'list', items: yaml.items.map((item) => this.read(item as YamlNode, depth + 1)), at };
    }
    if (!isMap(yaml)) return nullNode(at);
    this.#collectionTag(yaml.tag, 'map', start);
    const entries = new Map<string, Entry>();
    const merged: Node[] = [];
    for (const pair of yaml.items) {
      const key = pair.key as YamlNode | null;
      const value = pair.value as YamlNode | null;
      if (isScalar(key) && key.type === 'PLAIN' && key.value === '<<') {
        merged.push(this.read(value, depth + 1));
        continue;
      }
      const name = this.#key(key, depth);
      const entry = { at: this.#options.at(key?.range?.[0] ?? start), value: this.#value(value, key, depth) };
      // A repeated key is legal and the last one wins, at the place of the first.
      if (name !== undefined) entries.set(name, entry);
    }
    for (const node of merged) this.#merge(entries, node, start);
    return { kind: 'map', entries, at };
  }

  /** A value that is not there (`{a, b}`, `a:`) stands where its key does. */
  #value(value: YamlNode | null, key: YamlNode | null, depth: number): Node {
    if (value) return this.read(value, depth + 1);
    this.#count(1, 0);
    return nullNode(this.#options.at(key?.range?.[0] ?? 0));
  }

  #merge(entries: Map<string, Entry>, node: Node, offset: number): void {
    const sources = node.kind === 'list' ? node.items : [node];
    for (const source of sources) {
      if (source.kind !== 'map') {
        this.#refuse('the value of << must be a map or a list of maps', offset);
        continue;
      }
      for (const [key, entry] of source.entries) if (!entries.has(key)) entries.set(key, entry);
    }
  }

  #key(key: YamlNode | null, depth: number): string | undefined {
    const offset = key?.range?.[0] ?? 0;
    const node = this.read(key, depth + 1);
    if (node.kind !== 'scalar') {
      this.#refuse('a key must be a word, not a list or a map', offset);
      return undefined;
    }
    if (typeof node.value === 'string') return node.value;
    if (typeof node.value === 'number') return node.written ?? String(node.value);
    // Deeper down it is data, and becomes the text that JSON gives it; a name of a section cannot be one.
    if (depth > 1) return String(node.value);
    const written = isScalar(key) ? (key.source ?? '') : '';
    const what = node.value === null ? 'null' : `the boolean ${node.value}`;
    this.#refuse(`the key ${written || '(nothing)'} is ${what} in YAML 1.1; put it in quotes`, offset);
    return undefined;
  }

  #scalar(text: string, plain: boolean, tag: string | undefined): Scalar {
    const standard = 'tag:yaml.org,2002:';
    if (tag === undefined) {
      if (!plain) return { value: text };
      return this.#options.isJson ? { value: JSON.parse(text) as null | boolean | number } : resolvePlain(text);
    }
    if (tag === '!' || tag === `${standard}str` || tag === `${standard}timestamp`) return { value: text };
    const kinds: Record<string, string> = { null: 'object', bool: 'boolean', int: 'number', float: 'number' };
    const kind = tag.startsWith(standard) ? tag.slice(standard.length) : '';
    if (!Object.hasOwn(kinds, kind)) return { mistake: `could not determine a constructor for the tag ${tag}` };
    const resolved = resolvePlain(text);
    if ('mistake' in resolved || typeof resolved.value === kinds[kind]) return resolved;
    return { mistake: `${text} is not what its tag ${tag} says` };
  }

  #collectionTag(tag: string | undefined, expected: 'map' | 'seq', offset: number): void {
    if (tag === undefined || tag === '!' || tag === `tag:yaml.org,2002:${expected}`) return;
    this.#refuse(`could not determine a constructor for the tag ${tag}`, offset);
  }

  #count(nodes: number, offset: number): void {
    this.#size += nodes;
    if (this.#size <= largest || this.#tooLarge) return;
    this.#tooLarge = true;
    this.#options.refuse(`more than ${largest} values once its aliases are followed`, offset);
  }

  #refuse(message: string, offset: number): void {
    this.#options.refuse(message, offset);
  }
}
