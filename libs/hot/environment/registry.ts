/**
 * The resource registry: maps a type named in a template to another type or to a template.
 *
 * An entry is a type (`My::Type: Other::Type`), a template (`My::Type: file.yaml`) or a glob (`OS::*: My::*`). Of the
 * entries that match a resource, the first in this order that resolves wins: the user's entries before the built-in
 * types; entries for the resource by name before general ones; then by the plain order of the key, in which `*` sorts
 * before every letter. An entry that does not resolve is skipped.
 */
import { safeParseExact } from '@anneal/contracts/exact-schema.ts';
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import {
  type LifecycleHook,
  lifecycleHookSchema,
  type PlanNested,
  type PlanSource,
  replaceLostSchema,
} from '@anneal/contracts/plan.ts';
import { fitsWildcards, plainParts, type WildPart } from '@anneal/contracts/readers/wildcard.ts';
import type { ResourceType } from '@anneal/contracts/resource-type.ts';
import { join, type Mistakes, nearestName } from '../mistakes.ts';
import {
  type MappingEntry,
  isNull,
  isPlainObject,
  kindOfNode,
  type YamlNode,
  toJson,
  toRecord,
} from '@anneal/python/yaml/node.ts';

const hookNames = ['pre-create', 'pre-update', 'pre-delete', 'post-create', 'post-update', 'post-delete'];
/** Statements about a resource: their allowed values, and the name of each in messages. */
const statements = {
  hooks: [hookNames, 'hook'],
  restricted_actions: [['update', 'replace'], 'restricted_action'],
  replacement: [['create_first', 'delete_first'], 'replacement'],
} as const;

/** Statements about a resource whose values have a form: the form, and the name in messages. */
const forms = {
  lifecycle_hooks: { schema: lifecycleHookSchema, what: 'lifecycle hook', many: true },
  replace_lost: { schema: replaceLostSchema, what: 'policy for lost members', many: false },
} as const;

interface Mapping {
  readonly kind: 'mapping';
  /** Keys from the root of the registry: `['resources', 'server', 'OS::Nova::Server']`. */
  readonly path: readonly string[];
  readonly value: string;
  readonly at: PlanSource | undefined;
}
interface Level {
  readonly kind: 'level';
  readonly items: Map<string, Item>;
}
/** Hooks, restricted actions, base_url: a setting of a resource, not a mapping. */
interface Statement {
  readonly kind: 'statement';
  readonly value: Json;
}
type Item = Mapping | Level | Statement;

/** The result of a lookup: a type, a template, or nothing. */
export type Found =
  | { readonly kind: 'type'; readonly type: ResourceType }
  /**
   * `file` is the key in the files. `mapping` is removed for the resources inside, so that no template contains itself.
   */
  | { readonly kind: 'template'; readonly file: string; readonly mapping: Mapping | undefined }
  | { readonly kind: 'cycle'; readonly way: readonly string[] };

const isTemplateName = (name: string): boolean => name.endsWith('.yaml') || name.endsWith('.template');

/** The type to look up, and the resource that names it. */
export interface TypeLookup {
  readonly type: string;
  readonly resource: string | undefined;
  readonly types: ReadonlyMap<string, ResourceType>;
  /** Entry to skip: finds the type that a template replaces. */
  readonly except?: Found | undefined;
  /** Called with each type whose entries are looked up. */
  readonly note?: (type: string) => void;
}

/** The `resource_registry` of an environment, with the entries for single resources. */
export class TypeRegistry {
  readonly #root: Level;
  readonly #inside = new Map<string, TypeRegistry>();

  private constructor(root: Level) {
    this.#root = root;
  }

  static read(section: YamlNode, mistakes: Mistakes): TypeRegistry {
    const root = level();
    if (section.kind === 'map') load({ into: root, path: [], entries: section.entries, mistakes, depth: 0 });
    return new TypeRegistry(root);
  }

  /** Undefined when no type or template matches. */
  find(wanted: TypeLookup): Found | undefined {
    return this.#find(wanted, []);
  }

  #find({ type, resource, types, except, note }: TypeLookup, way: readonly string[]): Found | undefined {
    if (way.includes(type)) return { kind: 'cycle', way: [...way, type] };
    note?.(type);
    for (const mapping of this.#candidates(type, resource)) {
      const found = this.#follow(mapping, { type, resource, types, except, ...(note && { note }) }, [...way, type]);
      if (found && !isSame(found, except)) return found;
    }
    const builtIn = types.get(type);
    const found = builtIn && ({ kind: 'type', type: builtIn } as const);
    return found && !isSame(found, except) ? found : undefined;
  }

  #candidates(type: string, resource: string | undefined): Mapping[] {
    const found: Mapping[] = [];
    const { items } = this.#root;
    const own = items.get(type);
    if (own?.kind === 'mapping') found.push(own);
    else if (isTemplateName(type)) found.push({ kind: 'mapping', path: [type], value: type, at: undefined });
    const special = resource === undefined ? undefined : this.#resources().get(resource);
    const mapped = special?.kind === 'level' ? special.items.get(type) : undefined;
    if (mapped?.kind === 'mapping') found.push(mapped);
    for (const [key, item] of items) {
      if (item.kind !== 'mapping' || key === type || !key.endsWith('*') || isTemplateName(item.value)) continue;
      // A glob must not map its own target to itself.
      if (item.value !== type && type.startsWith(key.slice(0, -1))) found.push(item);
    }
    return found.sort(byRank);
  }

  #follow({ path, value, at }: Mapping, wanted: TypeLookup, way: readonly string[]): Found | undefined {
    const name = path.at(-1) ?? '';
    if (isTemplateName(name)) return { kind: 'template', file: name, mapping: undefined };
    if (isTemplateName(value)) return { kind: 'template', file: value, mapping: { kind: 'mapping', path, value, at } };
    const target =
      name.endsWith('*') && value.endsWith('*') ? value.slice(0, -1) + wanted.type.slice(name.length - 1) : value;
    return this.#find({ ...wanted, type: target }, way);
  }

  #resources(): ReadonlyMap<string, Item> {
    const resources = this.#root.items.get('resources');
    return resources?.kind === 'level' ? resources.items : new Map<string, Item>();
  }

  hooks(resource: string): string[] {
    return this.#statements(resource, 'hooks');
  }

  restrictedActions(resource: string): string[] {
    return this.#statements(resource, 'restricted_actions');
  }

  lifecycleHooks(resource: string): LifecycleHook[] {
    return this.#said(resource, 'lifecycle_hooks').flatMap(
      (value) => safeParseExact(lifecycleHookSchema, value).data ?? [],
    );
  }

  /** Which lost members a group replaces. The last matching entry counts. */
  replaceLost(resource: string): PlanNested['replace_lost'] {
    return this.#said(resource, 'replace_lost')
      .flatMap((value) => safeParseExact(replaceLostSchema, value).data ?? [])
      .at(-1);
  }

  /** Whether an entry with the name of the resource, and not only a pattern, says it. */
  says(resource: string, statement: string): boolean {
    const own = this.#resources().get(resource);
    return own?.kind === 'level' && own.items.get(statement)?.kind === 'statement';
  }

  /** The last matching entry counts. Undefined: use the default of the type. */
  replacement(resource: string): Json | undefined {
    return this.#said(resource, 'replacement').at(-1);
  }

  #statements(resource: string, name: string): string[] {
    return [...new Set(this.#said(resource, name).filter((value) => typeof value === 'string'))];
  }

  #said(resource: string, name: string): Json[] {
    return [...this.#resources()].flatMap(([pattern, item]) => {
      const statement = item.kind === 'level' && fits(pattern, resource) ? item.items.get(name) : undefined;
      return statement?.kind === 'statement' ? statement.value : [];
    });
  }

  /** The registry in the form of an environment; reading it back gives the same registry. */
  toJson(): JsonObject {
    return levelJson(this.#root);
  }

  /** Settings of resources by name. */
  special(): JsonObject {
    return levelJson({ kind: 'level', items: new Map(this.#resources()) });
  }

  /**
   * The registry that a nested stack inherits: all entries except the one that led to it. Of the entries by resource
   * name, it inherits those below its own name.
   */
  inside(resource: string, mapping: Mapping | undefined): TypeRegistry {
    const below = new Map<string, Item>();
    const adopt = (item: Item | undefined): void => {
      if (item?.kind !== 'level') return;
      for (const [name, inner] of item.items) if (inner.kind === 'level') below.set(name, inner);
    };
    for (const [pattern, item] of this.#resources()) if (fits(pattern, resource)) adopt(item);
    adopt(this.#resources().get(resource));
    // Most resources have no entries of their own. Resources of one type share one registry and its cached results.
    const key = mapping?.path.length === 1 ? (mapping.path[0] ?? '') : '';
    const shared = below.size === 0 ? this.#inside.get(key) : undefined;
    if (shared) return shared;
    const items = new Map(this.#root.items);
    if (mapping?.path.length === 1) items.delete(key);
    items.set('resources', { kind: 'level', items: below });
    const registry = new TypeRegistry({ kind: 'level', items });
    if (below.size === 0) this.#inside.set(key, registry);
    return registry;
  }

  /** Adds a type as an alias of another, unless the registry already has an entry for it. */
  withAlias(name: string, target: string): TypeRegistry {
    const { items } = this.#root;
    if (items.has(name)) return this;
    const mapping: Mapping = { kind: 'mapping', path: [name], value: target, at: undefined };
    return new TypeRegistry({ kind: 'level', items: new Map([...items, [name, mapping]]) });
  }
}

function levelJson({ items }: Level): JsonObject {
  const entries = Array.from(items, ([key, item]): [string, Json] => [
    key,
    item.kind === 'level' ? levelJson(item) : item.value,
  ]);
  return toRecord(entries.filter(([, value]) => !isPlainObject(value) || Object.keys(value).length > 0));
}

function level(): Level {
  return { kind: 'level', items: new Map() };
}

function byRank(a: Mapping, b: Mapping): number {
  if (a.path.length !== b.path.length) return b.path.length - a.path.length;
  const [left, right] = [a.path.join('\0'), b.path.join('\0')];
  return left < right ? -1 : left > right ? 1 : 0;
}

function isSame(found: Found, except: Found | undefined): boolean {
  if (found.kind !== except?.kind) return false;
  if (found.kind === 'type') return except.kind === 'type' && found.type === except.type;
  return found.kind === 'template' && except.kind === 'template' && found.file === except.file;
}

/** Matches `*`, `?` and `[abc]` as a shell does. */
function fits(pattern: string, name: string): boolean {
  if (!/[*?[]/.test(pattern)) return pattern === name;
  const parts = Array.from(
    pattern.matchAll(/\*+|\?|\[(!?)([^\]]+)\]|[\s\S]/gu),
    ([part, negated, set]): WildPart<string>[] => {
      if (part.startsWith('*')) return [{ fits: () => true, repeats: true }];
      if (part === '?') return [{ fits: () => true, repeats: false }];
      return set === undefined ? plainParts(part) : [{ fits: fitsSet(set, negated === '!'), repeats: false }];
    },
  );
  return fitsWildcards(parts.flat(), name);
}

/** Whether a character is in a set such as `a-z_`. A set that is none, such as `z-a`, fits nothing. */
function fitsSet(set: string, isNegated: boolean): (character: string) => boolean {
  try {
    const one = new RegExp(`^[${isNegated ? '^' : ''}${set.replaceAll('\\', '\\\\')}]$`, 's');
    return (character) => one.test(character);
  } catch {
    return () => false;
  }
}

/** More levels than stacks can nest. */
const deepest = 20;

function load(parameters: {
  into: Level;
  path: readonly string[];
  entries: ReadonlyMap<string, MappingEntry>;
  mistakes: Mistakes;
  depth: number;
}): void {
  const { into, path, entries, mistakes, depth } = parameters;
  for (const [key, { value, at }] of entries) {
    const place = join(['resource_registry', ...path].join('.'), key);
    if (path.length === 0 && key === 'resources' && value.kind !== 'map') {
      const message = `"resources" in the resource registry must be a map, not ${kindOfNode(value)}`;
      mistakes.add({ code: 'WrongType', message, path: place, at: value.at ?? at, expected: 'a map' });
    } else if (isNull(value)) remove(into, key);
    else if (key === 'hooks' || key === 'restricted_actions' || (key === 'replacement' && path[0] === 'resources')) {
      readStatement({ into, key, value, place, mistakes, at: value.at ?? at });
    } else if (key === 'lifecycle_hooks' || (key === 'replace_lost' && path[0] === 'resources')) {
      readForm({ into, key, value, place, mistakes, at: value.at ?? at });
    } else if (value.kind === 'map') {
      const inner = level();
      const before = into.items.get(key);
      // A second entry for the same resource adds to the first.
      if (before?.kind === 'level') for (const [name, item] of before.items) inner.items.set(name, item);
      into.items.set(key, inner);
      if (depth < deepest) {
        load({ into: inner, path: [...path, key], entries: value.entries, mistakes, depth: depth + 1 });
      }
    } else if (value.kind === 'scalar' && typeof value.value === 'string') {
      // Only clients use it, to find files.
      const isStatement = key === 'base_url';
      const mapping = { kind: 'mapping', path: [...path, key], value: value.value, at: value.at ?? at } as const;
      into.items.set(key, isStatement ? { kind: 'statement', value: value.value } : mapping);
    } else {
      const message = `The resource registry maps ${key} to ${kindOfNode(value)}; it must be the name of a type or of a template`;
      const found = kindOfNode(value);
      mistakes.add({ code: 'WrongType', message, path: place, at: value.at ?? at, expected: 'a string', found });
    }
  }
}

/** A null removes the earlier entry; for a glob, all entries that match. */
function remove({ items }: Level, key: string): void {
  if (!key.endsWith('*')) items.delete(key);
  else {
    for (const [name, item] of items) {
      if (item.kind === 'mapping' && name.startsWith(key.slice(0, -1))) items.delete(name);
    }
  }
}

function readStatement(parameters: {
  into: Level;
  key: keyof typeof statements;
  value: YamlNode;
  place: string;
  mistakes: Mistakes;
  at: PlanSource | undefined;
}): void {
  const { into, key, value, place, mistakes, at } = parameters;
  const known: readonly string[] = statements[key][0];
  const what = statements[key][1];
  const json = toJson(value);
  const items = Array.isArray(json) ? json : [json];
  for (const item of items) {
    if (typeof item === 'string' && known.includes(item)) continue;
    const found = typeof item === 'string' ? item : JSON.stringify(item);
    const types = known.map((name) => `'${name}'`).join(', ');
    const message = `Invalid ${what} type "${found}" for resource, acceptable ${what} types are: (${types})`;
    const nearest = nearestName(found, known);
    mistakes.add({ code: 'InvalidRegistry', message, path: place, at, found, nearest, expected: known.join(', ') });
  }
  into.items.set(key, { kind: 'statement', value: items });
}

/** A statement whose values have a form, for example waits for a listener with the result when their time expires. */
function readForm(parameters: {
  into: Level;
  key: keyof typeof forms;
  value: YamlNode;
  place: string;
  mistakes: Mistakes;
  at: PlanSource | undefined;
}): void {
  const { into, key, value, place, mistakes, at } = parameters;
  const { schema, what, many } = forms[key];
  const json = toJson(value);
  const items = many && Array.isArray(json) ? json : [json];
  for (const [index, item] of items.entries()) {
    for (const { path, message } of safeParseExact(schema, item).error?.issues ?? []) {
      const where = [place, ...(many ? [index] : []), ...path].join('.');
      mistakes.add({ code: 'InvalidRegistry', message: `Invalid ${what}: ${where}: ${message}`, path: where, at });
    }
  }
  into.items.set(key, { kind: 'statement', value: many ? items : json });
}
