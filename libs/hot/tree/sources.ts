/**
 * The sources of a nested stack: what it is compiled from besides the properties of its resource. Compiling a stack
 * notes the name of each source that it reads, also of one that is absent. A stack whose sources are all the same as
 * before compiles to the same plan, so an update leaves it alone. What the text of a template looks like plays no part,
 * because a type or a file may be named by a value.
 *
 * The names: `file NAME`, `type NAME` (its entries in the registry), `default NAME` (of a parameter); `renewed` for a
 * stack in which every update renews a resource; `everything` where it is not known yet what a stack will read.
 */
import { createHash } from 'node:crypto';
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import { usedNames } from '@anneal/contracts/plan.ts';
import { isExact } from '@anneal/python/values/number.ts';
import { isPlainObject } from '@anneal/python/yaml/node.ts';

const { everything, renewed } = usedNames;

/** More names than this are kept as `everything`. */
const mostNames = 10_000;

/** Notes the sources that a compilation reads. */
export class UsedSources {
  readonly #names = new Set<string>();

  file(name: string): void {
    this.#names.add(`file ${name}`);
  }
  type(name: string): void {
    this.#names.add(`type ${name}`);
  }
  preset(parameter: string): void {
    this.#names.add(`default ${parameter}`);
  }
  renewed(): void {
    this.#names.add(renewed);
  }
  everything(): void {
    this.#names.add(everything);
  }
  names(): string[] {
    return allUsed([this.#names]);
  }
}

/** All names of the lists, in a fixed order. An absent list is that of a stack whose sources are not known. */
export function allUsed(lists: Iterable<Iterable<string> | null | undefined>): string[] {
  const names = new Set<string>();
  for (const list of lists) for (const name of list ?? [everything]) names.add(name);
  const isOpen = names.has(everything) || names.size > mostNames;
  if (!isOpen) return [...names].sort();
  return names.has(renewed) ? [everything, renewed] : [everything];
}

/** The sources that the nested stacks of a stack can read: digests of the files and defaults, the registry's entries. */
export interface NestedSources {
  readonly files: Readonly<Record<string, string>>;
  readonly defaults: Readonly<Record<string, string>>;
  readonly types: Readonly<Record<string, string>>;
}

const hash = (text: string): string => createHash('sha256').update(text).digest('base64url').slice(0, 16);
const digestsOfFiles = new WeakMap<object, Record<string, string>>();
const sourcesBy = new WeakMap<JsonObject, { readonly files: object; readonly sources: NestedSources }>();

/**
 * The sources in an environment and files. Secrets in the environment must already be encrypted, because the digest of a
 * plain value would confirm a guess. The same environment and files give the same object.
 */
export function sourcesOf(environment: JsonObject, files: Readonly<Record<string, string>>): NestedSources {
  const known = sourcesBy.get(environment);
  if (known?.files === files) return known.sources;
  const sources = readSources(environment, files);
  sourcesBy.set(environment, { files, sources });
  return sources;
}

function readSources(environment: JsonObject, files: Readonly<Record<string, string>>): NestedSources {
  const { parameter_defaults: defaults, resource_registry: registry } = environment;
  let digests = digestsOfFiles.get(files);
  if (!digests) {
    digests = mapped(files, hash);
    digestsOfFiles.set(files, digests);
  }
  const entries = Object.entries(isPlainObject(registry) ? registry : {});
  return {
    files: digests,
    defaults: mapped(isPlainObject(defaults) ? defaults : {}, (value) => hash(canonical(value))),
    types: Object.fromEntries(entries.flatMap(([type, to]) => (typeof to === 'string' ? [[type, to]] : []))),
  };
}

const mapped = <T>(values: Readonly<Record<string, T>>, to: (value: T) => string): Record<string, string> =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, to(value)]));

interface Difference {
  readonly names: ReadonlySet<string>;
  /** Changed entries of the registry that match every type with this beginning. */
  readonly globs: readonly string[];
}

const differences = new WeakMap<NestedSources, WeakMap<NestedSources, Difference>>();

/** Whether a source with one of these names is not the same in both. */
export function sourcesDiffer(used: readonly string[], before: NestedSources, after: NestedSources): boolean {
  let known = differences.get(before);
  if (!known) differences.set(before, (known = new WeakMap()));
  let difference = known.get(after);
  if (!difference) known.set(after, (difference = differenceOf(before, after)));
  const { names, globs } = difference;
  if (names.size === 0) return false;
  return used.some(
    (name) => name === everything || names.has(name) || globs.some((beginning) => name.startsWith(beginning)),
  );
}

function differenceOf(before: NestedSources, after: NestedSources): Difference {
  const names = new Set<string>();
  const note = (prefix: string, a: Readonly<Record<string, string>>, b: Readonly<Record<string, string>>): void => {
    if (a === b) return;
    for (const name of new Set([...Object.keys(a), ...Object.keys(b)])) {
      const [one, other] = [a, b].map((each) => (Object.hasOwn(each, name) ? each[name] : undefined));
      if (one !== other) names.add(`${prefix} ${name}`);
    }
  };
  note('file', before.files, after.files);
  note('default', before.defaults, after.defaults);
  note('type', before.types, after.types);
  const globs = [...names].filter((name) => name.startsWith('type ') && name.endsWith('*'));
  return { names, globs: globs.map((name) => name.slice(0, -1)) };
}

/** Ignores the order of keys; 1 and 1.0 are not the same. */
function canonical(value: Json): string {
  if (isExact(value)) return value.text;
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (!isPlainObject(value)) return JSON.stringify(value);
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, item]) => `${JSON.stringify(key)}:${canonical(item)}`).join(',')}}`;
}
