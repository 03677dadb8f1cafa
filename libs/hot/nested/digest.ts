/**
 * Digest of everything that a nested stack depends on besides the properties of its resource: its template, all
 * templates and files that it can reach, the registry's mappings of their types, and the defaults of their parameters.
 * While the digest is unchanged, the same properties produce the same stack.
 *
 * It finds what is reachable by text: a string that is the name of a file, or a type that is mapped to one, counts as
 * used. It may find too much, never too little.
 */
import { createHash } from 'node:crypto';
import type { Json } from '@anneal/contracts/json.ts';
import type { ResourceType } from '@anneal/contracts/resource-type.ts';
import type { Environment } from '../environment/environment.ts';
import { Mistakes } from '../syntax/mistakes.ts';
import { isPlainObject, type YamlNode, toJson } from '@anneal/python/yaml/node.ts';
import type { TypeRegistry } from '../environment/registry.ts';
import { readTemplate, type Template } from '../syntax/template.ts';
import type { EvaluationWork } from '../evaluate/work.ts';
import type { TemplateLibrary } from './library.ts';

/** The digest of a template with all templates that it can reach. */
export interface Reached {
  readonly digest: string;
  /** Minimum number of resources: those of every reached template, once per resource that uses it. */
  readonly resources: number;
  /** True when every update renews something in it. */
  readonly renewed: boolean;
}

interface Scanned {
  /** Names of files and types that it mentions. */
  readonly words: ReadonlySet<string>;
  /** The types of its resources. */
  readonly types: readonly string[];
  /** True when it reads a file with a computed name: it may be any file. */
  readonly isOpen: boolean;
  readonly parameters: readonly string[];
}

/** The files and types on which a digest depends. */
export interface DigestContext {
  readonly library: TemplateLibrary;
  readonly files: ReadonlyMap<string, string>;
  readonly types: ReadonlyMap<string, ResourceType>;
  readonly defaults: Environment['defaults'];
  readonly work: EvaluationWork;
}

/** Digests for the templates of one tree. Each template is read once. */
export class Digests {
  readonly #context: DigestContext;
  readonly #scanned = new Map<string, Scanned>();
  readonly #reached = new WeakMap<TypeRegistry, Map<string, Reached>>();
  #allFiles: string | undefined;

  constructor(context: DigestContext) {
    this.#context = context;
  }

  /** Digest of a template among the files. `registry` is the one that applies inside it. */
  ofFile(file: string, registry: TypeRegistry): Reached {
    let known = this.#reached.get(registry);
    if (!known) this.#reached.set(registry, (known = new Map<string, Reached>()));
    let reached = known.get(file);
    if (!reached) known.set(file, (reached = this.#reach([this.#scanFile(file)], [file], registry)));
    return reached;
  }

  /** Digest of values that hold definitions of members or the text of a template. */
  ofValues(values: readonly Json[], registry: TypeRegistry): Reached {
    return this.#reach(
      values.map((value) => this.#scanValue(value)),
      [],
      registry,
    );
  }

  #reach(roots: readonly Scanned[], names: readonly string[], registry: TypeRegistry): Reached {
    const { files, types, defaults } = this.#context;
    const parts = new Set<string>(names.map((name) => this.#partOf(name)));
    const parameters = new Set<string>();
    const seen = new Set(names);
    const special = registry.special();
    const waiting: Scanned[] = [...roots, this.#scanValue(special)];
    let renewed = false;
    parts.add(`special ${canonical(special)}`);
    for (let next = waiting.pop(); next; next = waiting.pop()) {
      for (const name of next.parameters) parameters.add(name);
      if (next.isOpen) parts.add((this.#allFiles ??= `files ${hash(canonical(Object.fromEntries(files)))}`));
      for (const word of next.words) {
        if (seen.has(word)) continue;
        seen.add(word);
        const found = files.has(word) ? undefined : registry.find({ type: word, resource: undefined, types });
        const file = found?.kind === 'template' ? found.file : word;
        if (found?.kind === 'type' && found.type.renewed) renewed = true;
        if (found?.kind === 'type' && found.type.type !== word) parts.add(`type ${word} is ${found.type.type}`);
        if (found?.kind === 'template') parts.add(`type ${word} is ${file}`);
        if (!files.has(file)) continue;
        parts.add(this.#partOf(file));
        waiting.push(this.#scanFile(file));
      }
    }
    for (const name of parameters) {
      const preset = defaults.get(name);
      if (preset) parts.add(`default ${name} is ${canonical(toJson(preset.value))}`);
    }
    const counted = roots.reduce((sum, root) => sum + this.#count(root, registry, names), 0);
    return { digest: hash([...parts].sort().join('\n')), resources: counted, renewed };
  }

  /** Counts a file that contains itself once; compiling it reports the mistake. */
  #count({ types }: Scanned, registry: TypeRegistry, way: readonly string[]): number {
    let sum = 0;
    for (const type of types) {
      sum += 1;
      this.#context.work.spend(workAType);
      const found = registry.find({ type, resource: undefined, types: this.#context.types });
      if (found?.kind !== 'template' || way.includes(found.file) || way.length > deepestCounted) continue;
      sum += this.#count(this.#scanFile(found.file), registry, [...way, found.file]);
      if (sum > mostCounted) return sum;
    }
    return sum;
  }

  #partOf(file: string): string {
    return `file ${file} ${hash(this.#context.files.get(file) ?? '')}`;
  }

  #scanFile(file: string): Scanned {
    let scanned = this.#scanned.get(file);
    if (!scanned) {
      const template = /\.(?:yaml|yml|json|template)$/.test(file) ? this.#templateOf(file) : undefined;
      this.#scanned.set(file, (scanned = template ? scanTemplate(template) : nothing));
    }
    return scanned;
  }

  #templateOf(file: string): Template | undefined {
    const known = this.#context.library.get(file, this.#context);
    return known?.mistakes.length === 0 ? known.read : undefined;
  }

  #scanValue(value: Json): Scanned {
    const words = new Set<string>();
    collectValue(value, words);
    // The text of a whole template, as in a remote stack.
    const texts = isPlainObject(value) ? Object.values(value) : [value];
    const inner = texts.flatMap((text) => {
      if (typeof text !== 'string' || !text.includes('\n') || !/template_version|TemplateFormatVersion/i.test(text))
        return [];
      const template = readTemplate({ content: text, mistakes: new Mistakes() });
      return template ? [scanTemplate(template)] : [];
    });
    for (const each of inner) for (const word of each.words) words.add(word);
    return {
      words,
      types: inner.flatMap(({ types }) => types),
      isOpen: inner.some(({ isOpen }) => isOpen),
      parameters: inner.flatMap(({ parameters }) => parameters),
    };
  }
}

const nothing: Scanned = { words: new Set(), types: [], isOpen: false, parameters: [] };
/** Finding a type costs as much as making this many values. */
const workAType = 4;
const deepestCounted = 6;
const mostCounted = 10_000_000;
const hash = (text: string): string => createHash('sha256').update(text).digest('hex');
/** A type or the name of a file is one short line, so a whole script is neither. */
const isWord = (text: string): boolean => text.length < 512 && !text.includes('\n') && /::|[./]/.test(text);

function scanTemplate(template: Template): Scanned {
  const words = new Set<string>();
  const state = { isOpen: false };
  const visit = (node: YamlNode): void => {
    if (node.kind === 'list') for (const item of node.items) visit(item);
    else if (node.kind === 'map') {
      for (const [key, { value }] of node.entries) {
        if (key === 'get_file') {
          if (value.kind === 'scalar' && typeof value.value === 'string') words.add(value.value);
          else state.isOpen = true;
        }
        visit(value);
      }
    } else if (typeof node.value === 'string' && isWord(node.value)) words.add(node.value);
  };
  const section = (name: string): YamlNode | undefined => template.root.entries.get(name)?.value;
  for (const name of ['parameters', 'resources', 'outputs', 'conditions']) {
    const node = section(name);
    if (node) visit(node);
  }
  const resources = section('resources');
  const parameters = section('parameters');
  return {
    words,
    types:
      resources?.kind === 'map'
        ? Array.from(resources.entries.values(), ({ value }) => {
            const type = value.kind === 'map' ? value.entries.get('type')?.value : undefined;
            return type?.kind === 'scalar' && typeof type.value === 'string' ? type.value : '';
          })
        : [],
    isOpen: state.isOpen,
    parameters: parameters?.kind === 'map' ? [...parameters.entries.keys()] : [],
  };
}

function collectValue(value: Json, words: Set<string>): void {
  if (typeof value === 'string') {
    if (isWord(value)) words.add(value);
  } else if (Array.isArray(value)) for (const item of value) collectValue(item, words);
  else if (isPlainObject(value)) for (const item of Object.values(value)) collectValue(item, words);
}

/** Ignores the order of keys. */
function canonical(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (!isPlainObject(value)) return JSON.stringify(value);
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, item]) => `${JSON.stringify(key)}:${canonical(item)}`).join(',')}}`;
}
