/** Groups with unknown values: a reserved parameter name represents them in the members. */
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import { holdsValues } from '@anneal/contracts/exact-number.ts';
import { isExact } from '@anneal/python/values/number.ts';
import { isPlainObject, toRecord } from '@anneal/python/yaml/node.ts';
import { type PartialValue, unknown } from '../evaluate/unknown.ts';
import { groupKind } from './kind.ts';

/** Represents an unknown value in the members. A template that declares a parameter of this name cannot read it. */
export const openName = '$unknown';

/** The value with each unknown part written as the reserved parameter. */
export function opened(value: PartialValue): Json {
  if (value === unknown) return { get_param: openName };
  if (typeof value !== 'object' || value === null) return value;
  if (isExact(value)) return value as unknown as Json;
  if (Array.isArray(value)) return value.map(opened);
  return toRecord(Object.entries(value).map(([key, item]) => [key, opened(item)]));
}

/** True for a value that represents an unknown one. */
export const isOpened = (value: Json | undefined): boolean => isPlainObject(value) && value['get_param'] === openName;

/** True when an unknown part is anywhere in the value. */
export function holdsOpened(value: Json): boolean {
  if (!holdsValues(value)) return false;
  return isOpened(value) || Object.values(value).some(holdsOpened);
}

/** True when the number or the types of the members depend on an unknown value. `properties`: after {@link opened}. */
export function isUndecided(type: string, properties: JsonObject): boolean {
  const kind = groupKind(type) ?? 'numbered';
  const counts = {
    numbered: ['count', 'resource_def', 'index_var', 'removal_policies'],
    chain: ['resources', 'concurrent'],
    deployments: ['servers'],
    scaling: ['resource', 'desired_capacity', 'min_size'],
    instances: ['Size', 'DesiredCapacity', 'MinSize'],
  }[kind];
  const { resource, resource_def: numbered, resources } = properties;
  const types = [resource, numbered].map((definition) => (isPlainObject(definition) ? definition['type'] : undefined));
  const chained = Array.isArray(resources) ? resources : [];
  return counts.some((name) => isOpened(properties[name])) || [...types, ...chained].some(isOpened);
}
