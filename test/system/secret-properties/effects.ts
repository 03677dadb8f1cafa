/** The properties of a type with their keys, and a value that lacks each of them. Pure. */
import { isObject, type Json, type JsonObject } from '@anneal/contracts/json.ts';
import type { PropertySchema, ResourceType } from '@anneal/contracts/resource-type.ts';
import type { TypeEntry } from './entry.ts';

type Properties = ResourceType['properties'];

/** How the meaning of a property begins that is accepted for the sake of templates for Heat, and that nothing reads. */
const isIdle = ({ description = '' }: PropertySchema): boolean => description.startsWith('Without effect');

/**
 * The properties and the keys below them, by path: `[]` marks the items of a list, as on the page of the types. Each says
 * whether it has an effect. A key below a property without effect has none.
 */
export function propertyPaths(properties: Properties, before = '', acts = true): { path: string; acts: boolean }[] {
  return Object.entries(properties).flatMap(([name, schema]) => {
    const path = name === '*' ? `${before}[]` : before === '' ? name : `${before}.${name}`;
    const own = acts && !isIdle(schema);
    const below = schema.schema ? propertyPaths(schema.schema, path, own) : [];
    return name === '*' ? below : [{ path, acts: own }, ...below];
  });
}

/** A resource that lacks a property or a key. */
export interface Lack {
  readonly path: string;
  readonly property: string;
  /** The value of the property without the key. Absent: the resource lacks the property. */
  readonly value?: Json;
}

/** A lack for each property of the table and for each key in its value, but for those that a named test sees. */
export function lacksOf({ properties }: Pick<ResourceType, 'properties'>, { values, seen = {} }: TypeEntry): Lack[] {
  const lacks = Object.entries(values).flatMap(([property, value]): Lack[] => {
    const schema = properties[property];
    const below = schema ? changesIn(value, schema, property) : [];
    return [{ path: property, property }, ...below.map((change) => ({ ...change, property }))];
  });
  return lacks.filter(
    ({ path }, index) => !Object.hasOwn(seen, path) && lacks.findIndex((each) => each.path === path) === index,
  );
}

/** The values without one key of a map. A key that must be there has another value instead. */
function changesIn(value: Json, { schema = {} }: PropertySchema, path: string): { path: string; value: Json }[] {
  const item = schema['*'];
  if (item && Array.isArray(value)) {
    return value.flatMap((each, index) =>
      changesIn(each, item, `${path}[]`).map((change) => ({ ...change, value: value.with(index, change.value) })),
    );
  }
  if (!isObject(value)) return [];
  return Object.entries(schema).flatMap(([key, own]) => {
    const given = value[key];
    if (given === undefined) return [];
    const other = own.required === true ? otherThan(given) : undefined;
    const { [key]: _, ...rest } = value;
    const lacking: JsonObject = other === undefined ? rest : { ...value, [key]: other };
    const below = changesIn(given, own, `${path}.${key}`);
    const changes = below.map((change) => ({ ...change, value: { ...value, [key]: change.value } }));
    return own.required === true && other === undefined
      ? changes
      : [{ path: `${path}.${key}`, value: lacking }, ...changes];
  });
}

/** Another value of the same type. Undefined: the value is one of a few words. */
function otherThan(value: Json): Json | undefined {
  if (typeof value === 'number') return value + 1;
  return typeof value === 'string' && value.includes('@') ? value.replaceAll('@', '@2') : undefined;
}

/** The record without the properties of the resource, of which it holds a copy. */
export function effectIn(record: Json): Json {
  if (!Array.isArray(record)) return record;
  return record.map((part) => {
    const [collection, document] = Array.isArray(part) ? part : [];
    if (typeof collection !== 'string' || !isObject(document)) return part;
    const { properties: _, ...rest } = document;
    const { properties: _copy, ...group } = isObject(rest['group']) ? rest['group'] : {};
    return [collection, { ...rest, ...(isObject(rest['group']) && { group }) }];
  });
}
