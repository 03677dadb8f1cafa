/** Passes the properties of a template resource to the parameters of its nested stack. */
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import type { ResourceType } from '@anneal/contracts/resource-type.ts';
import { isPlainObject, kindOfValue, toRecord } from '@anneal/python/yaml/node.ts';
import { pythonText } from '@anneal/python/values/compare.ts';

/** The parameters, or the reason why a property cannot be passed. */
export type Passed = { readonly parameters: JsonObject } | { readonly problem: string; readonly property: string };

/** Passes a list as text with commas, a list of maps as numbered members, and other values unchanged. */
export function passProperties(properties: JsonObject, type: ResourceType): Passed {
  const parameters: [string, Json][] = [];
  for (const [name, value] of Object.entries(properties)) {
    const isList = type.properties[name]?.type === 'List';
    if (!isList || !Array.isArray(value)) {
      parameters.push([name, value]);
      continue;
    }
    const text = listText(value);
    if (typeof text !== 'string') return { problem: text.problem, property: name };
    parameters.push([name, text]);
  }
  return { parameters: toRecord(parameters) };
}

function listText(items: readonly Json[]): string | { readonly problem: string } {
  const [first] = items;
  if (isPlainObject(first)) {
    const members = items.flatMap((item, index) =>
      isPlainObject(item)
        ? Object.entries(item).map(([key, value]) => `.member.${index}.${key}=${pythonText(value)}`)
        : [undefined],
    );
    return members.includes(undefined)
      ? { problem: 'a list that begins with a map must hold maps only' }
      : members.join(',');
  }
  const wrong = items.findIndex((item) => item !== null && typeof item !== 'string');
  if (wrong >= 0) {
    return { problem: `item ${wrong} of the list must be a string, not ${kindOfValue(items[wrong] ?? null)}` };
  }
  return items.map((item) => (typeof item === 'string' ? item : '')).join(',');
}
