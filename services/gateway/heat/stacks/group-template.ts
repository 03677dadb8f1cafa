/**
 * The template of a group as users see it. Scheduling passes the secrets of the members as hidden parameters of this
 * template. Users have declared none, so a reference to one shows as asterisks, and its declaration is left out.
 */
import { toRecord } from '@anneal/contracts/ordered-map.ts';
import { isObject, type Json, type JsonObject } from '@anneal/contracts/json.ts';

export function groupTemplate({ parameters, ...template }: JsonObject): JsonObject {
  const names = new Set(isObject(parameters) ? Object.keys(parameters) : []);
  const shown = (value: Json): Json => {
    if (Array.isArray(value)) return value.map(shown);
    if (!isObject(value)) return value;
    const { get_param: name, ...others } = value;
    if (typeof name === 'string' && names.has(name) && Object.keys(others).length === 0) return '******';
    return toRecord(Object.entries(value).map(([key, item]) => [key, shown(item)]));
  };
  return names.size === 0 ? template : (shown(template) as JsonObject);
}
