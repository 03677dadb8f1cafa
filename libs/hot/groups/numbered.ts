/**
 * ResourceGroup: members 0, 1, 2 …, all from one definition.
 *
 * G1. A removed name is never used again: it stays on the list of skipped names.
 * G2. Without removal policies the highest numbers are removed first, and new members get the lowest free numbers.
 */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import { isPlainObject, toRecord } from '@anneal/python/yaml/node.ts';
import { pythonText } from '@anneal/python/values/compare.ts';
import { nextMembers } from './change.ts';
import type { GroupMember } from './member.ts';

/** Names from 0 upwards, without those that are skipped, until there are `count`. */
export function memberNames({ count, skipped }: { count: number; skipped: ReadonlySet<string> }): string[] {
  const names: string[] = [];
  for (let number = 0; names.length < count; number += 1) {
    if (!skipped.has(String(number))) names.push(String(number));
  }
  return names;
}

/** The highest number of a member of an adopted group. Each lower number that no member has is kept as skipped. */
const highestAdopted = 10_000;

/**
 * The numbers below the highest member of an adopted group that no member has.
 * @throws AnnealError InvalidRequest for a number so high that the list would be long
 */
export function skippedNumbers(names: readonly string[]): string[] {
  const numbers = new Set(names.filter((name) => /^(?:0|[1-9]\d{0,14})$/.test(name)).map(Number));
  const highest = [...numbers].reduce((most, number) => Math.max(most, number), -1);
  if (highest > highestAdopted) {
    const message = `Cannot adopt a group with the member ${highest}: the highest number of a member is ${highestAdopted}. Correct the name in the data, or remove the member before the export.`;
    throw new AnnealError('InvalidRequest', message);
  }
  return Array.from({ length: highest + 1 }, (_, number) => number)
    .filter((number) => !numbers.has(number))
    .map(String);
}

/** `properties`: those of the group, evaluated, with defaults. */
export function numberedDefinition({ properties, name }: { properties: JsonObject; name: string }): JsonObject {
  const { resource_def: definition = {}, index_var: variable } = properties;
  const { type = '', properties: given, metadata } = isPlainObject(definition) ? definition : {};
  const marker = typeof variable === 'string' ? variable : '%index%';
  const kept = isPlainObject(given) ? Object.entries(given).filter(([, value]) => value !== null) : [];
  return {
    type,
    ...(isPlainObject(given) && {
      properties: toRecord(kept.map(([key, value]) => [key, numbered(value, marker, name)])),
    }),
    ...(isPlainObject(metadata) && { metadata }),
  };
}

/** Replaces the marker in every text value, but not in keys, the type or metadata. */
function numbered(value: Json, marker: string, name: string): Json {
  if (typeof value === 'string') return value.replaceAll(marker, name);
  if (Array.isArray(value)) return value.map((item) => numbered(item, marker, name));
  if (!isPlainObject(value)) return value;
  return toRecord(Object.entries(value).map(([key, item]) => [key, numbered(item, marker, name)]));
}

/**
 * Returns the sorted skipped names after an update or before the first creation, with those that removal policies add.
 */
export function nextSkipped({
  properties,
  skipped,
  references,
}: {
  properties: JsonObject;
  skipped: ReadonlySet<string>;
  /**
   * References of all members, failed ones included, by name. Undefined before the group exists: then any name is
   * accepted.
   */
  references: ReadonlyMap<string, Json | undefined> | undefined;
}): string[] {
  const { removal_policies: policies = [], removal_policies_mode: mode } = properties;
  const named = (Array.isArray(policies) ? policies : []).flatMap((policy) => {
    const list = isPlainObject(policy) ? policy['resource_list'] : undefined;
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
 * Computes the members after one batch of a rolling update: at most `changes` of them are new or have the new
 * definition. Members to be removed are first in the order; of the others, the highest numbers change first.
 */
export function nextNumbered({
  current,
  properties,
  skipped,
  total,
  changes,
}: {
  /** In order of creation, with their current definitions. */
  current: readonly GroupMember[];
  properties: JsonObject;
  skipped: ReadonlySet<string>;
  /** Size of the group after the batch. */
  total: number;
  changes: number;
}): GroupMember[] {
  const names = memberNames({ count: total, skipped });
  const place = new Map(names.map((name, index) => [name, index]));
  const target = Number(properties['count'] ?? 1);
  const rank = ({ name }: GroupMember): number => {
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
