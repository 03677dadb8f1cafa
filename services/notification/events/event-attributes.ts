/**
 * The attributes of events that filters name. Pure.
 *
 * | attribute        | values                                                                                      |
 * | ---------------- | ------------------------------------------------------------------------------------------- |
 * | `stack`          | the root by name and id; each of them with each path on the way to the subject; the stack    |
 * |                  | that the event is about, by name and id                                                      |
 * | `group`          | the same without the root itself; each name on the path                                      |
 * | `tag`            | the tags of the root                                                                         |
 * | `host`           | the host of the event, by name and id                                                        |
 * | `data.…`         | a value in the data                                                                          |
 * | any other        | the attribute of the CloudEvent                                                              |
 */
import { numberOf } from '@anneal/contracts/exact-number.ts';
import type { EventScopeAttribute } from '@anneal/contracts/event-scope.ts';
import type { Envelope } from '@anneal/contracts/envelope.ts';
import { isObject, type JsonObject } from '@anneal/contracts/json.ts';

const scopes: Readonly<Record<EventScopeAttribute, (data: JsonObject, type: string) => string[]>> = {
  stack: (data) => {
    const { bases, paths } = placeIn(data);
    return [...bases, ...within(bases, paths), ...textsIn(data, 'stack_id', 'stack_name')];
  },
  group: (data) => {
    const { bases, paths } = placeIn(data);
    const names = paths.map((path) => path.slice(path.lastIndexOf('/') + 1));
    return [...within(bases, paths), ...names, ...textsIn(data, 'stack_id', 'stack_name')];
  },
  tag: (data) => {
    const origin = originIn(data);
    return Array.isArray(origin['tags']) ? origin['tags'].filter((tag) => typeof tag === 'string') : [];
  },
  host: (data, type) => textsIn(data, 'host_id', 'host_name', ...(type.startsWith('host.') ? ['name'] : [])),
};

/** The values in the scopes of an event. Each of a thousand subscriptions compares them. */
const inScopes = new WeakMap<Envelope, Map<string, readonly string[]>>();

function scopeValues(event: Envelope, name: EventScopeAttribute): readonly string[] {
  const known = inScopes.get(event) ?? new Map<string, readonly string[]>();
  let values = known.get(name);
  if (!values) {
    const { data } = event;
    values = isObject(data) ? scopes[name](data, event.type) : [];
    known.set(name, values);
    inScopes.set(event, known);
  }
  return values;
}

/** The values of an attribute; a comparison holds for an event when it holds for one of them. */
export function attributeValues(event: Envelope, name: string): readonly string[] {
  if (Object.hasOwn(scopes, name)) return scopeValues(event, name as EventScopeAttribute);
  let value: unknown = event;
  for (const key of name.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return [];
    value = (value as Record<string, unknown>)[key];
  }
  return typeof value === 'string' || numberOf(value) !== undefined || typeof value === 'boolean'
    ? [String(value)]
    : [];
}

const originIn = ({ origin }: JsonObject): JsonObject => (isObject(origin) ? origin : {});

const textsIn = (data: JsonObject, ...names: readonly string[]): string[] =>
  names.flatMap((name) => (typeof data[name] === 'string' && data[name] !== '' ? [data[name]] : []));

/** The root by its name and id, and each path from it on the way to the subject. */
function placeIn(data: JsonObject): { bases: string[]; paths: string[] } {
  const { root, path } = originIn(data);
  const bases = isObject(root) ? textsIn(root, 'stack_name', 'stack_id') : [];
  const parts = typeof path === 'string' && path !== '' ? path.split('/') : [];
  return { bases, paths: parts.map((_, index) => parts.slice(0, index + 1).join('/')) };
}

const within = (bases: readonly string[], paths: readonly string[]): string[] =>
  bases.flatMap((base) => paths.map((path) => `${base}/${path}`));
