/** Reads environments, merges them in order and splits them into sections. */
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import type { PlanSource } from '@anneal/contracts/plan.ts';
import type { StackSink } from '@anneal/contracts/stack-sink.ts';
import { joinEventSinks, readEventSinks } from './event-sinks.ts';
import { ParameterMerge, type StrategyContext } from './merge-strategy.ts';
import { type Mistakes, nearestName } from '../mistakes.ts';
import {
  type MappingEntry,
  isNull,
  isPlainObject,
  kindOfNode,
  type MapNode,
  type YamlNode,
  toExact,
  toJson,
  toRecord,
} from '@anneal/python/yaml/node.ts';
import { fromJson, parse } from '../syntax/parse.ts';
import { TypeRegistry } from './registry.ts';

const sections = [
  'parameters',
  'parameter_defaults',
  'resource_registry',
  'encrypted_param_names',
  'event_sinks',
  'parameter_merge_strategies',
] as const;
type Section = (typeof sections)[number];

/** The merged environments. */
export interface Environment {
  readonly parameters: ReadonlyMap<string, MappingEntry>;
  readonly defaults: ReadonlyMap<string, MappingEntry>;
  readonly registry: TypeRegistry;
  readonly eventSinks: readonly StackSink[];
  /** All sections merged, in the form that is stored. */
  readonly merged: JsonObject;
}

/** One environment, and the file that messages name for it. */
export interface EnvironmentDocument {
  readonly content: string | JsonObject;
  readonly file: string;
}

/** Where mistakes go, and the types that decide how values are merged. */
export interface EnvironmentContext {
  readonly mistakes: Mistakes;
  /** Called only when there is something to merge. */
  readonly parameterType: StrategyContext['typeOf'];
}

interface Merging {
  readonly merge: ParameterMerge;
  readonly mistakes: Mistakes;
  readonly maps: Map<Section, Map<string, MappingEntry>>;
  readonly lists: Map<Section, Json[]>;
  /** Where the last list of event sinks is. */
  sinksAt: PlanSource | undefined;
  readonly isOnly: boolean;
}

const isMapSection = (name: Section): boolean => name !== 'event_sinks' && name !== 'encrypted_param_names';

/** Later documents override earlier ones, key by key. Parameters follow their merge strategy. */
export function readEnvironments(documents: readonly EnvironmentDocument[], context: EnvironmentContext): Environment {
  const { mistakes } = context;
  const merging: Merging = {
    merge: new ParameterMerge({ typeOf: context.parameterType, mistakes }),
    mistakes,
    maps: new Map(),
    lists: new Map(),
    sinksAt: undefined,
    isOnly: documents.length === 1,
  };
  for (const { content, file } of documents) {
    const node =
      typeof content === 'string' ? parse({ text: content, file, mistakes }) : fromJson({ value: content, mistakes });
    if (node && !isNull(node)) addDocument(node, file, merging);
  }
  const of = (name: Section): Map<string, MappingEntry> => merging.maps.get(name) ?? new Map();
  const merged = sections.flatMap((name): [string, Json][] => {
    const list = merging.lists.get(name);
    if (list !== undefined) return [[name, list]];
    const entries = Array.from(of(name), ([key, { value }]): [string, Json] => [key, toExact(value)]);
    return entries.length > 0 ? [[name, toRecord(entries)]] : [];
  });
  const sinks = merging.lists.get('event_sinks') ?? [];
  const registry: YamlNode = { kind: 'map', entries: of('resource_registry'), at: undefined };
  return {
    parameters: of('parameters'),
    defaults: of('parameter_defaults'),
    registry: TypeRegistry.read(registry, mistakes),
    eventSinks: readEventSinks(sinks, { mistakes, at: merging.sinksAt }),
    merged: toRecord(merged),
  };
}

function addDocument(node: YamlNode, file: string, merging: Merging): void {
  const { mistakes } = merging;
  if (node.kind !== 'map') {
    const message = `The environment is not a valid YAML mapping: ${file} is ${kindOfNode(node)}`;
    mistakes.add({ code: 'WrongType', message, path: '', at: node.at, expected: 'a map' });
    return;
  }
  const said = node.entries.get('parameter_merge_strategies')?.value;
  for (const [name, { value, at }] of node.entries) {
    const section = sections.find((known) => known === name);
    if (!section) {
      const nearest = nearestName(name, sections);
      const message = `environment has wrong section "${name}"`;
      mistakes.add({
        code: 'UnknownSection',
        message,
        path: name,
        at,
        expected: sections.join(', '),
        found: name,
        nearest,
      });
    } else if (isNull(value)) {
      mistakes.add({ code: 'EmptySection', message: `environment has empty section "${name}"`, path: name, at });
    } else if (isMapSection(section)) {
      if (value.kind === 'map') addMap({ section, node: value, said, file, merging });
      else if (!isEmptyList(value)) {
        const message = `environment section "${name}" must be a map, not ${kindOfNode(value)}`;
        mistakes.add({ code: 'WrongType', message, path: name, at: value.at ?? at, expected: 'a map' });
      }
    } else {
      addList({ section, node: value, at: value.at ?? at, merging });
    }
  }
}

/** Written by programs that do not distinguish an empty map from an empty list. */
const isEmptyList = (node: YamlNode): boolean => node.kind === 'list' && node.items.length === 0;

function addMap(parameters: {
  section: Section;
  node: MapNode;
  said: YamlNode | undefined;
  file: string;
  merging: Merging;
}): void {
  const { section, node, said, file, merging } = parameters;
  const into = merging.maps.get(section) ?? new Map<string, MappingEntry>();
  merging.maps.set(section, into);
  if (!merging.isOnly && (section === 'parameters' || section === 'parameter_defaults')) {
    merging.merge.add({ into, section, entries: node.entries, said, file });
    return;
  }
  const isFirst = into.size === 0;
  for (const [key, entry] of node.entries) {
    // A null in a later file changes nothing: it cannot remove what an earlier file set.
    if (isFirst || !isNull(entry.value)) into.set(key, entry);
  }
}

function addList({
  section,
  node,
  at,
  merging,
}: {
  section: Section;
  node: YamlNode;
  at: PlanSource | undefined;
  merging: Merging;
}): void {
  const written = toJson(node);
  const value = isPlainObject(written) && Object.keys(written).length === 0 ? [] : written;
  if (!Array.isArray(value)) {
    const message = `environment section "${section}" must be a list, not ${kindOfNode(node)}`;
    merging.mistakes.add({ code: 'WrongType', message, path: section, at, expected: 'a list' });
    return;
  }
  const before = merging.lists.get(section) ?? [];
  if (section === 'event_sinks') merging.sinksAt = at;
  merging.lists.set(section, section === 'event_sinks' ? joinEventSinks(before, value) : [...before, ...value]);
}
