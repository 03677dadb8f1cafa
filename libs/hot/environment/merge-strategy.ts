/**
 * Merges the parameters of several environments. A later file overwrites, unless `parameter_merge_strategies` says
 * `merge` (lists are extended, maps updated, strings joined) or `deep_merge` (the same at every level of a map).
 */
import { parseExact } from '@anneal/contracts/read-json.ts';
import type { Json } from '@anneal/contracts/json.ts';
import type { PlanSource } from '@anneal/contracts/plan.ts';
import { join, type Mistakes } from '../mistakes.ts';
import {
  type MappingEntry,
  isNull,
  isPlainObject,
  kindOfValue,
  type YamlNode,
  toExact,
  toRecord,
} from '@anneal/python/yaml/node.ts';
import type { ParameterType } from '../parameters/parameter-schema.ts';
import { fromJson } from '../syntax/parse.ts';

const strategies = ['overwrite', 'merge', 'deep_merge'] as const;
type Strategy = (typeof strategies)[number];

/** Facts that decide how two values are merged. */
export interface StrategyContext {
  /** Types of the parameters of the root template and of every template among the files; others are not merged. */
  readonly typeOf: (parameter: string) => ParameterType | undefined;
  readonly mistakes: Mistakes;
}

/** Merges the parameters of several files, in their order. */
export class ParameterMerge {
  readonly #context: StrategyContext;
  /** Strategy that an earlier file chose for a parameter; a later file must not choose another. */
  readonly #fixed = new Map<string, Strategy>();

  constructor(context: StrategyContext) {
    this.#context = context;
  }

  /** Merges the parameters of one file into those of the earlier files. */
  add(parameters: {
    into: Map<string, MappingEntry>;
    section: string;
    entries: ReadonlyMap<string, MappingEntry>;
    said: YamlNode | undefined;
    file: string;
  }): void {
    const { into, section, entries, said, file } = parameters;
    const { typeOf, mistakes } = this.#context;
    const isFirst = into.size === 0;
    for (const [name, entry] of entries) {
      const type = typeOf(name);
      if (type === undefined || isNull(entry.value)) {
        // The first file is taken as is. Later files cannot change parameters that no template declares, or set null.
        if (isFirst) into.set(name, entry);
        continue;
      }
      const strategy = this.#strategy(name, said);
      const fixed = this.#fixed.get(name);
      const place = { path: join(section, name), at: entry.value.at ?? entry.at };
      if (fixed !== undefined && fixed !== strategy) {
        const message = `Conflicting merge strategy '${strategy}' for parameter '${name}' in file '${file}'.`;
        mistakes.add({ code: 'ConflictingMergeStrategy', message, ...place, expected: fixed, found: strategy });
        continue;
      }
      this.#fixed.set(name, strategy);
      if (isFirst || strategy === 'overwrite') into.set(name, entry);
      else this.#merge({ into, name, entry, type, strategy, ...place });
    }
  }

  /** An unknown strategy is ignored. */
  #strategy(name: string, said: YamlNode | undefined): Strategy {
    const strategyOf = (key: string): string | undefined => {
      const node = said?.kind === 'map' ? said.entries.get(key)?.value : undefined;
      return node?.kind === 'scalar' && typeof node.value === 'string' ? node.value : undefined;
    };
    const known = (value: string | undefined): Strategy | undefined => strategies.find((item) => item === value);
    const byDefault = strategyOf('default');
    const chosen = strategyOf(name) ?? this.#fixed.get(name) ?? byDefault;
    return known(chosen) ?? known(byDefault) ?? 'overwrite';
  }

  #merge(parameters: {
    into: Map<string, MappingEntry>;
    name: string;
    entry: MappingEntry;
    type: ParameterType;
    strategy: Strategy;
    path: string;
    at: PlanSource | undefined;
  }): void {
    const { into, name, entry, type, strategy, path, at } = parameters;
    const before = into.get(name);
    try {
      const old = before && toExact(before.value);
      const value = mergeValue({ name, type, old, value: toExact(entry.value), deep: strategy === 'deep_merge' });
      const merged = fromJson({ value, mistakes: this.#context.mistakes });
      if (merged) into.set(name, { at: entry.at, value: { ...merged, at } });
    } catch (error) {
      if (!(error instanceof CannotMerge)) throw error;
      this.#context.mistakes.add({ code: 'InvalidMerge', message: error.message, path, at });
    }
  }
}

class CannotMerge extends Error {}
function cannot(name: string, why: string): never {
  throw new CannotMerge(`Parameter '${name}' cannot be merged: ${why}`);
}

interface Values {
  readonly name: string;
  readonly type: ParameterType;
  readonly old: Json | undefined;
  readonly value: Json;
  readonly deep: boolean;
}

function mergeValue({ name, type, old, value, deep }: Values): Json {
  switch (type) {
    case 'json':
      return mergeMap({ name, old: old ?? {}, value: parsed(name, value), deep });
    case 'comma_delimited_list':
      if (typeof value !== 'string' && !Array.isArray(value))
        return cannot(name, `it is ${kindOfValue(value)}, not a list`);
      return mergeList(name, old, value);
    case 'string':
      if (typeof value !== 'string' || (old !== undefined && typeof old !== 'string')) {
        return cannot(name, 'only text can be joined to text');
      }
      return (old ?? '') + value;
    case 'number':
      // Python's merge needs a sequence, and a number is none. Two numbers written as text are joined as text.
      if (typeof value === 'string' && typeof old === 'string') return old + value;
      return cannot(name, 'Invalid parameter in environment: a number cannot be merged');
    case 'boolean':
      throw new CannotMerge(`Invalid merge strategy 'merge' for parameter '${name}'.`);
  }
}

function parsed(name: string, value: Json): Json {
  if (typeof value !== 'string') return value;
  try {
    return value === '' ? value : parseExact(value);
  } catch {
    // The reason of JSON.parse quotes the value, and a template may hide the parameter.
    return cannot(name, 'Invalid parameter in environment: it is not valid JSON');
  }
}

function mergeList(name: string, old: Json | undefined, value: string | Json[]): Json {
  if (old === undefined || old === null || old === '' || (Array.isArray(old) && old.length === 0)) return value;
  if (Array.isArray(old) && Array.isArray(value)) return [...old, ...value];
  if (typeof old === 'string' && typeof value === 'string') return `${old},${value}`;
  return cannot(name, 'a list and a text with commas do not go together');
}

const isEmpty = (value: Json | undefined): boolean =>
  value === undefined ||
  value === null ||
  value === '' ||
  value === 0 ||
  value === false ||
  (typeof value === 'object' && Object.keys(value).length === 0);

function mergeMap({ name, old, value, deep }: { name: string; old: Json; value: Json; deep: boolean }): Json {
  if (isEmpty(old)) return value;
  if (!isPlainObject(old) || !isPlainObject(value)) return cannot(name, 'only a map can be merged into a map');
  const merged = new Map(Object.entries(old));
  for (const [key, item] of Object.entries(value)) {
    if (item === null) continue;
    const before = merged.get(key);
    merged.set(key, deep ? mergeInner({ name, before, item }) : item);
  }
  return toRecord(merged);
}

function mergeInner({ name, before, item }: { name: string; before: Json | undefined; item: Json }): Json {
  if (isPlainObject(item))
    return isEmpty(before) ? item : mergeMap({ name, old: before ?? null, value: item, deep: true });
  if (Array.isArray(item)) {
    if (isEmpty(before)) return item;
    return Array.isArray(before) ? [...before, ...item] : cannot(name, 'only a list can be added to a list');
  }
  if (typeof item !== 'string') return item;
  if (before !== undefined && typeof before !== 'string') return cannot(name, 'only text can be joined to text');
  return (before ?? '') + item;
}
