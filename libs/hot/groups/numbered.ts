/**
 * ResourceGroup: members 0, 1, 2 …, all from one definition.
 *
 * G1. A name that was removed is never given again: it stays on the list of skipped names.
 * G2. Without removal policies the highest numbers go first, and new members get the lowest that are free.
 */
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import { isObject, toRecord } from '../node.ts';
import { pythonText } from '../python.ts';
import { nextMembers } from './change.ts';
import type { Member } from './member.ts';

export function memberNames({ count, skipped }: { count: number; skipped: ReadonlySet<string> }): string[] {
  const names: string[] = [];
  for (let number = 0; names.length < count; number += 1) {
    if (!skipped.has(String(number))) names.push(String(number));
  }
  return names;
}

/** `properties` are those of the group, worked out, defaults filled in. */
export function numberedDefinition({ properties, name }: { properties: JsonObject; name: string }): JsonObject {
  const { resource_def: definition = {}, index_var: variable } = properties;
  const { type = '', properties: given, metadata } = isObject(definition) ? definition : {};
  const marker = typeof variable === 'string' ? variable : '%index%';
  const kept = isObject(given) ? Object.entries(given).filter(([, value]) => value !== null) : [];
  return {
    type,
    ...(isObject(given) && { properties: toRecord(kept.map(([key, value]) => [key, numbered(value, marker, name)])) }),
    ...(isObject(metadata) && { metadata }),
  };
}

/** Plain replacement in every text, nowhere else: not in keys, not in the type, not in metadata. */
function numbered(value: Json, marker: string, name: string): Json {
  if (typeof value === 'string') return value.replaceAll(marker, name);
  if (Array.isArray(value)) return value.map((item) => numbered(item, marker, name));
  if (!isObject(value)) return value;
  return toRecord(Object.entries(value).map(([key, item]) => [key, numbered(item, marker, name)]));
}

/** The skipped names after an update (or before the first creation), in order: what the removal policies add to them. */
export function nextSkipped({
  properties,
  skipped,
  references,
}: {
  properties: JsonObject;
  skipped: ReadonlySet<string>;
  /** Of the members, failed ones too, by name; undefined before the group exists, when any name may be listed. */
  references: ReadonlyMap<string, Json | undefined> | undefined;
}): string[] {
  const { removal_policies: policies = [], removal_policies_mode: mode } = properties;
  const named = (Array.isArray(policies) ? policies : []).flatMap((policy) => {
    const list = isObject(policy) ? policy['resource_list'] : undefined;
    return Array.isArray(list) ? list : [];
  });
  const byReference = new Map(Array.from(references ?? [], ([name, reference]) => [reference, name]));
  const added = named.flatMap((entry) => {
    const name = pythonText(entry);
    if (!references || references.has(name) || skipped.has(name)) return [name];
    return typeof entry === 'string' ? (byReference.get(entry) ?? []) : [];
  });
  return [...new Set([...(mode === 'update' ? [] : skipped), ...added])].sort();
}

/**
 * The members after one batch of a rolling update: at most `changes` of them new or with the new definition. Those that
 * are to go, go first; then the highest numbers are changed first.
 */
export function nextNumbered({
  current,
  properties,
  skipped,
  total,
  changes,
}: {
  /** In order of creation, with the definitions they have. */
  current: readonly Member[];
  properties: JsonObject;
  skipped: ReadonlySet<string>;
  /** Of the group after the batch. */
  total: number;
  changes: number;
}): Member[] {
  const names = memberNames({ count: total, skipped });
  const place = new Map(names.map((name, index) => [name, index]));
  const target = Number(properties['count'] ?? 1);
  const rank = ({ name }: Member): number => {
    const index = place.get(name);
    if (index === undefined) return 0;
    return index < target ? target - index : total;
  };
  const stay = current.filter(({ name }) => !skipped.has(name));
  const taken = new Set(stay.map(({ name }) => name));
  const free = names.filter((name) => !taken.has(name)).values();
  return nextMembers({
    current: stay.toSorted((a, b) => rank(a) - rank(b)),
    definition: (name) => numberedDefinition({ properties, name }),
    size: total,
    changes,
    newName: () => free.next().value ?? '',
  });
}
