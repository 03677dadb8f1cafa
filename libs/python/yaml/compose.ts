/**
 * Composes nodes from tokens: the grammar of YAML 1.1 as libyaml reads it, with anchors and merge keys resolved. A text
 * is one document; anything after it is a mistake.
 */
import type { PlanSource } from '@anneal/contracts/plan.ts';
import { type MappingEntry, type YamlNode, nullNode, toExact } from './node.ts';
import { resolvePlain, resolveTagged } from './scalar.ts';
import { Scanner } from './scan.ts';
import { type Mark, type YamlToken, YamlError } from './token.ts';
import { type ExactKey, keyText } from '../values/record.ts';

/** Deeper than any real template. It keeps every walk over a document within the call stack. */
export const deepest = 100;
/** Maximum number of nodes after aliases are expanded, because a few lines of aliases can expand to billions. */
const largest = 1_000_000;

const standard = 'tag:yaml.org,2002:';

/** The content of a document. */
export interface Composed {
  /** Undefined when the document is empty. */
  readonly node: YamlNode | undefined;
}

/** @throws YamlError */
export function compose(text: string, at: (offset: number) => PlanSource): Composed {
  return new Composer(text, at).document();
}

class Composer {
  readonly #scanner: Scanner;
  readonly #at: (offset: number) => PlanSource;
  readonly #anchors = new Map<string, { node: YamlNode; size: number }>();
  readonly #named = new Set<string>();
  #size = 0;

  constructor(text: string, at: (offset: number) => PlanSource) {
    this.#scanner = new Scanner(text);
    this.#at = at;
  }

  document(): Composed {
    if (this.#is('stream end')) return { node: undefined };
    const isExplicit = this.#is('directive') || this.#is('document start');
    while (this.#is('directive')) this.#take();
    if (isExplicit) this.#expect('document start', 'did not find expected <document start>');
    const ends = ['directive', 'document start', 'document end', 'stream end'] as const;
    const node = isExplicit && this.#isAny(...ends) ? this.#empty(this.#peek().at) : this.#node(true, false, 0);
    while (this.#is('document end')) this.#take();
    if (this.#is('stream end')) return { node };
    const { at } = this.#peek();
    throw this.#isAny('directive', 'document start')
      ? new YamlError('expected a single document in the stream, but found another document', at)
      : new YamlError('did not find expected <document start>', at);
  }

  #peek(): YamlToken {
    return this.#scanner.peek();
  }
  #take(): YamlToken {
    return this.#scanner.next();
  }
  #is(kind: YamlToken['kind']): boolean {
    return this.#peek().kind === kind;
  }
  #isAny(...kinds: readonly YamlToken['kind'][]): boolean {
    return kinds.includes(this.#peek().kind);
  }
  #expect(kind: Mark, message: string): void {
    if (!this.#is(kind)) throw new YamlError(message, this.#peek().at);
    this.#take();
  }

  #empty(offset: number): YamlNode {
    this.#count(1, offset);
    return nullNode(this.#at(offset));
  }

  #count(nodes: number, offset: number): void {
    this.#size += nodes;
    if (this.#size > largest) throw new YamlError(`more than ${largest} values once its aliases are followed`, offset);
  }

  #node(block: boolean, indentless: boolean, depth: number): YamlNode {
    const { at: start } = this.#peek();
    if (depth > deepest) throw new YamlError(`nested deeper than ${deepest} levels`, start);
    if (this.#is('alias')) return this.#alias();
    const before = this.#size;
    this.#count(1, start);
    const { anchor, tag } = this.#attributes();
    const node = this.#content({ block, indentless, depth, tag, start, isMarked: anchor !== undefined });
    if (anchor !== undefined) this.#anchors.set(anchor, { node, size: this.#size - before });
    return node;
  }

  #alias(): YamlNode {
    const token = this.#take();
    const name = 'value' in token ? token.value : '';
    const target = this.#anchors.get(name);
    if (!target) throw new YamlError(`the alias *${name} has no anchor before it`, token.at);
    this.#count(target.size, token.at);
    return target.node;
  }

  /** Reads an anchor and a tag, in either order. */
  #attributes(): { anchor: string | undefined; tag: string | undefined } {
    let [anchor, tag]: (string | undefined)[] = [];
    for (;;) {
      const token = this.#peek();
      if (token.kind === 'anchor' && anchor === undefined) {
        if (this.#named.has(token.value)) throw new YamlError(`found duplicate anchor ${token.value}`, token.at);
        this.#named.add(token.value);
        anchor = token.value;
      } else if (token.kind === 'tag' && tag === undefined) tag = token.value;
      else return { anchor, tag };
      this.#take();
    }
  }

  #content(parameters: {
    block: boolean;
    indentless: boolean;
    depth: number;
    tag: string | undefined;
    start: number;
    isMarked: boolean;
  }): YamlNode {
    const { block, indentless, depth, tag, start, isMarked } = parameters;
    const token = this.#peek();
    if (token.kind === 'scalar') {
      this.#take();
      return this.#scalar(token.value, token.plain, tag, token.at);
    }
    const isSequence =
      token.kind === 'flow sequence' ||
      (block && token.kind === 'block sequence') ||
      (indentless && token.kind === 'block entry');
    if (isSequence) {
      this.#collectionTag(tag, 'seq', start);
      if (token.kind === 'block entry') return { kind: 'list', items: this.#indentless(depth), at: this.#at(token.at) };
      const items = token.kind === 'flow sequence' ? this.#flowSequence(depth) : this.#blockSequence(depth);
      return { kind: 'list', items, at: this.#at(token.at) };
    }
    if (token.kind === 'flow map' || (block && token.kind === 'block map')) {
      this.#collectionTag(tag, 'map', start);
      const pairs = token.kind === 'flow map' ? this.#flowMap(depth) : this.#blockMap(depth);
      return { kind: 'map', entries: this.#entries(pairs, depth), at: this.#at(token.at) };
    }
    if (tag === '!') return { kind: 'scalar', value: '', at: this.#at(start) };
    if (tag !== undefined || isMarked) return this.#scalar('', true, tag, start);
    throw new YamlError('did not find expected node content', token.at);
  }

  #scalar(value: string, plain: boolean, tag: string | undefined, offset: number): YamlNode {
    const at = this.#at(offset);
    if (tag === undefined && !plain) return { kind: 'scalar', value, at };
    const resolved = tag === undefined || tag === '!' ? resolvePlain(value) : resolveTagged(value, tag);
    if ('mistake' in resolved) throw new YamlError(resolved.mistake, offset);
    return { kind: 'scalar', ...resolved, at };
  }

  #collectionTag(tag: string | undefined, expected: 'map' | 'seq', offset: number): void {
    if (tag === undefined || tag === '!' || tag === standard + expected) return;
    throw new YamlError(`could not determine a constructor for the tag ${tag}`, offset);
  }

  #blockSequence(depth: number): YamlNode[] {
    this.#take();
    const items: YamlNode[] = [];
    while (this.#is('block entry')) {
      const { at } = this.#take();
      items.push(this.#isAny('block entry', 'block end') ? this.#empty(at) : this.#node(true, false, depth + 1));
    }
    this.#expect('block end', "did not find expected '-' indicator");
    return items;
  }

  /** Reads a list in a map whose dashes are at the indentation of the key. */
  #indentless(depth: number): YamlNode[] {
    const items: YamlNode[] = [];
    while (this.#is('block entry')) {
      const { at } = this.#take();
      const isEmpty = this.#isAny('block entry', 'key', 'value', 'block end');
      items.push(isEmpty ? this.#empty(at) : this.#node(true, false, depth + 1));
    }
    return items;
  }

  #blockMap(depth: number): Pair[] {
    this.#take();
    const pairs: Pair[] = [];
    const ends = ['key', 'value', 'block end'] as const;
    while (this.#is('key')) {
      const { at } = this.#take();
      const key = this.#keyOf(this.#isAny(...ends), true, at, depth);
      let value: YamlNode | undefined;
      if (this.#is('value')) {
        this.#take();
        if (!this.#isAny(...ends)) value = this.#node(true, true, depth + 1);
      }
      pairs.push({ ...key, node: value ?? this.#empty(key.at) });
    }
    this.#expect('block end', 'did not find expected key');
    return pairs;
  }

  #flowSequence(depth: number): YamlNode[] {
    this.#take();
    const items: YamlNode[] = [];
    while (!this.#is('flow sequence end')) {
      if (items.length > 0) this.#expect('flow entry', "did not find expected ',' or ']'");
      if (this.#is('flow sequence end')) break;
      if (!this.#is('key')) {
        items.push(this.#node(false, false, depth + 1));
        continue;
      }
      const { at } = this.#take();
      if (this.#isAny('value', 'flow entry', 'flow sequence end'))
        throw new YamlError("did not find expected ',' or ']'", this.#peek().at);
      const key = this.#keyOf(false, false, at, depth + 1);
      this.#count(1, at);
      const node = this.#flowValue('flow sequence end', key.at, depth + 1);
      items.push({ kind: 'map', entries: this.#entries([{ ...key, node }], depth + 1), at: this.#at(at) });
    }
    this.#take();
    return items;
  }

  #flowMap(depth: number): Pair[] {
    this.#take();
    const pairs: Pair[] = [];
    while (!this.#is('flow map end')) {
      if (pairs.length > 0) this.#expect('flow entry', "did not find expected ',' or '}'");
      if (this.#is('flow map end')) break;
      if (!this.#is('key')) {
        // A word without a colon is a key whose value is null.
        const { at } = this.#peek();
        const isValue = this.#is('value');
        const key = this.#keyOf(isValue, false, at, depth);
        pairs.push({ ...key, node: isValue ? this.#flowValue('flow map end', at, depth) : this.#empty(key.at) });
        continue;
      }
      const { at } = this.#take();
      const key = this.#keyOf(this.#isAny('value', 'flow entry', 'flow map end'), false, at, depth);
      pairs.push({ ...key, node: this.#flowValue('flow map end', key.at, depth) });
    }
    this.#take();
    return pairs;
  }

  #flowValue(end: Mark, keyAt: number, depth: number): YamlNode {
    if (!this.#is('value')) return this.#empty(keyAt);
    this.#take();
    return this.#isAny('flow entry', end) ? this.#empty(keyAt) : this.#node(false, false, depth + 1);
  }

  #keyOf(isEmpty: boolean, block: boolean, at: number, depth: number): Omit<Pair, 'node'> {
    if (isEmpty) return { at, key: this.#empty(at), isMerge: false, word: '' };
    const token = this.#peek();
    const word = token.kind === 'scalar' ? token.value : '';
    // The value sign `=` is an ordinary key, although it has no meaning as a value.
    if (token.kind === 'scalar' && token.plain && (word === '<<' || word === '=')) {
      this.#take();
      const key: YamlNode = { kind: 'scalar', value: word, at: undefined };
      return { at: token.at, key, isMerge: word === '<<', word };
    }
    return { at: token.at, key: this.#node(block, block, depth + 1), isMerge: false, word };
  }

  /** Adds merged entries before written ones, so written ones override them. Of several merged maps the first wins. */
  #entries(pairs: readonly Pair[], depth: number): Map<string, MappingEntry> {
    const entries = new Map<string, MappingEntry>();
    for (const { node, at, isMerge } of pairs) {
      if (!isMerge) continue;
      const sources = node.kind === 'list' ? node.items.toReversed() : [node];
      for (const source of sources) {
        if (source.kind !== 'map') throw new YamlError('the value of << must be a map or a list of maps', at);
        for (const [name, entry] of source.entries) entries.set(name, entry);
      }
    }
    for (const { key, at, node, word, isMerge } of pairs) {
      if (isMerge) continue;
      const { name, ...exact } = entryKey(key, { depth, offset: at, word });
      // A repeated key is legal: the last value wins, at the position of the first.
      entries.set(name, { at: this.#at(at), ...exact, value: node });
    }
    return entries;
  }
}

interface Pair {
  readonly at: number;
  readonly key: YamlNode;
  readonly node: YamlNode;
  readonly isMerge: boolean;
  /** The key as written, when it is a scalar. */
  readonly word: string;
}

/** The key of a map: a word at the top levels, any scalar below. @throws YamlError for an invalid key. */
function entryKey(
  key: YamlNode,
  { depth, offset, word }: { depth: number; offset: number; word: string },
): { readonly name: string; readonly key?: ExactKey } {
  if (key.kind !== 'scalar') throw new YamlError('a key must be a word, not a list or a map', offset);
  if (typeof key.value === 'string') return { name: key.value };
  const exact = toExact(key) as ExactKey;
  // Deeper keys are data and keep their type. The name of a section must be a word.
  if (depth > 1) return { name: keyText(exact), key: exact };
  const kind = typeof key.value === 'boolean' ? `the boolean ${key.value}` : key.value === null ? 'null' : 'a number';
  throw new YamlError(`the key ${word || '(nothing)'} is ${kind} in YAML 1.1; put it in quotes`, offset);
}
