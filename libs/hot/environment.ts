/** Environments: read, merged in order, and told apart into what each section means. */
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import { type Mistakes, nearestName } from './mistakes.ts';
import { type Entry, isNull, kindOfNode, type Node, toJson, toRecord } from './node.ts';
import { fromJson, parse } from './parse.ts';

const sections = [
  'parameters',
  'parameter_defaults',
  'resource_registry',
  'encrypted_param_names',
  'event_sinks',
  'parameter_merge_strategies',
] as const;

export interface Environment {
  readonly parameters: ReadonlyMap<string, Entry>;
  readonly defaults: ReadonlyMap<string, Entry>;
  /** Type name to the type that stands for it. */
  readonly registry: ReadonlyMap<string, Entry>;
  /** All sections merged, as it is stored. */
  readonly merged: JsonObject;
}

export interface EnvironmentDocument {
  readonly content: string | JsonObject;
  readonly file: string;
}

/** Later documents win, key by key. */
export function readEnvironments(documents: readonly EnvironmentDocument[], mistakes: Mistakes): Environment {
  const bySection = new Map<string, Map<string, Entry>>(sections.map((name) => [name, new Map<string, Entry>()]));
  const lists = new Map<string, Json>();
  for (const { content, file } of documents) {
    const node =
      typeof content === 'string' ? parse({ text: content, file, mistakes }) : fromJson({ value: content, mistakes });
    if (!node || isNull(node)) continue;
    mergeDocument({ node, file, bySection, lists, mistakes });
  }
  const of = (name: string): Map<string, Entry> => bySection.get(name) ?? new Map();
  const merged = sections.flatMap((name): [string, Json][] => {
    const list = lists.get(name);
    if (list !== undefined) return [[name, list]];
    const entries = Array.from(of(name), ([key, { value }]): [string, Json] => [key, toJson(value)]);
    return entries.length > 0 ? [[name, toRecord(entries)]] : [];
  });
  return {
    parameters: of('parameters'),
    defaults: of('parameter_defaults'),
    registry: of('resource_registry'),
    merged: toRecord(merged),
  };
}

function mergeDocument(parameters: {
  node: Node;
  file: string;
  bySection: ReadonlyMap<string, Map<string, Entry>>;
  lists: Map<string, Json>;
  mistakes: Mistakes;
}): void {
  const { node, file, bySection, lists, mistakes } = parameters;
  if (node.kind !== 'map') {
    const message = `The environment is not a valid YAML mapping: ${file} is ${kindOfNode(node)}`;
    mistakes.add({ code: 'WrongType', message, path: '', at: node.at, expected: 'a map' });
    return;
  }
  for (const [name, entry] of node.entries) {
    const target = bySection.get(name);
    if (!target) {
      const nearest = nearestName(name, sections);
      const message = `environment has wrong section "${name}"`;
      const expected = sections.join(', ');
      mistakes.add({ code: 'UnknownSection', message, path: name, at: entry.at, expected, found: name, nearest });
    } else if (isNull(entry.value)) {
      const message = `environment has empty section "${name}"`;
      mistakes.add({ code: 'EmptySection', message, path: name, at: entry.at });
    } else if (name === 'event_sinks' || name === 'encrypted_param_names') {
      lists.set(name, toJson(entry.value));
    } else if (entry.value.kind === 'map') {
      for (const [key, item] of entry.value.entries) target.set(key, item);
    } else {
      const message = `environment section "${name}" must be a map, not ${kindOfNode(entry.value)}`;
      mistakes.add({ code: 'WrongType', message, path: name, at: entry.value.at, expected: 'a map' });
    }
  }
}

/** The type that stands for this one: aliases chain; a chain that comes back to itself is a mistake. */
export function resolveAlias(
  type: string,
  registry: ReadonlyMap<string, Entry>,
): { readonly type: string } | { readonly cycle: string[] } {
  const seen = [type];
  for (let current = type; ;) {
    const target = aliasOf(current, registry);
    if (target === undefined || target === current) return { type: current };
    if (seen.includes(target)) return { cycle: [...seen, target] };
    seen.push(target);
    current = target;
  }
}

/** Of the entries that fit, globs among them, the first in the order of their text (`OS::*: My::*` keeps what the star stood for). */
function aliasOf(type: string, registry: ReadonlyMap<string, Entry>): string | undefined {
  const target = (name: string): string | undefined => {
    const node = registry.get(name)?.value;
    return node?.kind === 'scalar' && typeof node.value === 'string' ? node.value : undefined;
  };
  const globs = [...registry.keys()].filter((name) => name.endsWith('*') && type.startsWith(name.slice(0, -1)));
  const [key] = [...globs, ...(registry.has(type) ? [type] : [])].sort();
  const found = key === undefined ? undefined : target(key);
  if (key === undefined || found === undefined || !key.endsWith('*')) return found;
  return found.endsWith('*') ? found.slice(0, -1) + type.slice(key.length - 1) : found;
}
